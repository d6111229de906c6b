"""Slow, obvious counterparts of what sparse matrix factorization does in clever ways."""

import numpy as np


def product(factors):
    """Of dense or sparse factors."""
    result = np.eye(factors[0].shape[0])
    for factor in factors:
        result = result @ (factor.toarray() if hasattr(factor, "toarray") else factor)
    return result


def squared_error(target, factors, weights=None):
    weights = np.ones(len(target)) if weights is None else weights
    return np.sum(weights[:, None] * (target - product(factors)) ** 2)


def largest_of_rows_and_columns(matrix, per_row, per_column):
    """Entries to keep, by sorting each row and each column."""
    keep = np.zeros(matrix.shape, bool)
    for i, row in enumerate(np.abs(matrix)):
        keep[i, np.argsort(-row, kind="stable")[:per_row]] = True
    for j, column in enumerate(np.abs(matrix).T):
        keep[np.argsort(-column, kind="stable")[:per_column], j] = True
    return np.where(keep, matrix, 0.0)


def gradient(target, factors, scale, q):
    """Of half the squared error by the entries of factor q: differences, exact for a quadratic."""
    result = np.zeros(factors[q].shape)
    for place in np.ndindex(result.shape):
        values = []
        for side in (1.0, -1.0):
            moved = [factor.copy() for factor in factors]
            moved[q][place] += side
            values.append(0.5 * np.sum((target - scale * product(moved)) ** 2))
        result[place] = (values[0] - values[1]) / 2.0
    return result


def published_palm4msa(target, factors, scale, limits, n_iter):
    """The algorithm as printed: factors of norm 1, their scale updated after each sweep."""
    factors = [factor.copy() for factor in factors]
    for _ in range(n_iter):
        for q in reversed(range(len(factors))):
            left = np.eye(len(target)) if q == 0 else product(factors[:q])
            right = np.eye(target.shape[1]) if q == len(factors) - 1 else product(factors[q + 1 :])
            lipschitz = scale * np.linalg.norm(left, 2) * np.linalg.norm(right, 2)
            c = 1.001 * lipschitz**2
            moved = factors[q] - gradient(target, factors, scale, q) / c
            moved = largest_of_rows_and_columns(moved, *limits[q])
            factors[q] = moved / np.linalg.norm(moved)
        dense = product(factors)
        scale = np.sum(target * dense) / np.sum(dense * dense)
    return factors, scale


def best_values(target, factors, q, support, weights):
    """Squared error with the best values of factor q, from the design matrix of all its entries."""
    roots = np.sqrt(weights)[:, None]
    left = np.eye(len(target)) if q == 0 else product(factors[:q])
    right = np.eye(target.shape[1]) if q == len(factors) - 1 else product(factors[q + 1 :])
    design = np.kron(roots * left, right.T)[:, support.ravel()]
    wanted = (roots * target).ravel()
    found = np.linalg.lstsq(design, wanted, rcond=None)[0]
    return np.sum((wanted - design @ found) ** 2)
