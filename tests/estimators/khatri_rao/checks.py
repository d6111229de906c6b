"""Starting vectors and a slow step for the tests of KhatriRaoKMeans."""

import numpy as np
import scipy.sparse as sp

from polymeans.codebooks.aggregation import combine, digits_of
from tests.oracles import nearest

AGGREGATORS = ("sum", "product")
SIZES = [(4, 5), (3, 2, 4), (1, 6), (2, 2, 2, 3)]


def starting_sets(X, sizes, aggregator, seed=0):
    """Protocentroids that make centroids of the size of the rows."""
    rng = np.random.default_rng(seed)
    X = X.toarray() if sp.issparse(X) else X
    sets = [X[rng.choice(len(X), h, replace=False)].copy() for h in sizes]
    for theta in sets[1:]:
        if aggregator == "sum":
            theta -= X.mean(axis=0)
        else:
            theta /= np.maximum(np.sqrt((X**2).mean(axis=0)), 1e-3)
    return sets


def one_step(X, sets, aggregator, weights=None):
    """Labels, then least squares for the labels by a general solver; the new inertia."""
    C = combine(sets, aggregator)
    labels = nearest(X, C)
    weights = np.ones(len(X)) if weights is None else weights
    sizes = [len(theta) for theta in sets]
    digits = digits_of(labels, sizes)
    design = np.zeros((len(X), sum(sizes)))
    start = 0
    for digit, h in zip(digits, sizes):
        design[np.arange(len(X)), start + digit] = 1.0
        start += h
    root = np.sqrt(weights)[:, None]
    fitted = np.linalg.lstsq(design * root, X * root, rcond=None)[0]
    return labels, float((weights[:, None] * (X - design @ fitted) ** 2).sum())
