"""Choices among clusterings: how many clusters, which structure, and whether results are stable.

``choosing.py`` fits every number of clusters and asks the criteria in ``criteria/``. This package
stands on the estimators and on :mod:`polymeans.metrics`; nothing below imports it.
"""

from polymeans.selection.choice import ChoiceOfK
from polymeans.selection.choosing import choose_n_clusters
from polymeans.selection.comparing import compare
from polymeans.selection.comparison import Comparison
from polymeans.selection.stable import Stability, stability

__all__ = [
    "ChoiceOfK",
    "Comparison",
    "Stability",
    "choose_n_clusters",
    "compare",
    "stability",
]
