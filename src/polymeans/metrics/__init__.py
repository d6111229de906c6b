"""How well clusters agree with known classes, one labeling or several, and how small a codebook is.

Rows may have several labels, as non-redundant clusterings give them: one column for each labeling.
"""

from polymeans.metrics.classes import entropy, purity, unsupervised_accuracy
from polymeans.metrics.compression import parameter_ratio
from polymeans.metrics.labelings import (
    LabelingsConfusion,
    PairScores,
    labelings_confusion,
    pair_f1_score,
    pair_scores,
)
from polymeans.metrics.redundancy import (
    average_variation_of_information,
    mutual_information_matrix,
    variation_of_information,
    view_redundancy,
)

__all__ = [
    "LabelingsConfusion",
    "PairScores",
    "average_variation_of_information",
    "entropy",
    "labelings_confusion",
    "mutual_information_matrix",
    "pair_f1_score",
    "pair_scores",
    "parameter_ratio",
    "purity",
    "unsupervised_accuracy",
    "variation_of_information",
    "view_redundancy",
]
