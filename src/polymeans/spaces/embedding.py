"""The space rows are clustered in: the rows themselves, their main directions, or a cut of them.

A *cut* divides each row by the root of its degree (its products with all rows) before the main
directions are looked for: these are those of the normalised cut of the graph whose edges are the
rows' products. Rows are brought to length one afterwards, where the degree cancels out, so new
rows need none.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.linalg import eigsh
from sklearn.preprocessing import normalize

from polymeans.codebooks.metric import squared_norms
from polymeans.engine.threads import Threads
from polymeans.spaces.maps import KernelMap, LinearMap, kernel_values
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
    kernel: Any
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

    def coordinates(self, X: Any, threads: Threads) -> NDArray[np.float64]:
        """Rows, also new ones, in this space."""
        rows = self.map(prepared(X, self.unit, self.spherical), threads)
        rows -= self.mean
        return rows if self.turn is None else rows @ self.turn


def looks_like_text(X: Any) -> bool:
    """Whether rows are non-negative and mostly empty, in whatever container."""
    values = X.data if sp.issparse(X) else X
    if values.size and values.min() < 0:
        return False
    return np.count_nonzero(values) <= _TEXT * np.prod(X.shape, dtype=float)


def prepared(X: Any, unit: float, spherical: bool) -> Any:
    """Rows in a sane range of numbers, of length one if so wanted; a copy where they change."""
    if unit != 1.0:
        X = X / unit
    return normalize(X, copy=True) if spherical else X


def find_space(
    X: Any,
    weights: NDArray[np.float64],
    wish: Wish,
    unit: float,
    threads: Threads,
    rng: np.random.Generator,
) -> tuple[Space, NDArray[np.float64]]:
    """The space wished for, and the rows in it.

    Parameters
    ----------
    X : ndarray or CSR of shape (n_samples, n_features)
        Kernel values of all pairs of rows where the kernel is "precomputed".
    weights : ndarray of shape (n_samples,)
    wish : Wish
    unit : float
        What rows are to be divided by.
    threads : Threads
    rng : Generator

    Returns
    -------
    space : Space
    rows : ndarray of shape (n_samples, r)
    """
    rows = prepared(X, unit, wish.spherical)
    # More rows than columns are not worth a matrix of all pairs of rows.
    dual = wish.embedding is None and sp.issparse(X) and X.shape[0] < X.shape[1]
    if wish.kernel is not None or (dual and wish.n_components is None):
        kernel = "linear" if wish.kernel is None else wish.kernel
        gram = _checked_gram(kernel_values(kernel, wish.kernel_params, rows, rows), kernel)
        wish = replace(wish, kernel=kernel, embedding=_kind_for(gram, wish.embedding))
        way, discarded = _kernel_map(rows, gram, weights, wish, rng)
    else:
        way, discarded = _linear_map(rows, weights, wish, rng)
    inside = way(rows, threads)
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
    rows: Any, weights: NDArray[np.float64], wish: Wish, rng: np.random.Generator
) -> tuple[LinearMap, float]:
    mean, kept = None, weights
    if wish.embedding == "cut":
        degrees = rows @ (rows.T @ weights)
        # Whoever has nothing in common with anybody would count for infinitely much.
        floor = 1e-6 * max(float(weights @ degrees) / weights.sum(), 1e-300)
        kept = weights / np.maximum(degrees, floor)
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


def _ends_on_sphere(wish: Wish) -> bool:
    """Whether rows are brought to length one in the embedding: always after a cut."""
    return wish.embedding == "cut" or (wish.spherical and wish.embedding is not None)


def _left_out(
    rows: Any, weights: NDArray[np.float64], mean: Any, squares: NDArray[np.float64]
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
    return "cut" if alike and gram.min() >= 0 else "svd"


def _kernel_map(
    rows: Any,
    gram: NDArray[np.float64],
    weights: NDArray[np.float64],
    wish: Wish,
    rng: np.random.Generator,
) -> tuple[KernelMap, float]:
    kernel, shares, means = wish.kernel, None, None
    scales = np.sqrt(weights)
    if wish.embedding == "cut":
        degrees = gram @ weights
        if degrees.min(where=weights > 0, initial=np.inf) < 0 or gram.min() < 0:
            raise ValueError(
                f'embedding="cut" needs kernel values that are not negative, but kernel={kernel!r} '
                f'has {gram.min():g}. Use embedding="svd".'
            )
        scales = scales / np.sqrt(np.maximum(degrees, 1e-6 * max(float(degrees.mean()), 1e-300)))
    else:
        shares = weights / weights.sum()
        means = gram @ shares
    size = float(np.abs(gram).max() * (scales @ scales))
    if wish.embedding != "cut":
        gram = gram - means - means[:, None] + means @ shares
    gram *= scales
    gram *= scales[:, None]
    n_wanted = len(gram) if wish.n_components is None else min(wish.n_components, len(gram))
    total = float(np.trace(gram))
    squares, vectors = _eigenpairs(gram, n_wanted, rng, kernel, size)
    real = above_rounding(squares, len(gram)) & (squares > 16 * np.finfo(np.float64).eps * size)
    if not real.any():  # a single direction into which nothing goes
        squares, vectors, real = np.zeros(1), np.zeros((len(gram), 1)), np.ones(1, dtype=bool)
    squares, vectors = squares[real], vectors[:, real]
    lengths = np.sqrt(np.where(squares > 0, squares, 1.0))
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


def _checked_gram(gram: NDArray[np.float64], kernel: Any) -> NDArray[np.float64]:
    n = len(gram)
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


def _eigenpairs(
    gram: NDArray[np.float64],
    n_wanted: int,
    rng: np.random.Generator,
    kernel: Any,
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
        smallest = eigsh(gram, 1, which="SA", v0=start, tol=1e-3, return_eigenvectors=False)[0]
        squares, vectors = eigsh(gram, n_wanted, v0=start)
        order = np.argsort(-squares)
        squares, vectors = squares[order], vectors[:, order]
    if smallest < -max(_NEGATIVE * float(squares[0]), 1e-12 * size):
        raise ValueError(
            f"kernel={kernel!r} must be positive semidefinite, but has the eigenvalue "
            f"{smallest:g} (largest: {squares[0]:g}). Use another kernel, or add "
            f"{-smallest:.3g} to the diagonal."
        )
    return np.maximum(squares, 0.0), vectors
