"""The rivals, one file each, on the same embeddings, plans and scoring as ours."""
