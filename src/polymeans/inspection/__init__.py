"""Look at a fitted clustering. Plots need matplotlib: ``pip install "polymeans[plot]"``."""

from polymeans.inspection.plots import (
    plot_centers_as_images,
    plot_cluster_sizes,
    plot_convergence,
)
from polymeans.inspection.protocentroids import plot_protocentroids, plot_tradeoff

__all__ = [
    "plot_centers_as_images",
    "plot_cluster_sizes",
    "plot_convergence",
    "plot_protocentroids",
    "plot_tradeoff",
]
