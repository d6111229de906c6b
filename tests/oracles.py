"""Slow and obvious versions of what the library does fast."""

import numpy as np


def nearest(X, C):
    """Label by the smallest squared distance, the lowest index among equals."""
    C = np.ascontiguousarray(C)
    return np.array([((x - C) ** 2).sum(axis=1).argmin() for x in X], dtype=np.int32)


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
    C = X[chosen]
    return float(sum(w * ((x - C) ** 2).sum(axis=1).min() for x, w in zip(X, weights)))


def mean_of(X, weights=None):
    """Weighted mean of the rows."""
    weights = np.ones(len(X)) if weights is None else weights
    return weights @ X / weights.sum()


def scatter_within(X, labels, weights=None):
    """d x d scatter of the rows about the means of their clusters."""
    weights = np.ones(len(X)) if weights is None else weights
    S = np.zeros((X.shape[1], X.shape[1]))
    for c in np.unique(labels):
        mine = (labels == c) & (weights > 0)
        if mine.any():
            Z = X[mine] - mean_of(X[mine], weights[mine])
            S += (Z * weights[mine, None]).T @ Z
    return S


def scatter_between(X, labels, weights=None):
    """d x d scatter of the means of the clusters about the mean of all rows."""
    weights = np.ones(len(X)) if weights is None else weights
    B = np.zeros((X.shape[1], X.shape[1]))
    for c in np.unique(labels):
        mine = (labels == c) & (weights > 0)
        if mine.any():
            z = mean_of(X[mine], weights[mine]) - mean_of(X, weights)
            B += weights[mine].sum() * np.outer(z, z)
    return B


def best_pair(difference, others):
    """Columns with negative and with positive values of S_s - S_t, apart from other columns."""
    d = len(difference)
    left, _, _ = np.linalg.svd(np.concatenate([others, np.zeros((d, 1))], axis=1))
    free = left[:, others.shape[1] :]
    values, vectors = np.linalg.eigh(free.T @ difference @ free)
    clear = 1e-9 * np.abs(values).max(initial=0.0)
    vectors = free @ vectors
    return vectors[:, values < -clear], vectors[:, values > clear]


def views_cost(X, labels, centers, spaces, mean, weights=None):
    """Row by row: distances to the own center in each view's subspace, and what is in none."""
    weights = np.ones(len(X)) if weights is None else weights
    total = 0.0
    for i, x in enumerate(X):
        rest = x - mean
        for s, V in enumerate(spaces):
            total += weights[i] * float(((V.T @ (x - centers[s][labels[i, s]])) ** 2).sum())
            rest = rest - V @ (V.T @ rest)
        total += weights[i] * float((rest**2).sum())
    return total
