"""Runners, which hold the rows: all of them in memory with totals that are corrected, or blocks.

:class:`LocalRunner` keeps bounds, tables and sums from one iteration to the next. It is fast, and
what it keeps is private to it. :class:`BlockRunner` keeps nothing but labels: every iteration
labels each block from scratch and adds up its statistics. Both return the same bits.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from polymeans.codebooks.base import BaseCodebook
from polymeans.core.contracts import Rows
from polymeans.core.exact_sums import ExactSum
from polymeans.core.frame import MeasuredFrame
from polymeans.core.statistics import (
    CellStatistics,
    DeferredStatistics,
    GroupedStatistics,
    Statistics,
    rounded_mass,
)
from polymeans.engine.accounts import (
    Account,
    CellAccount,
    DeferredAccount,
    MarginalAccount,
    feature_rungs,
    rounded_features,
)
from polymeans.engine.accumulate import cell_statistics, marginal_statistics, mass_statistics
from polymeans.engine.assigner import Assigner
from polymeans.engine.assignment import make_assigner
from polymeans.engine.blocks import Block, DenseBlock, SparseBlock
from polymeans.engine.changes import Change
from polymeans.engine.distances import (
    distances_apart,
    inertia_in_user_units,
    own_distances,
)
from polymeans.engine.nearest import decide_contested
from polymeans.engine.numerator_account import NumeratorAccount
from polymeans.engine.prepared import Source
from polymeans.engine.products import ScatterProducts
from polymeans.engine.survey import measure

if TYPE_CHECKING:
    from polymeans.engine.journal import Journal


class BaseRunner(ABC):
    """What both runners share: rows by their numbers, and what is asked of all rows at the end."""

    frame: MeasuredFrame
    blocks: Sequence[Block]
    #: What can be asked of it beyond labels and totals.
    provides: frozenset[str] = frozenset({"feature_sums"})
    #: Where descents over these rows are recorded, so that a later fit can go on with them.
    journal: "Journal | None" = None
    _labels: list[NDArray[np.int32]]  #: of each block
    _previous: list[NDArray[np.int32]]  #: the same before the last assignment

    @abstractmethod
    def begin(self, codebook: BaseCodebook, algorithm: str = "auto") -> None:
        """Forget all labels: a descent starts."""

    @abstractmethod
    def assign(self, codebook: BaseCodebook) -> None:
        """Give each row its nearest centroid."""

    @abstractmethod
    def add_up(self) -> Statistics:
        """Statistics of the present labels."""

    @abstractmethod
    def relabel(self, rows: NDArray[np.int64], labels: NDArray[np.int32]) -> None:
        """Give some rows other labels."""

    @abstractmethod
    def follow(self, codebook: BaseCodebook, drift: NDArray[np.float64]) -> None:
        """The codebook was refitted."""

    @abstractmethod
    def confirm(self, explicit: BaseCodebook) -> None:
        """Correct the labels for the explicit form of the codebook they were assigned for."""

    @abstractmethod
    def end(self) -> None:
        """Let go of what only a descent needs; the labels stay."""

    @property
    def n_moved(self) -> int:
        """Rows whose label is another one than before the last assignment."""
        return sum(
            int(np.count_nonzero(now != before))
            for now, before in zip(self._labels, self._previous)
        )

    @property
    def weights(self) -> NDArray[np.float64]:
        """Of all rows, in order."""
        return _joined([block.weights for block in self.blocks])

    @property
    def n_stored(self) -> int:
        """Entries of all rows."""
        return sum(block.n_stored for block in self.blocks)

    def labels(self) -> NDArray[np.int32]:
        """The label of every row, in order."""
        for block, labels in zip(self.blocks, self._labels):
            labels[block.directionless] = 0
        return _joined(self._labels)

    def measure(self, codebook: BaseCodebook) -> float:
        """Weighted squared distances of all rows to their centroids."""
        total = ExactSum()
        for block, labels in zip(self.blocks, self._labels):
            total += ExactSum.of(own_distances(block, codebook, labels), block.weights)
        return float(total)

    def measure_in_user_units(self, codebook: BaseCodebook) -> float:
        """The same in the user's units; infinite only if it is there."""
        return inertia_in_user_units(self.blocks, codebook, self._labels, self.measure(codebook))

    def farthest(
        self, codebook: BaseCodebook, n_rows: int
    ) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int32]]:
        """Numbers, squared distances and labels of the rows farthest from their centroids."""
        found = []
        for block, own in zip(self.blocks, self._labels):
            apart = distances_apart(block, codebook, own)
            n_wanted = min(len(apart), n_rows)
            # All of equal distance to the last one, so that numbers can decide among them.
            least = -np.partition(-apart, n_wanted - 1)[n_wanted - 1]
            chosen = np.flatnonzero(apart >= least)
            chosen = chosen[np.argsort(-apart[chosen], kind="stable")[:n_wanted]]
            found.append((block.first + chosen, apart[chosen], own[chosen]))
        rows, distances, labels = (_joined(list(parts)) for parts in zip(*found))
        order = np.lexsort((rows, -distances))[:n_rows]
        return rows[order], distances[order], labels[order]

    def take(self, rows: NDArray[np.integer]) -> NDArray[Any]:
        """Some rows by global number, as an array in engine coordinates."""
        return self._gather(rows, lambda block, inside: block.dense_rows(inside))

    def rows_at(self, rows: NDArray[np.integer]) -> Rows:
        """The same in their own container."""
        return self._gather(rows, lambda block, inside: block.rows_at(inside))

    def matrix(self) -> Rows:
        """All rows, in engine coordinates."""
        return _stacked([block.matrix() for block in self.blocks])

    def norms_of(self, rows: NDArray[np.integer]) -> NDArray[np.float64]:
        """Norms of some rows by global number, about the frame's origin."""
        return self._gather(rows, lambda block, inside: block.norms[inside])

    def masses(self, labels: NDArray[np.int32], n_clusters: int) -> NDArray[np.float64]:
        """Weight of the rows of each cluster under some labels, rounded once."""
        total = np.zeros((n_clusters, self.frame.mass_ladder.n_rungs))
        for block in self.blocks:
            own = labels[block.first : block.first + block.n_samples]
            total += mass_statistics(block, own, n_clusters)[1]
        return rounded_mass(total)

    def statistics_of(self, labels: NDArray[np.int32], codebook: BaseCodebook) -> Any:
        """Totals of all rows under some labels, of the kind a codebook needs."""
        self.begin(codebook)
        for block, own in zip(self.blocks, self._labels):
            own[:] = labels[block.first : block.first + block.n_samples]
        return self.add_up()

    def release(self) -> None:
        """Let go of what only seeding needs."""
        for block in self.blocks:
            block.release()

    def _gather(self, rows: NDArray[np.integer], pick: Callable[[Block, NDArray], Rows]) -> Rows:
        rows = np.asarray(rows)
        if len(self.blocks) == 1:
            return pick(self.blocks[0], rows)
        parts, places = [], []
        for block in self.blocks:
            inside = np.flatnonzero((rows >= block.first) & (rows < block.first + block.n_samples))
            if len(inside):
                parts.append(pick(block, rows[inside] - block.first))
                places.append(inside)
        back = np.argsort(np.concatenate(places), kind="stable")
        return _stacked(parts)[back]

    def _start_labels(self) -> None:
        self._labels = [np.full(block.n_samples, -1, dtype=np.int32) for block in self.blocks]
        self._previous = [labels.copy() for labels in self._labels]


