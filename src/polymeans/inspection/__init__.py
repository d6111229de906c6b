"""Look at a fitted clustering. Plots need matplotlib: ``pip install "polymeans[plot]"``."""

from polymeans.inspection.factors import (
    plot_centroid_images,
    plot_factors,
    plot_objective,
    plot_operations,
)
from polymeans.inspection.plots import (
    plot_centers_as_images,
    plot_cluster_sizes,
    plot_convergence,
)
from polymeans.inspection.protocentroids import plot_protocentroids, plot_tradeoff
from polymeans.inspection.transformed import plot_learned_space
from polymeans.inspection.views import plot_view_images, plot_view_information, plot_views

__all__ = [
    "plot_centers_as_images",
    "plot_centroid_images",
    "plot_cluster_sizes",
    "plot_convergence",
    "plot_factors",
    "plot_learned_space",
    "plot_objective",
    "plot_operations",
    "plot_protocentroids",
    "plot_tradeoff",
    "plot_view_images",
    "plot_view_information",
    "plot_views",
]
