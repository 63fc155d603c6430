"""Imports every attack, so that all of them are registered."""

from torture import concurrency, damage, faults, inputs, kills, power
from torture.table import ATTACKS

__all__ = ["ATTACKS", "concurrency", "damage", "faults", "inputs", "kills", "power"]
