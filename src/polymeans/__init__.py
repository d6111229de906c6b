"""k-means whose centroids, space or data have structure.

Estimators follow scikit-learn's conventions and share one engine (:mod:`polymeans.engine`).
Importing this package is cheap: compiled kernels, plotting and every optional extra load on
first use.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from polymeans.grids import balanced_sizes, decompose_centroids, diagnose_structure
from polymeans.grids.selector import KhatriRaoSelector
from polymeans.khatri_rao import KhatriRaoKMeans
from polymeans.kmeans import KMeans
from polymeans.l1 import L1KMeans
from polymeans.nonredundant import NonRedundantKMeans
from polymeans.preprocessing import label_features
from polymeans.quick import QuickKMeans
from polymeans.transformed import TransformedKMeans

if TYPE_CHECKING:
    from polymeans.inspection.assigning import assign
    from polymeans.inspection.description import describe
    from polymeans.inspection.memory import memory_estimate
    from polymeans.inspection.nearest_rows import nearest_samples
    from polymeans.inspection.relabeling import relabel
    from polymeans.reporting import report

__version__ = "0.1.0"

#: Public names that are imported when they are first used, and where they are.
_LAZY = {
    "assign": "polymeans.inspection.assigning",
    "describe": "polymeans.inspection.description",
    "memory_estimate": "polymeans.inspection.memory",
    "nearest_samples": "polymeans.inspection.nearest_rows",
    "relabel": "polymeans.inspection.relabeling",
    "report": "polymeans.reporting",
}

__all__ = [
    "KMeans",
    "KhatriRaoKMeans",
    "KhatriRaoSelector",
    "L1KMeans",
    "NonRedundantKMeans",
    "QuickKMeans",
    "TransformedKMeans",
    "__version__",
    "assign",
    "balanced_sizes",
    "decompose_centroids",
    "describe",
    "diagnose_structure",
    "label_features",
    "memory_estimate",
    "nearest_samples",
    "relabel",
    "report",
]


def __getattr__(name: str) -> Any:
    """Import a public name on its first use."""
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_LAZY[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """All public names, also those that were not used yet."""
    return sorted({*globals(), *__all__})
