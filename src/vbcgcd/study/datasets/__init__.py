"""Labelled datasets with a train and a test part, from their ordinary layouts on disk."""

from vbcgcd.study.datasets.labelled import Dataset, LabelledItems
from vbcgcd.study.datasets.load import LAYOUTS, dataset_parts, load_dataset, load_items, load_labels

__all__ = [
    "LAYOUTS",
    "Dataset",
    "LabelledItems",
    "dataset_parts",
    "load_dataset",
    "load_items",
    "load_labels",
]