class LocalRunner(BaseRunner):
    """All rows in memory, in one block.

    Parameters
    ----------
    X : ndarray or CSR of shape (n_samples, n_features)
    weights : ndarray of shape (n_samples,)
    spherical : bool, default=False
        Cluster directions.
    largest_center : float, default=0
        Largest coordinate of centroids that will be met, if they come from outside.
    unit_of : {"typical", "largest"}, default="typical"
        Which entries extreme rows are measured in, see :func:`polymeans.engine.survey.measure`.
    """

    provides = frozenset({"feature_sums", "products"})

    def __init__(
        self,
        X: Rows,
        weights: NDArray[np.float64],
        spherical: bool = False,
        largest_center: float = 0.0,
        unit_of: Literal["typical", "largest"] = "typical",
    ) -> None:
        self.frame, blocks = measure([(X, weights)], spherical, largest_center, unit_of)
        self.blocks = blocks
        self.block: Block = blocks[0]

    def products(self) -> ScatterProducts:
        """The scatter ``X' D X`` of all rows, to multiply with."""
        return ScatterProducts(self.block.matrix(), self.block.weights)

    def begin(self, codebook: BaseCodebook, algorithm: str = "auto") -> None:
        """Forget all labels: a descent starts."""
        self._start_labels()
        self._assigner: Assigner = make_assigner(self.block, codebook, algorithm)
        self._account: Account = _account(self.block, codebook)
        self._change: Change | None = None
        self._unmoved: NDArray[np.int32] | None = None  #: labels before rows were relocated

    def assign(self, codebook: BaseCodebook) -> None:
        """Give each row its nearest centroid."""
        self._previous, self._labels = self._labels, self._previous
        self._assigner.assign(codebook, self._previous[0], self._labels[0])
        self._assigner.forget(decide_contested(self.block, codebook, self._labels[0]))

    def add_up(self) -> Statistics:
        """Statistics of the present labels."""
        labels = self._labels[0]
        known = self._previous[0] if self._unmoved is None else self._unmoved
        change = self._account.update(known, labels)
        self._unmoved = None
        statistics = self._account.statistics
        if self._change is not None:  # nothing was refitted since the last time
            n_moved = int(np.count_nonzero(self._previous[0] != labels))
            change = self._change.followed_by(change, n_moved)
            if isinstance(statistics, CellStatistics | GroupedStatistics):
                # Not those that a row was moved into and out of again.
                statistics.touch(
                    changed_clusters(self._previous, self._labels, len(statistics.counts))
                )
        self._change = change
        return statistics

    @property
    def n_moved(self) -> int:
        """Rows whose label is another one than before the last assignment."""
        return super().n_moved if self._change is None else self._change.n_moved

    def relabel(self, rows: NDArray[np.int64], labels: NDArray[np.int32]) -> None:
        """Give some rows other labels."""
        self._unmoved = self._labels[0].copy()
        self._labels[0][rows] = labels
        self._assigner.forget(rows)

    def follow(self, codebook: BaseCodebook, drift: NDArray[np.float64]) -> None:
        """The codebook was refitted."""
        change = self._change
        if codebook.entangled or change is None:
            change = Change.of_everything(self.n_moved, codebook.n_clusters)
        self._assigner.follow(codebook, change, drift)
        self._change = None

    def confirm(self, explicit: BaseCodebook) -> None:
        """Correct the labels for the explicit form of the codebook they were assigned for."""
        self._assigner.confirm(explicit, self._labels[0])
        decide_contested(self.block, explicit, self._labels[0])

    def end(self) -> None:
        """Let go of bounds, tables and sums; the labels stay."""
        del self._assigner, self._account


