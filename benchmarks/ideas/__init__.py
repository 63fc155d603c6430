"""Other ideas for frozen embeddings, each tried once in the place of our own search or prior.

PYTHONPATH=benchmarks VBCGCD_DATA=... python -m ideas --data clinc150 esc50 stackoverflow20 --seeds 0 1 2
PYTHONPATH=benchmarks VBCGCD_DATA=... python -m ideas --plan uneven --only transport
"""
