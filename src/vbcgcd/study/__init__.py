"""Studies: the paper's experiments on any embeddings, with plans, scoring, tables, figures and rivals."""

from vbcgcd.study.datasets import Dataset, load_dataset
from vbcgcd.study.plans import random_plan
from vbcgcd.study.study import Study, StudyProgress, read_studies, run_study

__all__ = ["Dataset", "Study", "StudyProgress", "load_dataset", "random_plan", "read_studies", "run_study"]
