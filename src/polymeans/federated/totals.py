"""Statistics as integers: what a site adds up, in a form that may be masked and added by others.

Exact sums are whole multiples of the units of their ladder, so totals of all sites are sums of
integers. Sums of protocentroids travel as marginals, with the number of rows of each pair of them.
"""

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymeans.codebooks.base import BaseCodebook
from polymeans.core.exact_sums import ExactSum, Ladder
from polymeans.core.frame import MeasuredFrame
from polymeans.core.statistics import CellStatistics, MarginalStatistics, round_about_origin
from polymeans.engine.blocks import Block
from polymeans.engine.visits import totals_of, wants_of
from polymeans.federated.frames import exact_bins

#: Integers by name.
Totals = dict[str, NDArray[np.int64]]


@dataclass(frozen=True)
class Layout:
    """What is added up for a codebook: which integers, and what they mean.

    Parameters
    ----------
    needs : {"cells", "marginals"}
    sizes : tuple of int
        Vectors in each of the sets that centroids are combined from.
    frame : MeasuredFrame
    measured : bool
        With the inertia of the rows.
    """

    needs: str
    sizes: tuple[int, ...]
    frame: MeasuredFrame
    measured: bool = False

    @classmethod
    def of(cls, codebook: BaseCodebook, frame: MeasuredFrame, measured: bool = False) -> "Layout":
        """What a codebook needs."""
        needs, sizes = wants_of(codebook)
        if needs == "deferred":
            raise TypeError(
                "Products of protocentroids are only sent to sites if they are stored: pass "
                "store_centroids=True to the estimator."
            )
        return cls(needs, tuple(sizes), frame, measured)

    @property
    def n_cells(self) -> int:
        return int(np.prod(self.sizes))

    @property
    def n_vectors(self) -> int:
        """Sums of rows: one for each cluster, or for each protocentroid."""
        return sum(self.sizes)

    @property
    def by_pairs(self) -> bool:
        """Whether rows are counted for each pair of protocentroids and not for each centroid.

        Only where all rows weigh the same: pairs of weighted rows would be rounded otherwise than
        by a fit of all rows in one place.
        """
        return len(self.sizes) > 2 and self.frame.unweighted

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Names and shapes of the integers."""
        from polymeans.kernels.exact import N_BINS

        frame, k = self.frame, self.n_cells
        shapes: dict[str, tuple[int, ...]] = {}
        if self.by_pairs:
            shapes["pairs"] = (sum(a * b for a, b in combinations(self.sizes, 2)),)
        else:
            shapes["counts"] = (k,)
        if not frame.unweighted:
            shapes["mass"] = (k, frame.mass_ladder.n_rungs)
        shapes["sums"] = (self.n_vectors, frame.ladder.n_rungs, frame.n_used)
        shapes["square"] = (N_BINS,)
        if self.measured:
            shapes["inertia"] = (N_BINS,)
        return shapes


def totals_of_rows(
    layout: Layout, block: Block, labels: NDArray[np.int32], distances: NDArray[np.float64] | None
) -> Totals:
    """What the rows of a block add up to under some labels.

    ``distances`` are those of the rows to their centroids, if the layout is measured.
    """
    frame, totals = layout.frame, {}
    statistics: Any = totals_of(block, labels, layout.needs, layout.sizes)
    if layout.by_pairs:
        totals["pairs"] = _pair_counts(statistics.counts, layout.sizes)
    else:
        totals["counts"] = statistics.counts
    if not frame.unweighted:
        totals["mass"] = _as_integers(statistics.mass_rungs, frame.mass_ladder, axis=1)
    totals["sums"] = _as_integers(statistics.rungs, frame.ladder, axis=1)
    totals["square"] = exact_bins(ExactSum.of(block.norms * block.norms, block.weights))
    if distances is not None:
        totals["inertia"] = exact_bins(ExactSum.of(distances, block.weights))
    return totals


def members_of(layout: Layout, totals: Totals) -> NDArray[np.int64]:
    """Rows of positive weight of each vector whose rows are summed."""
    if layout.needs == "cells":
        return totals["counts"]
    if not layout.by_pairs:
        return marginal(totals["counts"].reshape(layout.sizes))
    sizes, tables = layout.sizes, _pair_tables(totals["pairs"], layout.sizes)
    first = [tables[q, q + 1].sum(axis=1) for q in range(len(sizes) - 1)]
    return np.concatenate([*first, tables[len(sizes) - 2, len(sizes) - 1].sum(axis=0)])


def statistics_of(layout: Layout, totals: Totals) -> Any:
    """Statistics for a codebook's refit."""
    frame = layout.frame
    square = float(ExactSum(totals["square"].copy()))
    rungs = _as_rungs(totals["sums"], frame.ladder)
    if layout.by_pairs:
        members, tables = members_of(layout, totals), _pair_tables(totals["pairs"], layout.sizes)
        return PairStatistics(frame, square, layout.sizes, members, rungs, tables)
    counts = totals["counts"]
    if frame.unweighted:
        mass_rungs = np.zeros((len(counts), frame.mass_ladder.n_rungs))
        mass_rungs[:, 0] = counts
    else:
        mass_rungs = _as_rungs(totals["mass"], frame.mass_ladder)
    if layout.needs == "marginals":
        return MarginalStatistics(frame, square, layout.sizes, counts, mass_rungs, rungs)
    return CellStatistics(frame, square, counts, mass_rungs, rungs, np.arange(len(counts)))


