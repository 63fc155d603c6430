"""One session without labels: reduce, novelty, cluster, relabel, count."""
