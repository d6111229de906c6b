"""Choices among clusterings: how many clusters, which structure, and whether results are stable.

``choosing.py`` fits every number of clusters and asks the criteria in ``criteria/``. This package
stands on the estimators and on :mod:`polymeans.metrics`; nothing below imports it.
"""

from polymeans.selection.choice import ChoiceOfK
from polymeans.selection.choosing import choose_n_clusters

__all__ = ["ChoiceOfK", "choose_n_clusters"]
