"""The space rows are clustered in: the rows themselves, their main directions, or a cut of them.

A *white* space has the same scatter in all directions, whatever the units and correlations of the
features are.

A *cut* divides each row by the root of its degree (its products with all rows) before the main
directions are found: they are those of the normalized cut of the graph whose edges are the rows'
products. Rows are brought to length one afterwards, where the degree cancels out, so new rows need
none.
"""

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.preprocessing import normalize

from polymeans.core.norms import largest_of_rows, rows_over, squared_norms
from polymeans.core.rows import Rows, is_csr
from polymeans.engine.chunks import ChunkedRows, Preparation
from polymeans.engine.directions import above_rounding, leading_directions, signs_of
from polymeans.spaces.kernel_embedding import (
    checked_gram,
    embedding_for,
    floored_degrees,
    kernel_map,
    share_outside,
)
from polymeans.spaces.maps import KernelMap, LinearMap, kernel_values
from polymeans.spaces.spec import SpaceSpec

#: Entries beside the diagonal of a scatter, as a share of its largest, that are rounding: some
#: hundred units of float64.
_OFF_DIAGONAL = 1e-13


@dataclass(frozen=True)
class Space:
    """Coordinates about the mean in which the scatter of all rows is diagonal."""

    map: LinearMap | KernelMap
    mean: NDArray[np.float64]  #: (r0,)
    rotation: NDArray[np.float64] | None  #: (r0, r) orthonormal columns; None: the identity
    squares: NDArray[np.float64]  #: (r,) scatter along each coordinate
    spherical: bool  #: rows are brought to length one first
    unit: float  #: what rows are divided by first
    discarded: float  #: share of the rows' squared norm that is outside
    kind: str | None  #: of the embedding

    @property
    def length(self) -> float:
        """Length of one unit of this space in the user's coordinates."""
        free = self.spherical or self.map.normalized or self.kind == "white"
        return 1.0 if free else self.unit

    def coordinates(self, X: Rows) -> NDArray[np.float64]:
        """Rows, also new ones, in this space."""
        # Where no kernel was asked for, wide rows are mapped by a linear one, in their unit.
        bounded = isinstance(self.map, LinearMap) or (
            self.map.kernel == "linear" and self.unit != 1.0
        )
        rows = self.map(prepared(X, self.unit, self.spherical, bounded))
        rows -= self.mean
        return rows if self.rotation is None else rows @ self.rotation

    def for_features(self, matrix: NDArray[np.float64]) -> NDArray[np.float64]:
        """A matrix whose columns are coordinates of this space, with columns for features instead.

        Rows that are brought to length one in the embedding are multiplied after that: its columns
        are those of the embedding then. A kernel must be linear.
        """
        if self.rotation is not None:
            matrix = matrix @ self.rotation.T
        if isinstance(self.map, KernelMap):
            assert self.map.known is not None
            return matrix @ np.asarray(self.map.known.T @ self.map.coefficients).T
        if self.map.normalized:
            return matrix
        # Whitened coordinates have no unit: that of the features is in the matrix.
        directions = self.map.directions / (1.0 if self.spherical else self.unit / self.length)
        return matrix @ directions.T


def canonical(X: Rows) -> Rows:
    """The same rows without duplicate entries; a copy where there are some."""
    if is_csr(X) and not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


#: Largest entries of rows in their unit: products of some of them must be numbers.
_FARTHEST = {np.dtype(np.float32): 1e37, np.dtype(np.float64): 1e100}


def prepared(X: Rows, unit: float, spherical: bool, bounded: bool = True) -> Rows:
    """Rows over their unit, of length one if ``spherical``; a copy where they change.

    ``bounded``: rows so far out that products with them overflow are shortened, since their
    direction decides their label.
    """
    X = canonical(X)
    if spherical:
        largest = largest_of_rows(X)  # divided by it first: squares would leave the range
        return normalize(rows_over(X, np.where(largest > 0, largest, 1.0)), copy=False)
    farthest = _FARTHEST[X.dtype] * unit
    if bounded and float(np.abs(X.data if is_csr(X) else X).max(initial=0.0)) > farthest:
        X = rows_over(X, np.maximum(largest_of_rows(X) / farthest, 1.0))
    if unit != 1.0:
        X = (X / unit).astype(X.dtype, copy=False)  # quotients of sparse rows are float64
    return X


