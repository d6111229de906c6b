"""Nearest neighbors and Nyström features: estimators that use the centroids of a clustering.

Users import from :mod:`polymeans.neighbors` and :mod:`polymeans.kernel_approximation`, which are
named as in scikit-learn. Modules here may import every estimator of the package; no estimator
imports them.
"""
