"""Grids of protocentroids: sizes of sets, decomposition of given centroids, diagnosis, selection.

Functions here work on given centroids or choose sizes. The estimator that fits a grid to rows is
:class:`polymeans.KhatriRaoKMeans`: ``selector`` and ``growth`` import it, all other modules here
may be imported by it. Names are imported when they are first used.
"""

from typing import TYPE_CHECKING

from polymeans._late_names import late_names

if TYPE_CHECKING:  # what late_names is told, for type checkers
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

__getattr__, __dir__ = late_names(
    __name__,
    {
        "Decomposition": "polymeans.grids.decomposition",
        "Evidence": "polymeans.grids.diagnosis",
        "StructureReport": "polymeans.grids.diagnosis",
        "balanced_sizes": "polymeans.grids.sizes",
        "decompose_centroids": "polymeans.grids.decomposition",
        "diagnose_centroids": "polymeans.grids.diagnosis",
        "diagnose_structure": "polymeans.grids.diagnosis",
        "largest_grid": "polymeans.grids.sizes",
        "n_sets_bounds": "polymeans.grids.sizes",
    },
)
