"""What there is to see in fitted clusterings: tables as plain data, and plots.

``description.py`` goes through rows once and makes the table of :func:`polymeans.describe`, for
every estimator and every kind of rows: ``_geometry.py`` knows where a model's centroids are,
``_row_parts.py`` how rows are read, ``_accounts.py`` what is added up. These need numpy only. Small
helpers (nearest rows, labels in a frame, other numbers for clusters, memory of a fit) have a file
each.

Plots need matplotlib: ``pip install "polymeans[plot]"``. Displays follow scikit-learn:
``from_estimator`` computes what is drawn and draws it, ``plot`` draws it again, and the axes are in
``ax_`` or ``axes_``. Functions draw on the axes they are given, or on new ones, and return them.
Both take pipelines that end with an estimator of this package. Titles,
sizes and files are up to the caller; given axes, pyplot's global state is not touched. Modules
whose names begin with an underscore have what several plots share.
"""

from polymeans.inspection.choice_display import ChoiceOfKDisplay
from polymeans.inspection.cluster_map_display import ClusterMapDisplay
from polymeans.inspection.cluster_table import (
    ClusteringSummary,
    ClusterRow,
    ClusterTable,
    FeatureDifference,
)
from polymeans.inspection.compared_columns import ColumnMeans, Crosstab
from polymeans.inspection.comparison_display import ComparisonDisplay
from polymeans.inspection.curves import plot_objective, plot_operations, plot_tradeoff
from polymeans.inspection.elbow_display import ElbowDisplay
from polymeans.inspection.factors import plot_factors
from polymeans.inspection.learned_space import plot_learned_space
from polymeans.inspection.matched_centroids import plot_matched_centroids
from polymeans.inspection.memory import MemoryEstimate
from polymeans.inspection.model_displays import ClusterSizesDisplay, ConvergenceDisplay
from polymeans.inspection.nearest_rows import NearestSamples
from polymeans.inspection.plots import (
    plot_centroids,
    plot_cluster_sizes,
    plot_convergence,
)
from polymeans.inspection.protocentroids import plot_protocentroids
from polymeans.inspection.silhouette_display import SilhouetteDisplay
from polymeans.inspection.view_information import plot_view_information
from polymeans.inspection.views import plot_view_centroids, plot_views

__all__ = [
    "ChoiceOfKDisplay",
    "ClusterMapDisplay",
    "ClusterRow",
    "ClusterSizesDisplay",
    "ClusterTable",
    "ClusteringSummary",
    "ColumnMeans",
    "ComparisonDisplay",
    "ConvergenceDisplay",
    "Crosstab",
    "ElbowDisplay",
    "FeatureDifference",
    "MemoryEstimate",
    "NearestSamples",
    "SilhouetteDisplay",
    "plot_centroids",
    "plot_cluster_sizes",
    "plot_convergence",
    "plot_factors",
    "plot_learned_space",
    "plot_matched_centroids",
    "plot_objective",
    "plot_operations",
    "plot_protocentroids",
    "plot_tradeoff",
    "plot_view_centroids",
    "plot_view_information",
    "plot_views",
]