class BlockRunner(BaseRunner):
    """Rows in several blocks, each labelled and added up anew in every iteration.

    Parameters
    ----------
    sources : sequence of (rows, weights)
        Of the same kind, width and dtype.
    spherical : bool, default=False
        Cluster directions.
    largest_center : float, default=0
        Largest coordinate of centroids that will be met, if they come from outside.
    unit_of : {"typical", "largest"}, default="typical"
        Which entries extreme rows are measured in, see :func:`polymeans.engine.survey.measure`.
    """

    def __init__(
        self,
        sources: Sequence[Source],
        spherical: bool = False,
        largest_center: float = 0.0,
        unit_of: Literal["typical", "largest"] = "typical",
    ) -> None:
        self.frame, self.blocks = measure(sources, spherical, largest_center, unit_of)

    def begin(self, codebook: BaseCodebook, algorithm: str = "auto") -> None:
        """Forget all labels: a descent starts."""
        self._start_labels()
        self._needs, self._sizes = codebook.needs, codebook.sizes
        self._n_clusters = codebook.n_clusters
        self._refitted_for = [labels.copy() for labels in self._labels]

    def assign(self, codebook: BaseCodebook) -> None:
        """Give each row its nearest centroid."""
        self._previous, self._labels = self._labels, self._previous
        for block, before, labels in zip(self.blocks, self._previous, self._labels):
            np.copyto(labels, before)
            make_assigner(block, codebook, "lloyd").assign(codebook, labels, labels)
            decide_contested(block, codebook, labels)

    def add_up(self) -> Statistics:
        """Statistics of the present labels."""
        if self._needs == "deferred":
            return self._deferred()
        square = self.frame.total_square
        parts: list[Any] = []
        for block, labels in zip(self.blocks, self._labels):
            if self._needs == "marginals":
                parts.append(marginal_statistics(block, labels, self._sizes, square))
            else:
                parts.append(cell_statistics(block, labels, self._n_clusters, square))
        total = parts[0]
        for part in parts[1:]:
            total = total + part
        if self._needs == "cells":
            total.touch(changed_clusters(self._refitted_for, self._labels, self._n_clusters))
        return total

    def relabel(self, rows: NDArray[np.int64], labels: NDArray[np.int32]) -> None:
        """Give some rows other labels."""
        for block, own in zip(self.blocks, self._labels):
            inside = (rows >= block.first) & (rows < block.first + block.n_samples)
            own[rows[inside] - block.first] = labels[inside]

    def follow(self, codebook: BaseCodebook, drift: NDArray[np.float64]) -> None:
        """The codebook was refitted: keep the labels for which."""
        self._refitted_for = [labels.copy() for labels in self._labels]

    def confirm(self, explicit: BaseCodebook) -> None:
        """Correct the labels for the explicit form of the codebook they were assigned for."""
        for block, labels in zip(self.blocks, self._labels):
            make_assigner(block, explicit, "lloyd").assign(explicit, labels, labels)
            decide_contested(block, explicit, labels)

    def end(self) -> None:
        """Let go of the labels of the last refit."""
        self._refitted_for = []

    def _deferred(self) -> DeferredStatistics:
        blocks = [block for block in self.blocks if isinstance(block, DenseBlock)]
        labels = [own.copy() for own in self._labels]
        found = [mass_statistics(*pair, self._n_clusters) for pair in zip(blocks, labels)]
        counts = np.sum([counts for counts, _ in found], axis=0)
        # Exact, so in any order.
        mass = np.sum([rungs for _, rungs in found], axis=0)

        def feature_sums(first: int, last: int) -> NDArray[np.float64]:
            rungs = np.zeros((self._n_clusters, self.frame.ladder.n_rungs, last - first))
            for block, own in zip(blocks, labels):
                rungs += feature_rungs(block, own, self._n_clusters, first, last)
            return rounded_features(self.frame, rungs, rounded_mass(mass), first, last)

        return DeferredStatistics(self.frame, self.frame.total_square, counts, mass, feature_sums)


