"""Sessions: the labelled base session, then one session without labels at a time.

The steps are reduce, novelty, count, cluster, relabel, fit and score; `session` runs them in order.
"""
