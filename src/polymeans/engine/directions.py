"""Directions in which weighted rows spread most, exactly, by Lanczos, or by random projections."""

from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh

from polymeans.core.rows import Rows, is_csr
from polymeans.engine.chunks import ChunkedRows

SOLVERS = ("auto", "exact", "lanczos", "randomized")

#: Where the smaller of rows and columns is at most this, "auto" is exact: a decomposition then
#: takes less than a second (1.2 seconds for 2000, growing with the cube) and depends on no draw.
_EXACT = 1500

#: Directions a random projection has beyond those that are looked for, and the passes of subspace
#: iteration that follow; scikit-learn's ``randomized_svd`` has 10, and 4 to 7.
_OVERSAMPLING, _PASSES = 10, 6


def leading_directions(
    rows: ChunkedRows,
    weights: NDArray[np.float64],
    mean: NDArray[np.float64] | None,
    n_directions: int | None,
    solver: str,
    rng: np.random.Generator,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Right singular vectors of the rows, scaled by the roots of their weights.

    Parameters
    ----------
    rows : ChunkedRows
        n rows of d features.
    weights : ndarray of shape (n,)
    mean : ndarray of shape (d,) or None
        Subtracted from the rows; CSR rows stay as they are meanwhile.
    n_directions : int or None
        At most so many; None: all in which the rows spread.
    solver : {"auto", "exact", "lanczos", "randomized"}
    rng : Generator

    Returns
    -------
    directions : ndarray of shape (d, r)
        Orthonormal columns, the strongest first, the largest entry of each positive.
    squares : ndarray of shape (r,)
        Scatter along them.
    """
    roots = np.sqrt(weights)
    smaller = min(rows.shape)
    if n_directions is None or n_directions >= smaller:
        solver, n_directions = "exact", smaller
    if solver == "auto":
        # Lanczos' method keeps at least two vectors for each direction.
        solver = "exact" if smaller <= _EXACT or 3 * n_directions > smaller else "lanczos"
    if solver == "exact":
        few = rows.shape[0] < rows.shape[1]
        find = _exact_of_few if few else _exact
        directions, squares = find(rows, roots, mean, n_directions)
    else:
        rows = rows.in_double_precision()
        approach = _lanczos if solver == "lanczos" else _randomized
        directions, squares = approach(rows, roots, mean, n_directions, rng)
    # LAPACK returns nothing where entries are not finite.
    if len(squares) == 0 or not np.isfinite(squares).all():
        raise np.linalg.LinAlgError(
            "the scatter of the rows is out of range: divide X by its largest absolute value"
        )
    order = np.argsort(-squares, kind="stable")
    directions, squares = directions[:, order], np.maximum(squares[order], 0.0)
    return directions * signs_of(directions), squares


def signs_of(columns: NDArray[np.float64]) -> NDArray[np.float64]:
    """Signs that make the largest entry of each column positive, so that results have one sign."""
    if columns.size == 0:
        return np.ones(columns.shape[1])
    largest = columns[np.argmax(np.abs(columns), axis=0), np.arange(columns.shape[1])]
    return np.where(largest < 0, -1.0, 1.0)


def above_rounding(squares: NDArray[np.float64], n: int) -> NDArray[np.bool_]:
    """Which of these eigenvalues, sorted down, are more than what rounding leaves of zero."""
    largest = float(squares[0]) if len(squares) else 0.0
    return squares > 4 * n * np.finfo(np.float64).eps * max(largest, 1e-300)


# --- at least as many rows as features -------------------------------------------------------


def _exact(
    rows: ChunkedRows,
    roots: NDArray[np.float64],
    mean: NDArray[np.float64] | None,
    n_directions: int,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    d = rows.shape[1]
    if not rows.is_sparse and 2 * n_directions > d:
        # The product with itself would lose directions of little spread, all of which are used.
        triangle = rows.triangle(scaled_rows, mean, rows=[roots])
        _, lengths, right = scipy.linalg.svd(triangle, check_finite=False)
        return right[:n_directions].T, lengths[:n_directions] ** 2
    gram = rows.total(scatter, mean, rows=[roots])
    if rows.is_sparse and mean is not None:
        gram = gram - (roots @ roots) * np.outer(mean, mean)
    squares, vectors = scipy.linalg.eigh(
        gram, subset_by_index=[d - n_directions, d - 1], overwrite_a=True, check_finite=False
    )
    return vectors[:, ::-1], np.maximum(squares[::-1], 0.0)


def _lanczos(
    rows: ChunkedRows,
    roots: NDArray[np.float64],
    mean: NDArray[np.float64] | None,
    n_directions: int,
    rng: np.random.Generator,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    d = rows.shape[1]
    products = LinearOperator(
        (d, d), lambda v: scatter_times(rows, roots, mean, v.reshape(d, 1))[:, 0], dtype=np.float64
    )
    try:
        _, basis = eigsh(products, n_directions, v0=rng.standard_normal(d))
    except ArpackError:  # rows that spread in fewer directions than are looked for
        return _randomized(rows, roots, mean, n_directions, rng)
    return _within(rows, roots, mean, np.linalg.qr(basis)[0], n_directions)


def _randomized(
    rows: ChunkedRows,
    roots: NDArray[np.float64],
    mean: NDArray[np.float64] | None,
    n_directions: int,
    rng: np.random.Generator,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    width = min(n_directions + _OVERSAMPLING, *rows.shape)
    basis = np.linalg.qr(rng.standard_normal((rows.shape[1], width)))[0]
    for _ in range(_PASSES):
        basis = np.linalg.qr(scatter_times(rows, roots, mean, basis))[0]
    return _within(rows, roots, mean, basis, n_directions)


def _within(
    rows: ChunkedRows,
    roots: NDArray[np.float64],
    mean: NDArray[np.float64] | None,
    basis: NDArray[np.float64],
    n_directions: int,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The strongest directions among those that a basis spans."""
    triangle = rows.triangle(scaled_product, mean, basis, rows=[roots])
    _, lengths, right = np.linalg.svd(triangle)
    return basis @ right[:n_directions].T, lengths[:n_directions] ** 2


def scatter_times(
    rows: ChunkedRows,
    roots: NDArray[np.float64],
    mean: NDArray[np.float64] | None,
    v: NDArray[np.float64],
) -> NDArray[np.float64]:
    """``X' X v`` for scaled rows less their mean, in one pass over the rows."""
    found = rows.total(scatter_product, mean, v, rows=[roots])
    if mean is None:
        return found
    # The last row has what the mean is multiplied by.
    return found[:-1] - np.outer(mean, found[-1])


# --- functions of a chunk --------------------------------------------------------------------


def scaled_rows(
    X: NDArray[Any], roots: NDArray[np.float64], mean: NDArray[np.float64] | None
) -> NDArray[np.float64]:
    """Dense rows less the mean, scaled."""
    away = X.astype(np.float64) if mean is None else X - mean
    return away * roots[:, None]


def scatter(
    X: Rows, roots: NDArray[np.float64], mean: NDArray[np.float64] | None
) -> NDArray[np.float64]:
    """``X' X`` of scaled rows; of CSR rows without their mean subtracted."""
    if is_csr(X):
        scaled = sp.diags_array(roots) @ X.astype(np.float64)
        return np.asarray((scaled.T @ scaled).todense())
    scaled = scaled_rows(X, roots, mean)
    return scaled.T @ scaled


def scaled_product(
    X: Rows,
    roots: NDArray[np.float64],
    mean: NDArray[np.float64] | None,
    v: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Scaled rows less the mean, times v."""
    product = X.astype(np.float64, copy=False) @ v
    if mean is not None:
        product = product - mean @ v
    return product * roots[:, None]


def scatter_product(
    X: Rows,
    roots: NDArray[np.float64],
    mean: NDArray[np.float64] | None,
    v: NDArray[np.float64],
) -> NDArray[np.float64]:
    """``X' (X - mean) v`` of scaled rows, and below it what the mean is to be multiplied by."""
    scaled = scaled_product(X, roots, mean, v) * roots[:, None]
    product = np.asarray(X.T.astype(np.float64, copy=False) @ scaled)
    return product if mean is None else np.vstack([product, scaled.sum(axis=0)])


# --- fewer rows than features: they are few enough to be in memory ---------------------------


def _exact_of_few(
    rows: ChunkedRows,
    roots: NDArray[np.float64],
    mean: NDArray[np.float64] | None,
    n_directions: int,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    X = rows.matrix()
    if not is_csr(X):
        scaled = scaled_rows(X, roots, mean)
        if 2 * n_directions > len(scaled):
            # The product with itself would lose directions of little spread, all of which are used.
            _, lengths, right = scipy.linalg.svd(scaled, full_matrices=False, check_finite=False)
            return right[:n_directions].T, lengths[:n_directions] ** 2
        gram = scaled @ scaled.T
    else:
        scaled = sp.diags_array(roots) @ X
        gram = np.asarray((scaled @ scaled.T).todense())
        if mean is not None:
            onto = scaled @ mean
            gram = gram - np.outer(onto, roots) - np.outer(roots, onto)
            gram += (mean @ mean) * np.outer(roots, roots)
    m = len(gram)
    squares, vectors = scipy.linalg.eigh(
        gram, subset_by_index=[m - n_directions, m - 1], overwrite_a=True, check_finite=False
    )
    squares, vectors = np.maximum(squares[::-1], 0.0), vectors[:, ::-1]
    kept = above_rounding(squares, m)
    kept[:1] = True
    vectors, squares = vectors[:, kept], squares[kept]
    directions = scaled.T @ vectors
    if is_csr(X) and mean is not None:
        directions = directions - np.outer(mean, roots @ vectors)
    return scipy.linalg.qr(directions, mode="economic")[0], squares