def find_space(
    rows: ChunkedRows,
    weights: NDArray[np.float64],
    spec: SpaceSpec,
    unit: float,
    rng: np.random.Generator,
) -> tuple[Space, NDArray[np.float64]]:
    """Find the space, and the rows in it.

    Parameters
    ----------
    rows : ChunkedRows
        As :func:`prepared` gives them. Kernel values of all pairs of rows where the kernel is
        "precomputed".
    weights : ndarray of shape (n_samples,)
    spec : SpaceSpec
    unit : float
        What rows were divided by.
    rng : Generator

    Returns
    -------
    space : Space
    rows : ndarray of shape (n_samples, r)
    """
    # Directions of sparse rows would be dense: where all are used, products with the rows suffice.
    dual = spec.embedding is None and rows.is_sparse and rows.shape[0] < rows.shape[1]
    row_map: LinearMap | KernelMap
    if spec.kernel is not None:
        X = rows.matrix()
        gram = kernel_values(spec.kernel, spec.kernel_params, X, X)
        gram = checked_gram(gram, rows.shape[0], spec.kernel)
        spec = replace(spec, embedding=embedding_for(gram, spec.embedding))
        row_map, discarded = kernel_map(X, gram, weights, spec, rng)
        inside = row_map(X)
    elif dual and spec.n_components is None:
        X = rows.matrix()
        gram = kernel_values("linear", {}, X, X)
        spec_of_gram = replace(spec, kernel="linear")
        row_map, discarded = kernel_map(X, gram, weights, spec_of_gram, rng)
        inside = row_map(X)
    else:
        row_map, discarded = _linear_map(rows, weights, spec, rng)
        inside = rows.each(coordinates_by, row_map)
    mean = weights @ inside / weights.sum()
    # What is left of rows that are all alike, once their mean is subtracted.
    noise = (8 * np.finfo(np.float64).eps) ** 2 * float(weights @ squared_norms(inside))
    inside -= mean
    squares, rotation = _diagonal((inside * weights[:, None]).T @ inside, noise)
    space = Space(row_map, mean, rotation, squares, spec.spherical, unit, discarded, spec.embedding)
    return space, inside if rotation is None else inside @ rotation


def whitened(space: Space, mass: float) -> tuple[Space, NDArray[np.float64]]:
    """A space whose coordinates have the same scatter, and what they were divided by.

    Parameters
    ----------
    space : Space
        Of rows, by a map that is linear.
    mass : float
        Scatter of each coordinate: the weight of all rows, so that its variance is 1.

    Returns
    -------
    space : Space
    spread : ndarray of shape (r,)
        Deviation of each coordinate before.
    """
    assert isinstance(space.map, LinearMap)
    spread = np.sqrt(np.where(space.squares > 0, space.squares, mass) / mass)
    directions, offset = space.map.directions, space.map.offset + space.mean
    if space.rotation is not None:
        directions, offset = directions @ space.rotation, offset @ space.rotation
    row_map = LinearMap(directions / spread, offset / spread, normalized=False)
    r = len(spread)
    white = replace(
        space,
        map=row_map,
        mean=np.zeros(r),
        rotation=None,
        squares=np.where(space.squares > 0, mass, 0.0),
    )
    return white, spread


