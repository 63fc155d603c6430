"""Labelled datasets with a train and a test part, from their ordinary layouts on disk."""

from vbcgcd.study.datasets.fetch import fetch
from vbcgcd.study.datasets.labelled import LabelledItems
from vbcgcd.study.datasets.load import LAYOUTS, load_items
from vbcgcd.study.datasets.parts import dataset_parts

__all__ = ["LAYOUTS", "LabelledItems", "dataset_parts", "fetch", "load_items"]
