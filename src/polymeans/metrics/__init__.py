"""How well clusters agree with known classes, and how small a codebook is."""

from polymeans.metrics.classes import entropy, purity, unsupervised_accuracy
from polymeans.metrics.compression import parameter_ratio

__all__ = ["entropy", "parameter_ratio", "purity", "unsupervised_accuracy"]
