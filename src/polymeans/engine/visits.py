"""What is done with one block at a time: visitors for a placement, and what they return.

Each is a function of a block, of what is kept of it, and of arguments that can be sent; see
:class:`polymeans.engine.placement.Placement`.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymeans.codebooks.base import Centroids
from polymeans.core.exact_sums import ExactSum, Ladder
from polymeans.core.rows import Rows, stacked
from polymeans.core.statistics import CellStatistics
from polymeans.engine.accounts import feature_rungs
from polymeans.engine.accumulate import (
    MassTotals,
    Totals,
    cell_statistics,
    follow_rows,
    is_followed_by_rows,
    marginal_statistics,
    mass_statistics,
    move_rows,
    together,
    without,
)
from polymeans.engine.blocks import Block, DenseBlock
from polymeans.engine.distances import distances_apart, distances_in_user_units, own_distances
from polymeans.engine.in_turn import InTurn
from polymeans.engine.margins import label_open_rows
from polymeans.engine.placement import Kept
from polymeans.engine.prepared_blocks import block_of_some


@dataclass
class Pass:
    """What one visit of every block finds for a codebook: new labels, and their totals."""

    changes: "Changes"
    statistics: Totals | None  #: of the kind the codebook needs; None: they went into shared totals
    inertia: ExactSum | None  #: ``Σ w |x - v|²`` if it was asked for

    def __add__(self, other: "Pass") -> "Pass":
        inertia = None
        if self.inertia is not None and other.inertia is not None:
            inertia = self.inertia + other.inertia
        statistics = None
        if self.statistics is not None and other.statistics is not None:
            statistics = together(self.statistics, other.statistics)
        return Pass(self.changes + other.changes, statistics, inertia)


@dataclass
class Changes:
    """How many rows have other labels than before, and which clusters that concerns."""

    n_moved: int
    touched: NDArray[np.bool_]  #: (k,)

    def __add__(self, other: "Changes") -> "Changes":
        return Changes(self.n_moved + other.n_moved, self.touched | other.touched)


@dataclass
class FarRows:
    """The rows farthest from their centroids: by falling distance, then by number."""

    n_wanted: int
    numbers: NDArray[np.int64]
    distances: NDArray[np.float64]
    labels: NDArray[np.int32]
    weights: NDArray[np.float64]
    rows: Rows
    norms: NDArray[np.float64]
    inertia: ExactSum  #: ``Σ w |x - v|²`` of all rows, not only of these

    def __add__(self, other: "FarRows") -> "FarRows":
        numbers = np.concatenate([self.numbers, other.numbers])
        distances = np.concatenate([self.distances, other.distances])
        order = np.lexsort((numbers, -distances))[: self.n_wanted]
        return FarRows(
            self.n_wanted,
            numbers[order],
            distances[order],
            np.concatenate([self.labels, other.labels])[order],
            np.concatenate([self.weights, other.weights])[order],
            stacked([self.rows, other.rows])[order],
            np.concatenate([self.norms, other.norms])[order],
            self.inertia + other.inertia,
        )


# --- with the rows of a block ----------------------------------------------------------------


def assign_and_add_up(
    block: Block,
    kept: Kept,
    codebook: Centroids,
    measured: bool = False,
    corrected: bool = False,
    drift: NDArray[np.float64] | None = None,
    in_turn: InTurn | None = None,
) -> Pass:
    """Label a block's rows and add them up; if ``measured``, add up their distances too.

    If ``corrected``, statistics are what the totals of the labels before have to be corrected by.
    ``drift`` is how far the centroids went since the last visit, if that is known. Totals go into
    those of ``in_turn``, where visits of a pass share some.
    """
    before, n_clusters = kept.labels_or_none_yet(), codebook.n_clusters
    labels = label_open_rows(block, kept, codebook, drift, in_turn)
    kept.replace_labels(labels)
    inertia = own_inertia(block, kept, codebook) if measured else None
    if in_turn is not None:
        known = before if corrected else np.full_like(before, -1)
        move_rows(block, in_turn.totals, known, labels)
        return Pass(changes_between(before, labels, n_clusters), None, inertia)
    if codebook.needs == "cells":
        statistics = CellStatistics.empty(block.measured, n_clusters)
        if is_followed_by_rows(block, statistics):
            known = before if corrected else np.full_like(before, -1)
            found = Changes(*follow_rows(block, statistics, known, labels))
            changes = found if corrected else changes_between(before, labels, n_clusters)
            return Pass(changes, statistics, inertia)
    changes, wants = changes_between(before, labels, n_clusters), wants_of(codebook)
    if not corrected:
        return Pass(changes, totals_of(block, labels, *wants), inertia)
    moved = np.flatnonzero(before != labels)
    rows, norms = some_rows(block, kept, moved)
    few = block_of_some(rows, block.weights[moved], block.frame, norms)
    return Pass(changes, correction(few, before[moved], labels[moved], *wants), inertia)


def add_up(block: Block, kept: Kept, needs: str, sizes: tuple[int, ...]) -> Totals:
    """Statistics of the present labels."""
    return totals_of(block, kept.labels_or_none_yet(), needs, sizes)


def own_inertia(block: Block, kept: Kept, codebook: Centroids) -> ExactSum:
    """``Σ w |x - v|²`` under the present labels."""
    return ExactSum.of(own_distances(block, codebook, kept.labels_or_none_yet()), block.weights)


def own_inertia_in_user_units(block: Block, kept: Kept, codebook: Centroids) -> ExactSum:
    """The same where squares leave the range of float64 in the engine's units."""
    distances = distances_in_user_units(block, codebook, kept.labels_or_none_yet())
    return ExactSum.of(distances, block.weights)


