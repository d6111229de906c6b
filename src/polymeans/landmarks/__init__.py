"""What stands on centroids: nearest neighbours and Nystroem features.

Users import from :mod:`polymeans.neighbors` and :mod:`polymeans.kernel_approximation`, which are
named as in scikit-learn.
"""