def _diagonal(
    scatter: NDArray[np.float64], noise: float
) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
    """Eigenvalues above noise, sorted down, and their eigenvectors; None: it is diagonal already.

    Where there is nothing but noise, a single direction with zeros.
    """
    squares = np.diag(scatter).copy()
    beside = np.abs(scatter - np.diag(squares)).max(initial=0.0)
    diagonal = beside <= _OFF_DIAGONAL * squares.max()
    if squares[-1] > noise and diagonal and (np.diff(squares) <= 0).all():
        return squares, None
    squares, vectors = np.linalg.eigh(scatter)
    squares, vectors = squares[::-1], vectors[:, ::-1] * signs_of(vectors[:, ::-1])
    real = (squares > noise) & above_rounding(squares, len(squares))
    if not real.any():
        return np.zeros(1), np.zeros((len(scatter), 1))
    return squares[real], vectors[:, real]


def _linear_map(
    rows: ChunkedRows, weights: NDArray[np.float64], spec: SpaceSpec, rng: np.random.Generator
) -> tuple[LinearMap, float]:
    mean, scaled_weights = None, weights
    if spec.embedding == "cut":
        degrees = rows.each(products_with, rows.total(weighted_sum, rows=[weights]))
        scaled_weights = weights / floored_degrees(degrees, weights)
    elif not spec.spherical or spec.embedding == "white":
        mean = rows.total(weighted_sum, rows=[weights]) / weights.sum()
    deviations = np.ones(rows.shape[1])
    if spec.embedding == "white":
        assert mean is not None
        deviations = _deviations(rows, weights, mean)
        rows = ChunkedRows(rows.placement, (over_features, (rows.preparation, deviations)))
        mean = mean / deviations
    directions, squares = leading_directions(
        rows, scaled_weights, mean, spec.n_components, spec.solver, rng
    )
    if spec.n_components is None:
        found = above_rounding(squares, len(squares))
        found[0] = True
        directions, squares = directions[:, found], squares[found]
    offset = np.zeros(directions.shape[1]) if mean is None else mean @ directions
    total = float(scaled_weights @ rows.each(squared_norms))
    if mean is not None:
        total -= float(scaled_weights.sum() * (mean @ mean))
    discarded = share_outside(float(squares.sum()), total)
    directions = directions / deviations[:, None]
    return LinearMap(directions, offset, spec.normalizes_embedding), discarded


def _deviations(
    rows: ChunkedRows, weights: NDArray[np.float64], mean: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Standard deviation of each feature; 1 for those that are the same in all rows."""
    squares = rows.total(weighted_squares, mean, rows=[weights]) / weights.sum()
    # What rounding of the mean leaves of a constant feature.
    constant = squares <= (8 * np.finfo(np.float64).eps * mean) ** 2
    return np.sqrt(np.where(constant, 1.0, squares))


# --- functions of a chunk of rows ------------------------------------------------------------


def weighted_sum(X: Rows, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """``Σ w x``."""
    return np.asarray(weights @ X, dtype=np.float64).ravel()


def weighted_squares(
    X: Rows, weights: NDArray[np.float64], mean: NDArray[np.float64]
) -> NDArray[np.float64]:
    """``Σ w (x - mean)²``."""
    if not is_csr(X):
        return weights @ (X.astype(np.float64) - mean) ** 2
    # Entries that are stored, and all others, which are zero.
    stored = X.astype(np.float64)
    stored.data = (stored.data - mean[stored.indices]) ** 2
    filled = X.copy()
    filled.data = np.ones(len(X.data))
    absent = weights.sum() - weights @ filled
    return np.asarray(weights @ stored + absent * mean**2).ravel()


def over_features(
    X: Rows, preparation: Preparation | None, deviations: NDArray[np.float64]
) -> Rows:
    """Rows, prepared, with each feature divided by a number of its own."""
    if preparation is not None:
        X = preparation[0](X, *preparation[1])
    if is_csr(X):
        return sp.csr_array(X @ sp.diags_array(1.0 / deviations))
    return X / deviations


def products_with(X: Rows, v: NDArray[np.float64]) -> NDArray[np.float64]:
    """Products of all rows with a vector."""
    return X @ v


def coordinates_by(X: Rows, row_map: LinearMap) -> NDArray[np.float64]:
    """Rows mapped into a space."""
    return row_map(X)
