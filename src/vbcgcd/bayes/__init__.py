"""The mathematics: statistics, prior, posterior, inference, alignment and classification of Gaussians."""

from vbcgcd.bayes.alignment import (
    Alignment,
    AlignmentRule,
    align,
    bhattacharyya,
    log_det_along_path,
    penalised,
    volume_ratio,
)
from vbcgcd.bayes.classifier import Classifier, Metric, Predictive, log_normalise
from vbcgcd.bayes.evidence import elbo, kl_divergence, log_evidence
from vbcgcd.bayes.posterior import (
    Posterior,
    Prior,
    deviation,
    posterior_from_parts,
    posterior_of,
    recover_statistics,
)
from vbcgcd.bayes.sampling import sample_embeddings
from vbcgcd.bayes.shortlist import TopCategories, top_categories
from vbcgcd.bayes.statistics import (
    Statistics,
    statistics_by_label,
    statistics_by_responsibility,
)
from vbcgcd.bayes.strength import choose_strength
from vbcgcd.bayes.structures import (
    STRUCTURES,
    CovarianceStructure,
    Structure,
    structure_name,
    structure_of,
)
from vbcgcd.bayes.svi import Schedule, SviInfo, SviResult, run_svi

__all__ = [
    "STRUCTURES",
    "Alignment",
    "AlignmentRule",
    "Classifier",
    "CovarianceStructure",
    "Metric",
    "Posterior",
    "Predictive",
    "Prior",
    "Schedule",
    "Statistics",
    "Structure",
    "SviInfo",
    "SviResult",
    "TopCategories",
    "align",
    "bhattacharyya",
    "choose_strength",
    "deviation",
    "elbo",
    "kl_divergence",
    "log_det_along_path",
    "log_evidence",
    "log_normalise",
    "penalised",
    "posterior_from_parts",
    "posterior_of",
    "recover_statistics",
    "run_svi",
    "sample_embeddings",
    "statistics_by_label",
    "statistics_by_responsibility",
    "structure_name",
    "structure_of",
    "top_categories",
    "volume_ratio",
]
