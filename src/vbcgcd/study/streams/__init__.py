"""Realistic streams: few and uneven labels, sessions of several kinds, junk, and an unknown number.

`shapes` draws them as plans, `junk` brings rows from elsewhere, `scoring` judges each session, `run` runs a
method over one, `tables` shows what came out.
"""
