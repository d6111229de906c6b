"""Grids of protocentroids, usable alone: sizes of sets, decomposition of centroids, diagnosis.

What works on given centroids stands here. The estimator that fits a grid to rows is
:class:`polymeans.KhatriRaoKMeans`; ``selector`` stands above it, everything else here below it.
"""

from polymeans.grids.decomposition import Decomposition, decompose_centroids
from polymeans.grids.diagnosis import (
    Evidence,
    StructureReport,
    diagnose_centroids,
    diagnose_structure,
)
from polymeans.grids.sizes import balanced_sizes, largest_grid, n_sets_bounds

__all__ = [
    "Decomposition",
    "Evidence",
    "StructureReport",
    "balanced_sizes",
    "decompose_centroids",
    "diagnose_centroids",
    "diagnose_structure",
    "largest_grid",
    "n_sets_bounds",
]
