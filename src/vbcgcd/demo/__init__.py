"""A tour of the workspace on real data that ships with scikit-learn: handwritten digits."""

from vbcgcd.demo.walk import run_demo

__all__ = ["run_demo"]
