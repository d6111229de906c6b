"""Centroids placed in the cells of a grid, and the protocentroids that fit them best there."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polymeans.codebooks.additive import fit_additive
from polymeans.codebooks.aggregation import combine
from polymeans.codebooks.multiplicative import fit_multiplicative
from polymeans.grids.matching import match, squared_distances


@dataclass(eq=False)
class Arrangement:
    """A grid, where the centroids are in it, and what it misses."""

    protocentroids: list[NDArray[np.float64]]
    cells: NDArray[np.int64]
    error: float
    history: list[float]


class GridFit:
    """Centroids that count, in units in which squares neither overflow nor cancel."""

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
        # A sum may be measured from anywhere; a product only from zero.
        self.origin = self.mean if aggregator == "sum" else np.zeros_like(self.mean)
        self.centers = centers - self.origin
        self.variance = float(self.weights @ np.square(centers - self.mean).sum(axis=1))
        self.effects = self.centers if aggregator == "sum" else _logarithms(centers)

    @property
    def n_cells(self) -> int:
        return int(np.prod(self.sizes))

    @property
    def forecast_is_exact(self) -> bool:
        full = len(self.centers) == self.n_cells and np.ptp(self.weights) == 0
        return full and self.aggregator == "sum"

    def _on_grid(
        self, cells: NDArray[np.int64], rows: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        targets, masses = np.zeros((self.n_cells, rows.shape[1])), np.zeros(self.n_cells)
        targets[cells], masses[cells] = rows, self.weights
        return targets, masses

    def fit(
        self,
        cells: NDArray[np.int64],
        protocentroids: Sequence[NDArray[np.float64]],
        anew: bool = False,
    ) -> tuple[list[NDArray[np.float64]], float]:
        """Best protocentroids for these cells, and their error.

        Products have many optima, feature by feature; ``anew`` looks for better ones elsewhere.
        """
        targets, masses = self._on_grid(cells, self.centers)
        if self.aggregator == "sum":
            fitted = fit_additive(targets, masses, protocentroids)
        else:
            sums = masses[:, None] * targets
            fitted = fit_multiplicative(sums, masses, protocentroids)
            if anew:
                ones = [np.ones_like(theta) for theta in fitted]
                for start in (_leading_vectors(targets, self.sizes), ones):
                    other = fit_multiplicative(sums, masses, start)
                    better = self._errors(other, cells) < self._errors(fitted, cells)
                    fitted = [np.where(better, new, old) for new, old in zip(other, fitted)]
        return fitted, float(self._errors(fitted, cells).sum())

    def _errors(
        self, protocentroids: Sequence[NDArray[np.float64]], cells: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Error of each feature."""
        missed = self.centers - combine(protocentroids, self.aggregator)[cells]
        return self.weights @ np.square(missed)

    def start(self, cells: NDArray[np.int64]) -> list[NDArray[np.float64]]:
        """Protocentroids to begin with: what the effects say about these cells."""
        targets, masses = self._on_grid(cells, self.effects)
        zeros = [np.zeros((size, targets.shape[1])) for size in self.sizes]
        fitted = fit_additive(targets, masses, zeros)
        return fitted if self.aggregator == "sum" else [np.exp(theta) for theta in fitted]

    def nearest_cells(self, sets: Sequence[NDArray[np.float64]]) -> NDArray[np.int64]:
        """Matching of the effects with the grid of protocentroids of effects."""
        gaps = squared_distances(self.effects, combine(sets, "sum"))
        return match(self.weights[:, None] * gaps, None)

    def match(
        self, protocentroids: Sequence[NDArray[np.float64]], cells: NDArray[np.int64] | None
    ) -> NDArray[np.int64]:
        """Cells of least total error for given protocentroids, no worse than the present ones."""
        grid = combine(protocentroids, self.aggregator)
        # About their mean, so that the squares do not cancel.
        middle = self.mean - self.origin
        gaps = squared_distances(self.centers - middle, grid - middle)
        return match(self.weights[:, None] * gaps, cells)

    def trivial(self) -> Arrangement:
        """One set: every centroid is a protocentroid, surplus ones are their mean."""
        only = np.tile(self.mean - self.origin, (self.sizes[0], 1))
        only[: len(self.centers)] = self.centers
        return Arrangement([only], np.arange(len(self.centers)), 0.0, [0.0])

    def unit_of(self, q: int) -> float:
        return self.unit if q == 0 or self.aggregator == "sum" else 1.0


def _logarithms(centers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Logarithms of absolute values, in which a product is a sum; values near zero are lifted."""
    size = np.abs(centers)
    floor = 1e-3 * np.sqrt(np.mean(size**2, axis=0))
    return np.log(np.maximum(size, np.where(floor > 0, floor, 1.0)))


def _leading_vectors(
    targets: NDArray[np.float64], sizes: Sequence[int]
) -> list[NDArray[np.float64]]:
    """Leading singular vector of each feature's grid along each set: its best product if full."""
    grid = targets.reshape(*sizes, -1)
    sets = []
    for q, size in enumerate(sizes):
        flat = np.moveaxis(grid, (-1, q), (0, 1)).reshape(targets.shape[1], size, -1)
        sets.append(np.linalg.eigh(flat @ flat.transpose(0, 2, 1))[1][:, :, -1].T)
    return sets