@dataclass
class PairStatistics:
    """What sums of protocentroids need: rows of each pair of them, and the sum of each one's."""

    frame: MeasuredFrame
    total_square: float
    sizes: tuple[int, ...]
    counts: NDArray[np.int64]  #: (h_1 + ... + h_p,) rows of each protocentroid
    rungs: NDArray[np.float64]
    tables: dict[tuple[int, int], NDArray[np.int64]]

    def pair_masses(self) -> NDArray[np.float64]:
        """Mass that protocentroids share, two by two."""
        system = np.diag(self.counts.astype(np.float64))
        starts = np.concatenate([[0], np.cumsum(self.sizes)])
        for (q, r), table in self.tables.items():
            system[starts[q] : starts[q + 1], starts[r] : starts[r + 1]] = table
            system[starts[r] : starts[r + 1], starts[q] : starts[q + 1]] = table.T
        return system

    @property
    def sums(self) -> NDArray[np.float64]:
        """``Σ w (x - o)`` of each protocentroid's rows, o the frame's origin, rounded once."""
        out, every = np.empty((len(self.rungs), self.rungs.shape[2])), np.arange(len(self.rungs))
        round_about_origin(self.frame, self.rungs, self.counts.astype(np.float64), every, out)
        return out


def _as_integers(rungs: NDArray[np.float64], ladder: Ladder, axis: int) -> NDArray[np.int64]:
    units = np.array(ladder.units).reshape((-1,) + (1,) * (rungs.ndim - axis - 1))
    return (rungs / units).astype(np.int64)


def _as_rungs(integers: NDArray[np.int64], ladder: Ladder) -> NDArray[np.float64]:
    units = np.array(ladder.units).reshape((-1,) + (1,) * (integers.ndim - 2))
    return integers.astype(np.float64) * units


def marginal(cells: NDArray[np.int64]) -> NDArray[np.int64]:
    """Rows of each protocentroid from those of their combinations."""
    axes = range(cells.ndim)
    return np.concatenate([cells.sum(axis=tuple(a for a in axes if a != q)) for q in axes])


def _pair_counts(counts: NDArray[np.int64], sizes: tuple[int, ...]) -> NDArray[np.int64]:
    cells, axes = counts.reshape(sizes), range(len(sizes))
    tables = [
        cells.sum(axis=tuple(a for a in axes if a not in pair)) for pair in combinations(axes, 2)
    ]
    return np.concatenate([table.ravel() for table in tables])


def _pair_tables(
    pairs: NDArray[np.int64], sizes: tuple[int, ...]
) -> dict[tuple[int, int], NDArray[np.int64]]:
    tables, first = {}, 0
    for q, r in combinations(range(len(sizes)), 2):
        n = sizes[q] * sizes[r]
        tables[q, r] = pairs[first : first + n].reshape(sizes[q], sizes[r])
        first += n
    return tables
