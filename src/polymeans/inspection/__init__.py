"""Plots of fitted clusterings. They need matplotlib: ``pip install "polymeans[plot]"``.

Each function draws on the axes it is given, or on new ones, and returns them: titles, sizes and
files are up to the caller. Given axes, pyplot's global state is not touched. Modules whose names
begin with an underscore have what several plots share.
"""

from polymeans.inspection.centroid_images import plot_centroid_images
from polymeans.inspection.choice_display import ChoiceOfKDisplay
from polymeans.inspection.comparison_display import ComparisonDisplay
from polymeans.inspection.curves import plot_objective, plot_operations, plot_tradeoff
from polymeans.inspection.factors import plot_factors
from polymeans.inspection.learned_space import plot_learned_space
from polymeans.inspection.plots import (
    plot_centers_as_images,
    plot_cluster_sizes,
    plot_convergence,
)
from polymeans.inspection.protocentroids import plot_protocentroids
from polymeans.inspection.view_information import plot_view_information
from polymeans.inspection.views import plot_view_images, plot_views

__all__ = [
    "ChoiceOfKDisplay",
    "ComparisonDisplay",
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
