"""k-means whose centroids, space or data have structure.

Estimators follow scikit-learn's conventions and share one engine (:mod:`polymeans.engine`).
Importing this package is cheap: estimators, compiled kernels, plotting and every optional extra
load on first use.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from polymeans._garbage import garbage_kept
from polymeans._version import __version__

if TYPE_CHECKING:  # what _LAZY says, for type checkers
    from polymeans.grids import balanced_sizes, decompose_centroids, diagnose_structure
    from polymeans.grids.selector import KhatriRaoSelector
    from polymeans.inspection.assigning import assign
    from polymeans.inspection.description import describe
    from polymeans.inspection.memory import memory_estimate
    from polymeans.inspection.nearest_rows import nearest_samples
    from polymeans.inspection.relabeling import relabel
    from polymeans.khatri_rao import KhatriRaoKMeans
    from polymeans.kmeans import KMeans
    from polymeans.l1 import L1KMeans
    from polymeans.nonredundant import NonRedundantKMeans
    from polymeans.persistence import export_onnx, load, save
    from polymeans.preprocessing import label_features
    from polymeans.quick import QuickKMeans
    from polymeans.reporting import report
    from polymeans.selection import choose_n_clusters, compare, stability
    from polymeans.transformed import TransformedKMeans

#: Where each public name is; its module is imported when the name is first used.
_LAZY = {
    "KMeans": "polymeans.kmeans",
    "KhatriRaoKMeans": "polymeans.khatri_rao",
    "KhatriRaoSelector": "polymeans.grids.selector",
    "L1KMeans": "polymeans.l1",
    "NonRedundantKMeans": "polymeans.nonredundant",
    "QuickKMeans": "polymeans.quick",
    "TransformedKMeans": "polymeans.transformed",
    "assign": "polymeans.inspection.assigning",
    "balanced_sizes": "polymeans.grids",
    "choose_n_clusters": "polymeans.selection",
    "compare": "polymeans.selection",
    "decompose_centroids": "polymeans.grids",
    "describe": "polymeans.inspection.description",
    "diagnose_structure": "polymeans.grids",
    "export_onnx": "polymeans.persistence",
    "label_features": "polymeans.preprocessing",
    "load": "polymeans.persistence",
    "memory_estimate": "polymeans.inspection.memory",
    "nearest_samples": "polymeans.inspection.nearest_rows",
    "relabel": "polymeans.inspection.relabeling",
    "report": "polymeans.reporting",
    "save": "polymeans.persistence",
    "stability": "polymeans.selection",
}

#: Modules of this package that users name: ``polymeans.datasets`` works without an import.
_MODULES = (
    "blocks",
    "datasets",
    "factorization",
    "grids",
    "inspection",
    "kernel_approximation",
    "metrics",
    "neighbors",
    "persistence",
)

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
    "choose_n_clusters",
    "compare",
    "decompose_centroids",
    "describe",
    "diagnose_structure",
    "export_onnx",
    "label_features",
    "load",
    "memory_estimate",
    "nearest_samples",
    "relabel",
    "report",
    "save",
    "stability",
]


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        with garbage_kept():
            value = getattr(import_module(_LAZY[name]), name)
        globals()[name] = value  # found here from now on
        return value
    if name in _MODULES:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY, *_MODULES})
