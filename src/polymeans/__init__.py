"""k-means whose centroids, space or data have structure.

Estimators follow scikit-learn's conventions and share one engine (:mod:`polymeans.engine`).
Importing this package is cheap: compiled kernels, plotting and every optional extra load on
first use.
"""

from polymeans.grids import balanced_sizes, decompose_centroids, diagnose_structure
from polymeans.grids.selector import KhatriRaoSelector
from polymeans.khatri_rao import KhatriRaoKMeans
from polymeans.kmeans import KMeans
from polymeans.l1 import L1KMeans
from polymeans.nonredundant import NonRedundantKMeans
from polymeans.preprocessing import label_features
from polymeans.quick import QuickKMeans
from polymeans.transformed import TransformedKMeans

__version__ = "0.1.0"

__all__ = [
    "KMeans",
    "KhatriRaoKMeans",
    "KhatriRaoSelector",
    "L1KMeans",
    "NonRedundantKMeans",
    "QuickKMeans",
    "TransformedKMeans",
    "__version__",
    "balanced_sizes",
    "decompose_centroids",
    "diagnose_structure",
    "label_features",
]
