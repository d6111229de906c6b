"""Criteria for a number of clusters, one idea in each module.

Modules here know numbers only: no rows, no estimators. Each function returns the values of a
criterion or its answer, which may be None: no number of clusters in the range is better than one.
"""