def far_rows(block: Block, kept: Kept, codebook: Centroids, n_rows: int) -> FarRows:
    """A block's rows that are farthest from their centroids."""
    labels = kept.labels_or_none_yet()
    distances = own_distances(block, codebook, labels)
    apart = distances_apart(block, distances)
    n_wanted = min(len(apart), n_rows)
    # All of equal distance to the last one, so that numbers can decide among them.
    least = -np.partition(-apart, n_wanted - 1)[n_wanted - 1]
    chosen = np.flatnonzero(apart >= least)
    chosen = chosen[np.argsort(-apart[chosen], kind="stable")[:n_wanted]]
    return FarRows(
        n_rows,
        block.first + chosen,
        apart[chosen],
        labels[chosen],
        block.weights[chosen],
        block.rows_at(chosen),
        block.norms[chosen],
        ExactSum.of(distances, block.weights),
    )


def some_rows(
    block: Block, kept: Kept, inside: NDArray[np.int64]
) -> tuple[Rows, NDArray[np.float64]]:
    """Some rows in their own container, and their norms."""
    return block.rows_at(inside), block.norms[inside]


def sums_of_features(
    block: Block, kept: Kept, n_clusters: int, first: int, last: int
) -> NDArray[np.float64]:
    """Rungs of the clusters' sums of features first:last."""
    assert isinstance(block, DenseBlock)
    return feature_rungs(block, kept.labels_or_none_yet(), n_clusters, first, last)


# --- with what is kept of a block ------------------------------------------------------------


def forget_labels(kept: Kept) -> None:
    """A descent starts."""
    kept.labels = kept.previous = kept.gaps = None


def forget_bounds(kept: Kept) -> None:
    """A descent is over, and labels are about to be put together."""
    kept.previous = kept.gaps = None


def adopt_labels(kept: Kept, labels: NDArray[np.int32]) -> None:
    """Take labels from outside, as if no row had one before."""
    kept.labels, kept.previous, kept.gaps = labels.astype(np.int32), None, None


def change_labels(kept: Kept, inside: NDArray[np.int64], labels: NDArray[np.int32]) -> None:
    """Give some rows other labels."""
    kept.previous = kept.previous_labels()  # while it can be told from the present ones
    changed = kept.labels_or_none_yet().copy()
    changed[inside] = labels
    kept.labels = changed
    if kept.gaps is not None:
        kept.gaps = kept.gaps.copy()
        kept.gaps[..., inside] = -np.inf


def labels_of(kept: Kept) -> NDArray[np.int32]:
    """Labels as they are handed out: 0 for rows without a direction."""
    labels = kept.labels_or_none_yet()
    if kept.directionless is not None and len(kept.directionless):
        labels = labels.copy()
        labels[kept.directionless] = 0
    return labels


def weights_of(kept: Kept) -> NDArray[np.float64]:
    """Weights of a block's rows."""
    return kept.all_weights()


def changes_of(kept: Kept, n_clusters: int) -> Changes:
    """What the labels changed since the assignment before."""
    return changes_between(kept.previous_labels(), kept.labels_or_none_yet(), n_clusters)


def changes_between(
    before: NDArray[np.int32] | None, now: NDArray[np.int32], n_clusters: int
) -> Changes:
    """What changed from some labels to others; None: there were none."""
    touched = np.zeros(n_clusters, bool)
    if before is None:
        touched[now] = True
        return Changes(len(now), touched)
    moved = now != before
    touched[now[moved]] = True
    touched[before[moved & (before >= 0)]] = True
    return Changes(int(np.count_nonzero(moved)), touched)


def masses_of(kept: Kept, labels: NDArray[np.int32], ladder: Ladder, n_clusters: int) -> MassTotals:
    """Counts and masses of clusters under some labels."""
    return mass_statistics(kept.all_weights(), ladder, labels, n_clusters)


# --- shared ----------------------------------------------------------------------------------


def wants_of(codebook: Centroids) -> tuple[str, tuple[int, ...]]:
    """What a codebook needs summed, and how many vectors its sets have."""
    sizes = codebook.sizes if codebook.needs == "marginals" else (codebook.n_clusters,)
    return codebook.needs, sizes


def totals_of(
    block: Block, labels: NDArray[np.int32], needs: str, sizes: tuple[int, ...]
) -> Totals:
    """Statistics of a block's rows under some labels, of the kind that is needed."""
    frame = block.measured
    if needs == "marginals":
        return marginal_statistics(block, labels, sizes, frame.total_square)
    if needs == "cells":
        return cell_statistics(block, labels, sizes[0], frame.total_square)
    return mass_statistics(block.weights, frame.mass_ladder, labels, sizes[0])


def correction(
    block: Block,
    before: NDArray[np.int32],
    labels: NDArray[np.int32],
    needs: str,
    sizes: tuple[int, ...],
) -> Totals:
    """What totals change by if all rows of a block get other labels."""
    return without(totals_of(block, labels, needs, sizes), totals_of(block, before, needs, sizes))


def joined(parts: list[NDArray[Any]]) -> NDArray[Any]:
    """Arrays of all blocks as one; the array itself if there is only one."""
    return parts[0] if len(parts) == 1 else np.concatenate(parts)
