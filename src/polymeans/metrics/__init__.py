"""Agreement of clusters with known classes, quality of centroids, and size of a codebook.

Several labelings of the same rows are a table of labels with one column for each. Modules here
import no estimator.
"""

from polymeans.metrics.centroid_quality import CentroidQuality, centroid_quality
from polymeans.metrics.classes import entropy, purity, unsupervised_accuracy
from polymeans.metrics.compression import parameter_ratio
from polymeans.metrics.labelings import LabelingsConfusion, labelings_confusion
from polymeans.metrics.pairs import PairScores, pair_f1_score, pair_scores
from polymeans.metrics.redundancy import (
    average_variation_of_information,
    mutual_information_matrix,
    variation_of_information,
    view_redundancy,
)

__all__ = [
    "CentroidQuality",
    "LabelingsConfusion",
    "PairScores",
    "average_variation_of_information",
    "centroid_quality",
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
