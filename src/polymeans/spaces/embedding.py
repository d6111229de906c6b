"""The space rows are clustered in: the rows themselves, their main directions, or a cut of them.

A *cut* divides each row by the root of its degree (its products with all rows) before the main
directions are looked for: these are those of the normalised cut of the graph whose edges are the
rows' products. Rows are brought to length one afterwards, where the degree cancels out, so new
rows need none.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import ArpackError, ArpackNoConvergence, LinearOperator, eigsh
from sklearn.preprocessing import normalize

from polymeans.codebooks.metric import squared_norms
from polymeans.spaces.maps import Kernel, KernelMap, LinearMap, Rows, is_sparse, kernel_values
from polymeans.spaces.spectral import above_rounding, leading_directions, signs_of

EMBEDDINGS = ("auto", "cut", "svd")

#: Entries other than zero that rows of text have at most, of all entries.
_TEXT = 0.1

#: Share of the largest scatter that what is beside the diagonal may have: rounding.
_BESIDE = 1e-13

#: Rows up to which all eigenvalues of a kernel are computed.
_KERNEL_EXACT = 2000

#: Share of the largest eigenvalue that a kernel's negative ones may have: rounding.
_NEGATIVE = 1e-6


@dataclass(frozen=True)
class Wish:
    """What is wanted of a space."""

    embedding: str | None  #: "cut", "svd" or None; "auto": what suits the kernel
    n_components: int | None  #: None: all there are
    spherical: bool
    kernel: Kernel | None
    kernel_params: dict[str, Any]
    solver: str


@dataclass(frozen=True)
class Space:
    """Coordinates about the mean in which the scatter of all rows is diagonal."""

    map: LinearMap | KernelMap
    mean: NDArray[np.float64]  #: (r0,)
    turn: NDArray[np.float64] | None  #: (r0, r) orthonormal columns; None: nothing to turn
    squares: NDArray[np.float64]  #: (r,) scatter along each coordinate
    spherical: bool  #: rows are brought to length one first
    unit: float  #: what rows are divided by first
    discarded: float  #: share of the rows' squared norm that is outside
    kind: str | None  #: of the embedding

    @property
    def length(self) -> float:
        """What one in this space is worth to the user."""
        return 1.0 if self.spherical or self.map.unit else self.unit

    def coordinates(self, X: Rows) -> NDArray[np.float64]:
        """Rows, also new ones, in this space."""
        rows = self.map(prepared(X, self.unit, self.spherical))
        rows -= self.mean
        return rows if self.turn is None else rows @ self.turn


def looks_like_text(X: Rows) -> bool:
    """Whether rows are non-negative and mostly empty, in whatever container."""
    values = X.data if is_sparse(X) else X
    if values.size and values.min() < 0:
        return False
    return np.count_nonzero(values) <= _TEXT * np.prod(X.shape, dtype=float)


def canonical(X: Rows) -> Rows:
    """The same rows without duplicate entries; a copy where there are some."""
    if is_sparse(X) and not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def prepared(X: Rows, unit: float, spherical: bool) -> Rows:
    """Rows in a sane range of numbers, of length one if so wanted; a copy where they change."""
    X = canonical(X)
    if unit != 1.0:
        X = X / unit
    return normalize(X, copy=True) if spherical else X


def find_space(
    rows: Rows,
    weights: NDArray[np.float64],
    wish: Wish,
    unit: float,
    rng: np.random.Generator,
) -> tuple[Space, NDArray[np.float64]]:
    """The space wished for, and the rows in it.

    Parameters
    ----------
    rows : ndarray or CSR of shape (n_samples, n_features)
        As :func:`prepared` gives them. Kernel values of all pairs of rows where the kernel is
        "precomputed".
    weights : ndarray of shape (n_samples,)
    wish : Wish
    unit : float
        What rows were divided by.
    rng : Generator

    Returns
    -------
    space : Space
    rows : ndarray of shape (n_samples, r)
    """
    # Directions of sparse rows would be dense: where all are wanted, products with the rows do.
    dual = wish.embedding is None and is_sparse(rows) and rows.shape[0] < rows.shape[1]
    way: LinearMap | KernelMap
    if wish.kernel is not None:
        gram = kernel_values(wish.kernel, wish.kernel_params, rows, rows)
        gram = _checked_gram(gram, rows.shape[0], wish.kernel)
        wish = replace(wish, embedding=_kind_for(gram, wish.embedding))
        way, discarded = _kernel_map(rows, gram, weights, wish, rng)
    elif dual and wish.n_components is None:
        gram = kernel_values("linear", {}, rows, rows)
        way, discarded = _kernel_map(rows, gram, weights, replace(wish, kernel="linear"), rng)
    else:
        way, discarded = _linear_map(rows, weights, wish, rng)
    inside = way(rows)
    mean = weights @ inside / weights.sum()
    # What is left of rows that are all alike, once their mean is subtracted.
    noise = (8 * np.finfo(np.float64).eps) ** 2 * float(weights @ squared_norms(inside))
    inside -= mean
    squares, turn = _diagonal((inside * weights[:, None]).T @ inside, noise)
    space = Space(way, mean, turn, squares, wish.spherical, unit, discarded, wish.embedding)
    return space, inside if turn is None else inside @ turn


def _diagonal(
    scatter: NDArray[np.float64], noise: float
) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
    """Eigenvalues above noise, sorted down, and their eigenvectors; None: it is diagonal already.

    Where there is nothing but noise, a single direction into which nothing goes.
    """
    squares = np.diag(scatter).copy()
    beside = np.abs(scatter - np.diag(squares)).max(initial=0.0)
    if squares[-1] > noise and beside <= _BESIDE * squares.max() and (np.diff(squares) <= 0).all():
        return squares, None
    squares, turn = np.linalg.eigh(scatter)
    squares, turn = squares[::-1], turn[:, ::-1] * signs_of(turn[:, ::-1])
    real = (squares > noise) & above_rounding(squares, len(squares))
    if not real.any():
        return np.zeros(1), np.zeros((len(scatter), 1))
    return squares[real], turn[:, real]


def _linear_map(
    rows: Rows, weights: NDArray[np.float64], wish: Wish, rng: np.random.Generator
) -> tuple[LinearMap, float]:
    mean, kept = None, weights
    if wish.embedding == "cut":
        degrees = rows @ (rows.T @ weights)
        kept = weights / _floored(degrees, weights)
    elif not wish.spherical:
        mean = np.asarray(weights @ rows, dtype=np.float64).ravel() / weights.sum()
    directions, squares = leading_directions(rows, kept, mean, wish.n_components, wish.solver, rng)
    if wish.n_components is None:
        found = above_rounding(squares, len(squares))
        found[0] = True
        directions, squares = directions[:, found], squares[found]
    offset = np.zeros(directions.shape[1]) if mean is None else mean @ directions
    return LinearMap(directions, offset, _ends_on_sphere(wish)), _left_out(
        rows, kept, mean, squares
    )


def _floored(degrees: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Degrees, but not so small that somebody who has nothing in common with others decides all."""
    return np.maximum(degrees, 1e-6 * max(float(weights @ degrees) / weights.sum(), 1e-300))


