"""Attacks on vbcgcd that anyone can rerun: kills, faults of the disk, damage, writers without locks.

    make torture                                   all attacks, and a table of what happened
    PYTHONPATH=benchmarks python -m torture --only "bit flips" --tries 100 --seed 1

An attack is a function ``(rng, n) -> Counter``: it tries about ``n`` times and counts what happened, in the
words of `torture.table`. To add one, write a module, register the function with `torture.table.attack`, and
import the module in `torture.everything`.
"""
