"""Runners, which hold the rows: all of them in memory with totals that are corrected, or blocks.

:class:`LocalRunner` keeps bounds, tables and sums from one iteration to the next. It is fast, and
what it keeps is private to it. :class:`~polymeans.engine.block_runner.BlockRunner` keeps labels and
a bound or two for each row: every iteration visits each block once. Both return the same bits.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from polymeans.codebooks.base import BaseCodebook, Centroids, Kind
from polymeans.codebooks.dense import DenseCodebook
from polymeans.core.exact_sums import ExactSum
from polymeans.core.frame import MeasuredFrame
from polymeans.core.rows import Rows, is_csr, stacked
from polymeans.core.statistics import (
    CellStatistics,
    GroupedStatistics,
    Statistics,
    rounded_mass,
)
from polymeans.engine import visits
from polymeans.engine.accounts import (
    Account,
    CellAccount,
    DeferredAccount,
    MarginalAccount,
)
from polymeans.engine.accumulate import MassTotals
from polymeans.engine.assigner import Assigner
from polymeans.engine.assignment import make_assigner
from polymeans.engine.blocks import Block, DenseBlock, SparseBlock
from polymeans.engine.changes import Change
from polymeans.engine.digests import digest
from polymeans.engine.distances import is_in_range
from polymeans.engine.nearest import decide_contested
from polymeans.engine.numerator_account import NumeratorAccount
from polymeans.engine.placement import Held, Placement, find_rows, first_rows, pieces
from polymeans.engine.prepared import UnitOf
from polymeans.engine.products import ScatterProducts
from polymeans.engine.small_descent import SmallDescent, Stretch
from polymeans.engine.survey import measure

if TYPE_CHECKING:
    from polymeans.engine.journal import Journal

#: Rows that have to be the same ones, at the same places, for a recorded fit to go on.
_WITNESSES = 16

#: Statistics that a codebook is refitted from.
Needed = TypeVar("Needed", bound=Statistics)


@dataclass
class KnownRows:
    """Some rows that were brought here in a visit, so that they need not be asked for again."""

    numbers: NDArray[np.int64]  #: rising
    rows: Rows
    norms: NDArray[np.float64]

    def find(self, rows: NDArray[np.integer]) -> NDArray[np.int64] | None:
        """Where some rows are; None unless all of them are here."""
        places = np.searchsorted(self.numbers, rows)
        places = np.minimum(places, len(self.numbers) - 1)
        return places if (self.numbers[places] == rows).all() else None


class BaseRunner(ABC):
    """What both runners share: rows by their numbers, and what is asked of all rows at the end."""

    frame: MeasuredFrame
    placement: Placement
    #: What can be asked of it beyond labels and totals.
    provides: frozenset[str] = frozenset({"feature_sums", "masses"})
    #: Where descents over these rows are recorded, so that a later fit can go on with them.
    journal: "Journal | None" = None
    _known: KnownRows | None = None

    @abstractmethod
    def begin(self, codebook: Centroids, algorithm: str = "auto") -> None:
        """Forget all labels: a descent starts."""

    @abstractmethod
    def assign(self, codebook: Centroids) -> None:
        """Give each row its nearest centroid."""

    @abstractmethod
    def add_up(self) -> Statistics:
        """Statistics of the present labels."""

    def several(self, codebook: Centroids, n_steps: int, tol: float) -> Stretch | None:
        """Some iterations in one call, at most so many; None if each has to be done by itself."""
        return None

    @abstractmethod
    def adopt(self, labels: NDArray[np.int32], codebook: Centroids) -> None:
        """Begin, and give all rows labels from outside."""

    @abstractmethod
    def relabel(self, rows: NDArray[np.int64], labels: NDArray[np.int32]) -> None:
        """Give some rows other labels."""

    @abstractmethod
    def follow(self, codebook: Centroids, drift: NDArray[np.float64]) -> None:
        """The codebook was refitted."""

    @abstractmethod
    def conclude(self, codebook: Kind, settled: bool) -> Kind:
        """Give each row its label for the codebook's explicit form, which is returned.

        ``settled``: rows have the labels for the codebook already.
        """

    @abstractmethod
    def end(self) -> None:
        """Let go of what only a descent needs; the labels stay."""

    @property
    @abstractmethod
    def n_moved(self) -> int:
        """Rows whose label is another one than before the last assignment."""

    @property
    def weights(self) -> NDArray[np.float64]:
        """Of all rows, in order."""
        return visits.joined(self.placement.recall(visits.weights_of))

    @property
    def n_stored(self) -> int:
        """Entries of all rows."""
        return self.frame.n_stored

    def labels(self) -> NDArray[np.int32]:
        """The label of every row, in order."""
        return visits.joined(self.placement.recall(visits.labels_of))

    def measure(self, codebook: Centroids) -> float:
        """Weighted squared distances of all rows to their centroids."""
        return float(self._inertia(codebook))

    def _inertia(self, codebook: Centroids) -> ExactSum:
        return self.placement.reduce(visits.own_inertia, codebook)

    def measure_in_user_units(self, codebook: Centroids) -> float:
        """The same in the user's units; infinite only if it is there."""
        measured = self.measure(codebook)
        if is_in_range(self.frame, measured):
            return self.frame.to_user(measured)
        total = self.placement.reduce(visits.own_inertia_in_user_units, codebook)
        return float(total) * self.frame.weight_unit

    def farthest(
        self, codebook: Centroids, n_rows: int
    ) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int32]]:
        """Numbers, squared distances and labels of the rows farthest from their centroids."""
        found = self._far_rows(codebook, n_rows)
        return found.numbers, found.distances, found.labels

    def _far_rows(self, codebook: Centroids, n_rows: int) -> visits.FarRows:
        return self.placement.reduce(visits.far_rows, codebook, n_rows)

    def take(self, rows: NDArray[np.integer]) -> NDArray[Any]:
        """Some rows by global number, as an array in engine coordinates."""
        some = self.rows_at(rows)
        return some.toarray().astype(np.float64) if is_csr(some) else some

    def rows_at(self, rows: NDArray[np.integer]) -> Rows:
        """The same in their own container."""
        return self.rows_and_norms(rows)[0]

    def rows_and_norms(self, rows: NDArray[np.integer]) -> tuple[Rows, NDArray[np.float64]]:
        """Some rows by global number, and their norms about the frame's origin."""
        rows = np.asarray(rows, dtype=np.int64)
        if self._known is not None:
            places = self._known.find(rows)
            if places is not None:
                return self._known.rows[places], self._known.norms[places]
        if len(self.placement.sizes) == 1 or len(rows) == 0:
            return self.placement.map(visits.some_rows, per_block=[(rows,)], only=[0])[0]
        blocks, places_of = find_rows(self.placement, rows)
        firsts = first_rows(self.placement.sizes)
        own = [(rows[inside] - firsts[block],) for block, inside in zip(blocks, places_of)]
        parts = self.placement.map(visits.some_rows, per_block=own, only=blocks)
        back = np.argsort(np.concatenate(places_of), kind="stable")
        found, norms = zip(*parts)
        return stacked(list(found))[back], np.concatenate(norms)[back]

    def order_digest(self) -> str:
        """What tells these rows from the same ones in another order, as far as a few of them do."""
        n_samples = self.frame.n_samples
        some = self.rows_at(np.unique(np.linspace(0, n_samples - 1, _WITNESSES).astype(np.int64)))
        return digest(some)

    def remember(self, known: KnownRows | None) -> None:
        """Have some rows at hand until others are, or :meth:`release` is called."""
        self._known = known

    def masses(self, labels: NDArray[np.int32], n_clusters: int) -> NDArray[np.float64]:
        """Weight of the rows of each cluster under some labels, rounded once."""
        if self.frame.unweighted and len(labels) == self.frame.n_samples:
            return np.bincount(labels, minlength=n_clusters).astype(np.float64)
        return rounded_mass(self.mass_totals(labels, n_clusters).rungs)

    def mass_totals(self, labels: NDArray[np.int32], n_clusters: int) -> MassTotals:
        """Rows of positive weight and mass of each cluster under some labels: reads no rows."""
        own = pieces(self.placement, labels)
        ladder = self.frame.mass_ladder
        found = self.placement.recall(visits.masses_of, ladder, n_clusters, per_block=own)
        return sum(found[1:], found[0])

    def statistics_of(self, labels: NDArray[np.int32], codebook: BaseCodebook[Needed]) -> Needed:
        """Totals of all rows under some labels, of the kind a codebook needs."""
        self.adopt(labels, codebook)
        # ``codebook.needs`` is a name of the type that its class has as a parameter.
        return cast(Needed, self.add_up())

    def release(self) -> None:
        """Let go of what only seeding needs."""
        self._known = None
        self.placement.release()


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

    provides = frozenset({"feature_sums", "masses", "products"})

    def __init__(
        self,
        X: Rows,
        weights: NDArray[np.float64],
        spherical: bool = False,
        largest_center: float = 0.0,
        unit_of: UnitOf = "typical",
    ) -> None:
        held = Held([(X, weights)])
        self.frame = measure(held, spherical, largest_center, unit_of)
        self.placement: Placement = held
        self.block: Block = held.block()
        self._kept = held.kept[0]

    def products(self) -> ScatterProducts:
        """The scatter ``X' D X`` of all rows, to multiply with."""
        return ScatterProducts(self.block.matrix(), self.block.weights)

    def matrix(self) -> Rows:
        """All rows, in engine coordinates."""
        return self.block.matrix()

    @property
    def _labels(self) -> NDArray[np.int32]:
        assert self._kept.labels is not None
        return self._kept.labels

    @property
    def _previous(self) -> NDArray[np.int32]:
        assert isinstance(self._kept.previous, np.ndarray)
        return self._kept.previous

    def begin(self, codebook: Centroids, algorithm: str = "auto") -> None:
        """Forget all labels: a descent starts."""
        #: A codebook and the inertia of the present labels for it, if they are known.
        self._measured: tuple[Centroids, ExactSum] | None = None
        self._kept.labels = np.full(self.block.n_samples, -1, dtype=np.int32)
        self._kept.previous = self._kept.labels.copy()
        self._assigner: Assigner[Centroids] = make_assigner(self.block, codebook, algorithm)
        self._account: Account = _account(self.block, codebook)
        self._change: Change | None = None
        self._unmoved: NDArray[np.int32] | None = None  #: labels before rows were relocated
        self._small = SmallDescent.serves(self.block, codebook, self._assigner, self._account)

    def assign(self, codebook: Centroids) -> None:
        """Give each row its nearest centroid."""
        self._measured = None
        kept = self._kept
        kept.previous, kept.labels = self._labels, self._previous  # written over, not replaced
        self._assigner.assign(codebook, kept.previous, kept.labels)
        self._assigner.forget(decide_contested(self.block, codebook, kept.labels))

    def add_up(self) -> Statistics:
        """Statistics of the present labels."""
        labels = self._labels
        known = self._previous if self._unmoved is None else self._unmoved
        change = self._account.update(known, labels)
        self._unmoved = None
        statistics = self._account.statistics
        if self._change is not None:  # nothing was refitted since the last time
            found = visits.changes_of(self._kept, len(statistics.counts))
            change = self._change.followed_by(change, found.n_moved)
            if isinstance(statistics, CellStatistics | GroupedStatistics):
                # Not those that a row was moved into and out of again.
                statistics.touch(np.flatnonzero(found.touched))
        self._change = change
        return statistics

    @property
    def n_moved(self) -> int:
        """Rows whose label is another one than before the last assignment."""
        if self._change is not None:
            return self._change.n_moved
        return int(np.count_nonzero(self._labels != self._previous))

    def several(self, codebook: Centroids, n_steps: int, tol: float) -> Stretch | None:
        """Some iterations in one call, at most so many; None if each has to be done by itself."""
        if self._small is None:
            return None
        assert isinstance(codebook, DenseCodebook)
        kept = self._kept
        found = self._small.iterate(codebook, n_steps, tol, self._labels, self._previous)
        if found.swapped:
            kept.labels, kept.previous = self._previous, self._labels
        self._change = self._measured = None
        return found

    def adopt(self, labels: NDArray[np.int32], codebook: Centroids) -> None:
        """Begin, and give all rows labels from outside."""
        self.begin(codebook)
        self._labels[:] = labels

    def relabel(self, rows: NDArray[np.int64], labels: NDArray[np.int32]) -> None:
        """Give some rows other labels."""
        self._measured = None
        self._unmoved = self._labels.copy()
        self._labels[rows] = labels
        self._assigner.forget(rows)

    def _far_rows(self, codebook: Centroids, n_rows: int) -> visits.FarRows:
        found = super()._far_rows(codebook, n_rows)
        self._measured = codebook, found.inertia
        return found

    def _inertia(self, codebook: Centroids) -> ExactSum:
        if self._measured is not None and self._measured[0] is codebook:
            return self._measured[1]
        return super()._inertia(codebook)

    def follow(self, codebook: Centroids, drift: NDArray[np.float64]) -> None:
        """The codebook was refitted."""
        self._measured = None
        change = self._change
        if codebook.entangled or change is None:
            change = Change.of_everything(self.n_moved, codebook.n_clusters)
        self._assigner.follow(codebook, change, drift)
        self._change = None

    def conclude(self, codebook: Kind, settled: bool) -> Kind:
        """Give each row its label for the codebook's explicit form, which is returned."""
        if not settled:
            self.assign(codebook)
        explicit = codebook.explicit(self.frame)
        self._assigner.confirm(explicit, self._labels)
        decide_contested(self.block, explicit, self._labels)
        return explicit

    def end(self) -> None:
        """Let go of bounds, tables and sums; the labels stay."""
        del self._assigner, self._account, self._small


def _account(block: Block, codebook: Centroids) -> Account:
    if codebook.needs == "marginals":
        return MarginalAccount(block, codebook.sizes)
    if codebook.needs == "cells":
        if codebook.cluster_by_cluster and NumeratorAccount.serves(block):
            assert isinstance(block, SparseBlock)
            return NumeratorAccount(block, codebook.n_clusters)
        return CellAccount(block, codebook.n_clusters)
    assert isinstance(block, DenseBlock)  # products of sparse rows are kept
    return DeferredAccount(block, codebook.n_clusters)
