"""What there is to see in fitted clusterings: tables as plain data, and plots.

``description.py`` goes through rows once and makes the table of :func:`polymeans.describe`, for
every estimator and every kind of rows: ``_geometry.py`` knows where a model's centroids are,
``_row_parts.py`` how rows are read, ``_accounts.py`` what is added up. These need numpy only. Small
helpers (nearest rows, labels in a frame, other numbers for clusters, memory of a fit) have a file
each.

Plots need matplotlib: ``pip install "polymeans[plot]"``. Each function draws on the axes it is
given, or on new ones, and returns them: titles, sizes and files are up to the caller. Given axes,
pyplot's global state is not touched. Modules whose names begin with an underscore have what several
others share.
"""

from polymeans.inspection.centroid_images import plot_centroid_images
from polymeans.inspection.choice_display import ChoiceOfKDisplay
from polymeans.inspection.cluster_table import (
    ClusteringSummary,
    ClusterRow,
    ClusterTable,
    Crosstab,
    FeatureDifference,
)
from polymeans.inspection.comparison_display import ComparisonDisplay
from polymeans.inspection.curves import plot_objective, plot_operations, plot_tradeoff
from polymeans.inspection.factors import plot_factors
from polymeans.inspection.learned_space import plot_learned_space
from polymeans.inspection.memory import MemoryEstimate
from polymeans.inspection.nearest_rows import NearestSamples
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
    "ClusterRow",
    "ClusterTable",
    "ClusteringSummary",
    "ComparisonDisplay",
    "Crosstab",
    "FeatureDifference",
    "MemoryEstimate",
    "NearestSamples",
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
