"""Directions in which weighted rows spread most, exactly, by Lanczos, or by random projections."""

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.linalg import ArpackError, LinearOperator, svds

from polymeans.spaces.maps import Rows, is_sparse

SOLVERS = ("auto", "exact", "lanczos", "randomized")

#: Where the smaller of rows and columns is at most this, "auto" is exact: a decomposition then
#: takes less than a second (1.2 seconds for 2000, growing with the cube) and depends on no draw.
_EXACT = 1500

#: Directions a random projection has beyond those that are looked for, and the passes of subspace
#: iteration that follow; scikit-learn's ``randomized_svd`` has 10, and 4 to 7.
_OVERSAMPLING, _PASSES = 10, 6


def leading_directions(
    X: Rows,
    weights: NDArray[np.float64],
    mean: NDArray[np.float64] | None,
    n_directions: int | None,
    solver: str,
    rng: np.random.Generator,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Right singular vectors of the rows, scaled by the roots of their weights.

    Parameters
    ----------
    X : ndarray or CSR of shape (n, d)
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
    smaller = min(X.shape)
    if n_directions is None or n_directions >= smaller:
        solver, n_directions = "exact", smaller
    if solver == "auto":
        # Lanczos' method keeps at least two vectors for each direction.
        solver = "exact" if smaller <= _EXACT or 3 * n_directions > smaller else "lanczos"
    if solver == "exact":
        directions, squares = _exact(X, roots, mean, n_directions)
    else:
        find = _lanczos if solver == "lanczos" else _randomized
        directions, squares = find(_scaled_rows(X, roots, mean), n_directions, rng)
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
    return squares > 4 * n * np.finfo(np.float64).eps * max(float(squares[0]), 1e-300)


def _exact(
    X: Rows, roots: NDArray[np.float64], mean: NDArray[np.float64] | None, n_directions: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    n, d = X.shape
    if not is_sparse(X):
        scaled = X.astype(np.float64) if mean is None else X - mean
        scaled = scaled * roots[:, None]
        if 2 * n_directions > min(n, d):
            # The product with itself would lose directions of little spread, all of which are used.
            _, lengths, right = scipy.linalg.svd(scaled, full_matrices=False, check_finite=False)
            return right[:n_directions].T, lengths[:n_directions] ** 2
        gram = scaled.T @ scaled if d <= n else scaled @ scaled.T
    else:
        scaled = sp.diags_array(roots) @ X
        gram = np.asarray((scaled.T @ scaled if d <= n else scaled @ scaled.T).todense())
        if mean is not None and d <= n:
            gram = gram - (roots @ roots) * np.outer(mean, mean)
        elif mean is not None:
            onto = scaled @ mean
            gram = gram - np.outer(onto, roots) - np.outer(roots, onto)
            gram += (mean @ mean) * np.outer(roots, roots)
    m = len(gram)
    squares, vectors = scipy.linalg.eigh(
        gram, subset_by_index=[m - n_directions, m - 1], overwrite_a=True, check_finite=False
    )
    squares, vectors = np.maximum(squares[::-1], 0.0), vectors[:, ::-1]
    if d <= n:
        return vectors, squares
    kept = above_rounding(squares, m)
    kept[0] = True
    vectors, squares = vectors[:, kept], squares[kept]
    directions = scaled.T @ vectors
    if is_sparse(X) and mean is not None:
        directions = directions - np.outer(mean, roots @ vectors)
    return scipy.linalg.qr(directions, mode="economic")[0], squares


def _scaled_rows(
    X: Rows, roots: NDArray[np.float64], mean: NDArray[np.float64] | None
) -> LinearOperator:
    """The rows, centred and scaled, as an operator that is never formed."""
    X = X.astype(np.float64, copy=False)
    shift = np.zeros(X.shape[1]) if mean is None else mean
    transposed = X.T.tocsr() if is_sparse(X) else X.T

    def forward(v: NDArray[np.float64]) -> NDArray[np.float64]:
        return (roots * (X @ v - shift @ v).T).T

    def backward(v: NDArray[np.float64]) -> NDArray[np.float64]:
        scaled = (roots * v.T).T
        return transposed @ scaled - np.multiply.outer(shift, scaled.sum(axis=0))

    return LinearOperator(
        X.shape, forward, rmatvec=backward, matmat=forward, rmatmat=backward, dtype=np.float64
    )


def _lanczos(
    rows: LinearOperator, n_directions: int, rng: np.random.Generator
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    start = rng.standard_normal(min(rows.shape))
    try:
        _, lengths, right = svds(rows, n_directions, v0=start, return_singular_vectors="vh")
    except ArpackError:  # rows that spread in fewer directions than are looked for
        return _randomized(rows, n_directions, rng)
    return right.T, lengths**2


def _randomized(
    rows: LinearOperator, n_directions: int, rng: np.random.Generator
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    width = min(n_directions + _OVERSAMPLING, *rows.shape)
    basis = np.linalg.qr(rng.standard_normal((rows.shape[1], width)))[0]
    for _ in range(_PASSES):
        basis = np.linalg.qr(rows.rmatmat(rows.matmat(basis)))[0]
    _, lengths, right = np.linalg.svd(rows.matmat(basis), full_matrices=False)
    return basis @ right[:n_directions].T, lengths[:n_directions] ** 2