def _ends_on_sphere(wish: Wish) -> bool:
    """Whether rows are brought to length one in the embedding: always after a cut."""
    return wish.embedding == "cut" or (wish.spherical and wish.embedding is not None)


def _left_out(
    rows: Rows,
    weights: NDArray[np.float64],
    mean: NDArray[np.float64] | None,
    squares: NDArray[np.float64],
) -> float:
    """Share of the squared norm that the found directions do not have."""
    total = float(weights @ squared_norms(rows))
    if mean is not None:
        total -= float(weights.sum() * (mean @ mean))
    share = 1.0 - float(squares.sum()) / total if total > 0 else 0.0
    # Less than rounding accounts for is nothing.
    return share if share > 1e-9 else 0.0


def _kind_for(gram: NDArray[np.float64], wanted: str | None) -> str | None:
    """A cut where a kernel puts rows onto a sphere without negative products, as for text."""
    if wanted != "auto":
        return wanted
    alike = np.ptp(np.diag(gram)) <= 1e-6 * np.abs(np.diag(gram)).max()
    return "cut" if alike and not _is_negative(gram) else "svd"


def _is_negative(gram: NDArray[np.float64]) -> bool:
    """Whether there are values below zero by more than rounding."""
    return bool(gram.min() < -1e-12 * gram.max())


