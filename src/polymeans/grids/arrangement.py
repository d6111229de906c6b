"""Centroids in the cells of a grid: the best protocentroids for given cells, and the reverse."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polymeans.codebooks.additive import fit_additive
from polymeans.codebooks.aggregation import combine
from polymeans.codebooks.multiplicative import fit_multiplicative
from polymeans.grids.matching import match, squared_distances

#: Values below this part of a feature's root mean square are raised to it before logarithms are
#: taken: a value near zero would otherwise dominate all squared differences of logarithms.
_SMALLEST_FACTOR = 1e-3


@dataclass(eq=False)
class Arrangement:
    """Protocentroids, the cell of each centroid, and the squared error.

    Parameters
    ----------
    protocentroids : list of ndarrays of shape (h_q, n_features)
        In the units of the problem.
    cells : ndarray of shape (k,)
        Cell of each centroid in C order.
    error : float
        Weighted sum of squared distances between centroids and cells.
    history : list of float
        Error after each step; the last entry is ``error``.
    """

    protocentroids: list[NDArray[np.float64]]
    cells: NDArray[np.int64]
    error: float
    history: list[float]


class DecompositionProblem:
    """Given centroids, to be approximated by the cells of a grid.

    Centroids and weights are divided by their largest values, and centroids of a sum are measured
    from their mean, so that squares neither overflow nor cancel. For products, ``effects`` are
    logarithms of absolute values, of which a product is a sum; for sums they are the centroids.

    Parameters
    ----------
    centers : ndarray of shape (k, n_features)
    weights : ndarray of shape (k,)
        Above zero.
    sizes : tuple of int
        Sizes of the sets; at least k cells.
    aggregator : {"sum", "product"}
    """

    def __init__(
        self,
        centers: NDArray[np.float64],
        weights: NDArray[np.float64],
        sizes: tuple[int, ...],
        aggregator: str,
    ) -> None:
        self.sizes, self.aggregator = sizes, aggregator
        self.weight_unit = weights.max()
        self.weights = weights / self.weight_unit
        self.unit = np.abs(centers).max() or 1.0
        centers = centers / self.unit
        self.mean = self.weights @ centers / self.weights.sum()
        # A vector can be taken off the centroids of a sum, but not off those of a product.
        self.origin = self.mean if aggregator == "sum" else np.zeros_like(self.mean)
        self.centers = centers - self.origin
        self.variance = float(self.weights @ np.square(centers - self.mean).sum(axis=1))
        self.effects = self.centers if aggregator == "sum" else _logarithms(centers)

    @property
    def n_cells(self) -> int:
        """Number of cells of the grid."""
        return int(np.prod(self.sizes))

    @property
    def predicts_gains(self) -> bool:
        """Whether the gain of a swap is known exactly: sums, all cells filled, equal weights."""
        full = len(self.centers) == self.n_cells and np.ptp(self.weights) == 0
        return full and self.aggregator == "sum"

    def _on_grid(
        self, cells: NDArray[np.int64], rows: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Rows and weights by cell; empty cells have weight zero."""
        targets, masses = np.zeros((self.n_cells, rows.shape[1])), np.zeros(self.n_cells)
        targets[cells], masses[cells] = rows, self.weights
        return targets, masses

    def fit(
        self,
        cells: NDArray[np.int64],
        protocentroids: Sequence[NDArray[np.float64]],
        more_starts: bool = False,
    ) -> tuple[list[NDArray[np.float64]], float]:
        """Best protocentroids for these cells, and their error.

        Parameters
        ----------
        cells : ndarray of shape (k,)
        protocentroids : sequence of ndarrays
            Where to start.
        more_starts : bool, default=False
            Whether to fit products from other starts, too, and keep the best for each feature:
            they have many local optima.

        Returns
        -------
        protocentroids : list of ndarrays
        error : float
        """
        targets, masses = self._on_grid(cells, self.centers)
        if self.aggregator == "sum":
            fitted = fit_additive(targets, masses, protocentroids)
        else:
            sums = masses[:, None] * targets
            fitted = fit_multiplicative(sums, masses, protocentroids)
            if more_starts:
                ones = [np.ones_like(theta) for theta in fitted]
                for start in (_leading_vectors(targets, self.sizes), ones):
                    other = fit_multiplicative(sums, masses, start)
                    better = self._errors(other, cells) < self._errors(fitted, cells)
                    fitted = [np.where(better, new, old) for new, old in zip(other, fitted)]
        return fitted, float(self._errors(fitted, cells).sum())

    def _errors(
        self, protocentroids: Sequence[NDArray[np.float64]], cells: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Squared error of each feature."""
        missed = self.centers - combine(protocentroids, self.aggregator)[cells]
        return self.weights @ np.square(missed)

    def start(self, cells: NDArray[np.int64]) -> list[NDArray[np.float64]]:
        """Protocentroids to start from: the best ones for the effects in these cells."""
        targets, masses = self._on_grid(cells, self.effects)
        zeros = [np.zeros((size, targets.shape[1])) for size in self.sizes]
        fitted = fit_additive(targets, masses, zeros)
        return fitted if self.aggregator == "sum" else [np.exp(theta) for theta in fitted]

    def nearest_cells(self, sets: Sequence[NDArray[np.float64]]) -> NDArray[np.int64]:
        """Cells of least total error for protocentroids whose sums approximate the effects."""
        gaps = squared_distances(self.effects, combine(sets, "sum"))
        return match(self.weights[:, None] * gaps, None)

    def match(
        self, protocentroids: Sequence[NDArray[np.float64]], cells: NDArray[np.int64] | None
    ) -> NDArray[np.int64]:
        """Cells of least total error for given protocentroids; never worse than ``cells``."""
        grid = combine(protocentroids, self.aggregator)
        # Measured from the mean of the centroids, so that squares do not cancel.
        middle = self.mean - self.origin
        gaps = squared_distances(self.centers - middle, grid - middle)
        return match(self.weights[:, None] * gaps, cells)

    def trivial(self) -> Arrangement:
        """The solution for one set: the centroids, and their mean in surplus cells."""
        only = np.tile(self.mean - self.origin, (self.sizes[0], 1))
        only[: len(self.centers)] = self.centers
        return Arrangement([only], np.arange(len(self.centers)), 0.0, [0.0])

    def unit_of(self, q: int) -> float:
        """Factor that brings set q into the user's units: the first set of a product has them."""
        return self.unit if q == 0 or self.aggregator == "sum" else 1.0


def _logarithms(centers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Logarithms of absolute values, of which a product is a sum; small values are raised."""
    size = np.abs(centers)
    floor = _SMALLEST_FACTOR * np.sqrt(np.mean(size**2, axis=0))
    return np.log(np.maximum(size, np.where(floor > 0, floor, 1.0)))


def _leading_vectors(
    targets: NDArray[np.float64], sizes: Sequence[int]
) -> list[NDArray[np.float64]]:
    """Leading singular vector of each feature's grid along each set.

    For two sets and a grid without empty cells that is the best product.
    """
    grid = targets.reshape(*sizes, -1)
    sets = []
    for q, size in enumerate(sizes):
        flat = np.moveaxis(grid, (-1, q), (0, 1)).reshape(targets.shape[1], size, -1)
        sets.append(np.linalg.eigh(flat @ flat.transpose(0, 2, 1))[1][:, :, -1].T)
    return sets
