"""Slow and obvious versions of what the library does fast."""

import numpy as np


def nearest(X, C):
    """Label by the smallest squared distance, the lowest index among equals."""
    labels = np.empty(len(X), dtype=np.int32)
    for i, x in enumerate(X):
        distances = [float(((x - c) ** 2).sum()) for c in C]
        labels[i] = int(np.argmin(distances))
    return labels


def inertia(X, C, labels, weights=None):
    """Weighted squared distances to the own centroid."""
    weights = np.ones(len(X)) if weights is None else weights
    return float(sum(w * ((x - C[j]) ** 2).sum() for x, j, w in zip(X, labels, weights)))


def lloyd(X, C, n_iter, weights=None):
    """Plain Lloyd without relocation; the labels of the last centroids."""
    X, C = np.asarray(X, dtype=np.float64), np.array(C, dtype=np.float64)
    weights = np.ones(len(X)) if weights is None else np.asarray(weights)
    for _ in range(n_iter):
        labels = nearest(X, C)
        for j in range(len(C)):
            mine = labels == j
            if weights[mine].sum() > 0:
                C[j] = weights[mine] @ X[mine] / weights[mine].sum()
    return C, nearest(X, C)


def potential(X, chosen, weights):
    """Weighted squared distance to the nearest chosen row."""
    return float(sum(w * min(((x - X[c]) ** 2).sum() for c in chosen) for x, w in zip(X, weights)))
