"""Grids of protocentroids: sizes of sets, decomposition of given centroids, diagnosis, selection.

Functions here work on given centroids or choose sizes. The estimator that fits a grid to rows is
:class:`polymeans.KhatriRaoKMeans`: ``selector`` and ``growth`` import it, all other modules here
may be imported by it.
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
