"""Offline fine-tuning of a vision transformer on the labelled pictures of the base session."""

from vbcgcd.embed.finetune.folder import PAGE, is_finetuned, load_finetuned
from vbcgcd.embed.finetune.options import FinetuneOptions
from vbcgcd.embed.finetune.result import EpochRecord, FinetuneProgress, FinetuneResult
from vbcgcd.embed.finetune.run import finetune
from vbcgcd.embed.pictures import Augmentation

__all__ = [
    "PAGE",
    "Augmentation",
    "EpochRecord",
    "FinetuneOptions",
    "FinetuneProgress",
    "FinetuneResult",
    "finetune",
    "is_finetuned",
    "load_finetuned",
]
