"""Offline fine-tuning of a vision transformer on the labelled pictures of the base session."""

from vbcgcd.embed.augment import Augmentation
from vbcgcd.embed.finetune.embedder import load_finetuned
from vbcgcd.embed.finetune.folder import PAGE, is_finetuned
from vbcgcd.embed.finetune.result import EpochRecord, FinetuneProgress, FinetuneResult
from vbcgcd.embed.finetune.run import finetune

__all__ = [
    "PAGE",
    "Augmentation",
    "EpochRecord",
    "FinetuneProgress",
    "FinetuneResult",
    "finetune",
    "is_finetuned",
    "load_finetuned",
]