def changed_clusters(
    before: list[NDArray[np.int32]], now: list[NDArray[np.int32]], n_clusters: int
) -> NDArray[np.int64]:
    """Clusters that have gained or lost rows, by the labels of all blocks."""
    touched = np.zeros(n_clusters, dtype=bool)
    for old, new in zip(before, now):
        moved = old != new
        touched[new[moved]] = True
        touched[old[moved & (old >= 0)]] = True
    return np.flatnonzero(touched)


def _account(block: Block, codebook: BaseCodebook) -> Account:
    if codebook.needs == "marginals":
        return MarginalAccount(block, codebook.sizes)
    if codebook.needs == "cells":
        if codebook.cluster_by_cluster and NumeratorAccount.serves(block):
            assert isinstance(block, SparseBlock)
            return NumeratorAccount(block, codebook.n_clusters)
        return CellAccount(block, codebook.n_clusters)
    assert isinstance(block, DenseBlock)  # products of sparse rows are kept
    return DeferredAccount(block, codebook.n_clusters)


def _joined(parts: list[NDArray[Any]]) -> NDArray[Any]:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _stacked(parts: list[Rows]) -> Rows:
    if len(parts) == 1:
        return parts[0]
    return sp.vstack(parts, format="csr") if sp.issparse(parts[0]) else np.concatenate(parts)