def _kernel_map(
    rows: Rows,
    gram: NDArray[np.float64],
    weights: NDArray[np.float64],
    wish: Wish,
    rng: np.random.Generator,
) -> tuple[KernelMap, float]:
    kernel = wish.kernel
    assert kernel is not None
    shares: NDArray[np.float64] | None = None
    means: NDArray[np.float64] | None = None
    scales = np.sqrt(weights)
    if wish.embedding == "cut":
        degrees = gram @ weights
        if _is_negative(gram):
            raise ValueError(
                f'embedding="cut" needs kernel values that are not negative, but kernel={kernel!r} '
                f'has {gram.min():g}. Use embedding="svd".'
            )
        scales = scales / np.sqrt(_floored(degrees, weights))
    else:
        shares = weights / weights.sum()
        means = gram @ shares
    size = float(np.abs(gram).max() * (scales @ scales))
    if shares is not None and means is not None:
        gram = gram - means - means[:, None] + means @ shares
    gram *= scales
    gram *= scales[:, None]
    n_wanted = len(gram) if wish.n_components is None else min(wish.n_components, len(gram))
    total = float(np.trace(gram))
    squares, vectors = _eigenpairs(gram, n_wanted, rng, kernel, size)
    noise = len(gram) * np.finfo(np.float64).eps * size
    real = above_rounding(squares, len(gram)) & (squares > noise)
    if not real.any():  # a single direction into which nothing goes
        squares, vectors, real = np.zeros(1), np.zeros((len(gram), 1)), np.ones(1, dtype=bool)
    squares, vectors = squares[real], vectors[:, real]
    lengths = np.sqrt(np.where(squares > 0, squares, 1.0))
    # Prepared rows may still be the user's own, who may change them.
    known = None if isinstance(kernel, str) and kernel == "precomputed" else rows.copy()
    way = KernelMap(
        kernel,
        wish.kernel_params,
        known,
        scales[:, None] * (vectors * signs_of(vectors)) / lengths,
        shares,
        means,
        _ends_on_sphere(wish),
    )
    share = 1.0 - float(squares.sum()) / total if total > 0 else 0.0
    return way, share if share > 1e-9 else 0.0


def _checked_gram(gram: NDArray[np.float64], n: int, kernel: Kernel) -> NDArray[np.float64]:
    if gram.shape != (n, n):
        raise ValueError(
            f"kernel={kernel!r} must give one value for each pair of rows, a square matrix, got "
            f"shape {gram.shape}."
        )
    if not np.isfinite(gram).all():
        raise ValueError(f"kernel={kernel!r} gives values that are not finite numbers.")
    apart = float(np.abs(gram - gram.T).max())
    if apart > 1e-5 * max(float(np.abs(gram).max()), 1e-300):
        raise ValueError(
            f"kernel={kernel!r} must be symmetric, but values differ by up to {apart:g} from those "
            "with rows exchanged. Use (K + K.T) / 2 if that is what is meant."
        )
    return (gram + gram.T) / 2


def _smallest(gram: NDArray[np.float64], largest: float, start: NDArray[np.float64]) -> float:
    """About the smallest eigenvalue, or 0 if there is none clearly below.

    Those of most kernels crowd at zero, where none of them can be told from the others: measured
    from the largest it is enough to see whether one lies apart.
    """
    turned = LinearOperator(gram.shape, lambda v: largest * v - gram @ v, dtype=np.float64)
    try:
        found = eigsh(
            turned, 1, which="LA", v0=start, tol=1e-7, maxiter=20, return_eigenvectors=False
        )
    except ArpackNoConvergence as undecided:
        found = undecided.eigenvalues
    return largest - float(found[0]) if len(found) else 0.0


def _eigenpairs(
    gram: NDArray[np.float64],
    n_wanted: int,
    rng: np.random.Generator,
    kernel: Kernel,
    size: float,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The largest eigenvalues and their vectors; none may be negative beyond rounding.

    ``size`` is what eigenvalues could be before the mean was subtracted.
    """
    n = len(gram)
    if n <= _KERNEL_EXACT or 3 * n_wanted > n:
        squares, vectors = np.linalg.eigh(gram)
        smallest = squares[0]
        squares, vectors = squares[::-1][:n_wanted], vectors[:, ::-1][:, :n_wanted]
    else:
        start = rng.standard_normal(n)
        try:
            squares, vectors = eigsh(gram, n_wanted, which="LA", v0=start)
        except ArpackError:  # nothing but zeros
            return np.zeros(1), np.zeros((n, 1))
        order = np.argsort(-squares)
        squares, vectors = squares[order], vectors[:, order]
        smallest = _smallest(gram, float(squares[0]), start)
    if smallest < -max(_NEGATIVE * float(squares[0]), 1e-12 * size):
        raise ValueError(
            f"kernel={kernel!r} must be positive semidefinite, but has the eigenvalue "
            f"{smallest:g} (largest: {squares[0]:g}). Use another kernel, or add "
            f"{-smallest:.3g} to the diagonal."
        )
    return np.maximum(squares, 0.0), vectors
