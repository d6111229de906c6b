"""Transformed k-means as slow and obvious numpy: the paper's problem, its reduction, the spaces."""

import itertools

import numpy as np
import scipy.sparse as sp

from tests.oracles import mean_of, scatter_within


def as_dense(X):
    """Rows as a float64 array."""
    return (X.toarray() if sp.issparse(X) else np.asarray(X)).astype(np.float64)


def unit(X):
    """Rows of length one; rows of zeros stay."""
    X = as_dense(X)
    lengths = np.sqrt((X**2).sum(axis=1, keepdims=True))
    return X / np.where(lengths > 0, lengths, 1.0)


# --- the paper's problem --------------------------------------------------------------------------


def centering(labels):
    """n x n matrix K that takes the mean of its cluster from each column."""
    same = labels[:, None] == labels[None]
    return np.eye(len(labels)) - same / same.sum(axis=1)


def paper_value(T, Z, X, labels, lam, mu):
    """||T X - Z||^2 + lam (||T||^2 - log|det T|) + mu ||Z K||^2, rows of X as columns."""
    X, Z = X.T, Z.T
    fit = ((T @ X - Z) ** 2).sum()
    size = (T**2).sum() - np.linalg.slogdet(T)[1]
    return float(fit + lam * size + mu * ((Z @ centering(labels)) ** 2).sum())


def alternate(X, labels, lam, mu, n_iter=20_000, rtol=1e-15):
    """Smallest value over T and Z by the paper's own steps, each an exact minimizer."""
    T = np.eye(X.shape[1])
    L = np.linalg.cholesky(X.T @ X + lam * np.eye(X.shape[1]))
    shrink = np.linalg.inv(np.eye(len(X)) + mu * centering(labels))
    value = np.inf
    for _ in range(n_iter):
        Z = (T @ X.T @ shrink).T
        U, S, Vt = np.linalg.svd(np.linalg.solve(L, X.T @ Z))
        T = 0.5 * Vt.T @ np.diag(S + np.sqrt(S**2 + 2 * lam)) @ U.T @ np.linalg.inv(L)
        previous, value = value, paper_value(T, Z, X, labels, lam, mu)
        assert value <= previous * (1 + 1e-12) if np.isfinite(previous) else True
        if abs(previous - value) <= rtol * abs(value):
            break
    return value, T, Z


def closed_form(W, lam, mu):
    """The value left when T and Z are eliminated: only the within scatter counts."""
    d = len(W)
    B = mu / (1 + mu) * W + lam * np.eye(d)
    return lam * d / 2 - lam * d / 2 * np.log(lam / 2) + lam / 2 * np.linalg.slogdet(B)[1]


# --- the reduced problem --------------------------------------------------------------------------


def log_det(Y, labels, rho, weights=None):
    """Log det(W + rho I)."""
    W = scatter_within(Y, labels, weights)
    return float(np.linalg.slogdet(W + rho * np.eye(len(W)))[1])


def inertia_of(Y, labels, rho, weights=None):
    """Rho log det(I + W / rho), from eigenvalues."""
    values = np.linalg.eigvalsh(scatter_within(Y, labels, weights))
    return float(rho * np.log1p(np.maximum(values, 0.0) / rho).sum())


def means_of(Y, labels, k, weights=None):
    """Weighted mean of each cluster."""
    weights = np.ones(len(Y)) if weights is None else weights
    return np.array([mean_of(Y[labels == c], weights[labels == c]) for c in range(k)])


def metric_distances(Y, centers, B):
    """(y - m)' B^-1 (y - m) for each row and center."""
    apart = Y[:, None] - centers[None]
    return (apart @ np.linalg.inv(B) * apart).sum(axis=2)


def metric_of(Y, labels, rho, weights=None):
    """B = W + rho I."""
    return scatter_within(Y, labels, weights) + rho * np.eye(Y.shape[1])


def descend(Y, labels, k, rho, weights=None, max_iter=300):
    """Labels when assignments in the metric of the last labels change nothing any more.

    None if a cluster lost its rows on the way.
    """
    labels = np.array(labels)
    for _ in range(max_iter):
        if len(np.unique(labels)) < k:
            return None
        centers = means_of(Y, labels, k, weights)
        B = metric_of(Y, labels, rho, weights)
        new = metric_distances(Y, centers, B).argmin(axis=1)
        if (new == labels).all():
            break
        labels = new
    return labels


def best_partition(Y, k, rho):
    """Smallest log det(W + rho I) over all partitions into k clusters with rows, and its labels."""
    best = np.inf, None
    for labels in itertools.product(range(k), repeat=len(Y) - 1):
        labels = np.array((0, *labels))  # the first row is in cluster 0, without loss
        if len(np.unique(labels)) == k:
            value = log_det(Y, labels, rho)
            if value < best[0]:
                best = value, labels
    return best


def best_move(Y, labels, k, rho, weights=None):
    """Smallest log det(W + rho I) that one row in another cluster would give."""
    best = np.inf
    for i, c in itertools.product(range(len(Y)), range(k)):
        if c != labels[i]:
            moved = labels.copy()
            moved[i] = c
            best = min(best, log_det(Y, moved, rho, weights))
    return best


# --- the spaces -----------------------------------------------------------------------------------


def right_vectors(A, r):
    """First r right singular vectors."""
    return np.linalg.svd(A, full_matrices=False)[2][:r].T


#: The parameter ``metric`` for rows that count by direction, or do not.
METRICS = {True: "cosine", False: "euclidean", "auto": "auto"}


def directions(X, kind, spherical, r, weights=None):
    """Columns the rows (unit, if spherical) are projected on; None for all coordinates."""
    X = unit(X) if spherical else as_dense(X)
    w = np.ones(len(X)) if weights is None else weights
    if kind == "cut":
        degrees = X @ (w @ X)
        scale = np.sqrt(np.divide(w, degrees, out=np.zeros(len(X)), where=degrees > 0))
        return right_vectors(scale[:, None] * X, r)
    if kind == "svd":
        X = X if spherical else X - mean_of(X, w)
        return right_vectors(np.sqrt(w)[:, None] * X, r)
    return None


def embed(X, kind, spherical, r=None, weights=None, rows=None):
    """Rows (those of X unless others are given) in the space of X and its weights, centered."""
    C = directions(X, kind, spherical, r, weights)

    def into(X):
        X = unit(X) if spherical else as_dense(X)
        if C is None:
            return X
        return unit(X @ C) if spherical or kind == "cut" else X @ C

    Y = into(X)
    return (Y if rows is None else into(rows)) - mean_of(Y, weights)


def embed_kernel(G, r=None, weights=None):
    """Centered kernel PCA: rows with the inner products of the centered kernel, r columns."""
    n = len(G)
    w = np.ones(n) if weights is None else weights
    center = np.eye(n) - np.outer(np.ones(n), w / w.sum())
    G = center @ G @ center.T
    root = np.sqrt(w)
    values, vectors = np.linalg.eigh(root[:, None] * G * root)
    keep = values > 1e-10 * values.max()
    values, vectors = values[keep][::-1][:r], vectors[:, keep][:, ::-1][:, :r]
    return G @ (root[:, None] * vectors) / np.sqrt(values)
