"""The runner of blocks, wherever these are: every iteration visits each of them once."""

import numpy as np
from numpy.typing import NDArray

from polymeans.codebooks.base import Centroids, Kind
from polymeans.core.exact_sums import ExactSum
from polymeans.core.statistics import CellStatistics, DeferredStatistics, Statistics, rounded_mass
from polymeans.engine import visits
from polymeans.engine.accounts import rounded_features
from polymeans.engine.accumulate import MassTotals, Totals, together
from polymeans.engine.in_turn import InTurn
from polymeans.engine.placement import LocalPlacement, Placement, find_rows, first_rows, pieces
from polymeans.engine.prepared import UnitOf
from polymeans.engine.prepared_blocks import block_of_some
from polymeans.engine.runners import BaseRunner
from polymeans.engine.survey import measure

#: Share of the rows: if fewer moved in an iteration, totals are corrected by those that move in the
#: next one. Taking a row out and putting it in again costs twice as much as adding it anew.
_MANY = 0.25

#: How far a centroid went at least that went anywhere.
_LEAST = np.finfo(np.float64).tiny


class BlockRunner(BaseRunner):
    """Rows in several blocks, each labeled and added up anew in every iteration.

    An iteration is one visit of every block: its rows are labeled and added up, and their
    distances are measured where earlier iterations had to.

    Parameters
    ----------
    placement : Placement
        Where the blocks are.
    spherical : bool, default=False
        Cluster directions.
    largest_center : float, default=0
        Largest coordinate of centroids that will be met, if they come from outside.
    unit_of : {"typical", "largest"}, default="typical"
        Which entries extreme rows are measured in, see :func:`polymeans.engine.survey.measure`.
    """

    def __init__(
        self,
        placement: Placement,
        spherical: bool = False,
        largest_center: float = 0.0,
        unit_of: UnitOf = "typical",
    ) -> None:
        self.placement = placement
        self.frame = measure(placement, spherical, largest_center, unit_of)
        #: Statistics do not determine the inertia of this codebook: each visit measures it too.
        self._measures = False

    def begin(self, codebook: Centroids, algorithm: str = "auto") -> None:
        """Forget all labels: a descent starts."""
        self.placement.recall(visits.forget_labels)
        self._needs, self._sizes = visits.wants_of(codebook)
        self._n_clusters = codebook.n_clusters
        self._visited: Centroids | None = None  #: whose labels rows have
        self._drift: NDArray[np.float64] | None = None  #: how far it went since
        self._forget_totals()

    def _forget_totals(self) -> None:
        """Nothing is known about the present labels but themselves."""
        self._totals: Totals | None = None
        self._changes: visits.Changes | None = None
        self._far: visits.FarRows | None = None
        #: A codebook and the inertia of the present labels for it.
        self._measured: tuple[Centroids, ExactSum] | None = None

    def assign(self, codebook: Centroids) -> None:
        """Give each row its nearest centroid, and add the rows up."""
        self._visit(codebook, self._measures)

    def _visit(self, codebook: Centroids, measured: bool) -> None:
        # Sums are exact, so that correcting them by the rows that moved gives the same bits.
        known, few = self._totals, _MANY * self.frame.n_samples
        if known is not None and not self._all_changes().n_moved < few:
            known = None
        drift = self._drift if codebook is self._visited else None
        in_turn = self._in_turn(codebook, known)
        found: visits.Pass = self.placement.reduce(
            visits.assign_and_add_up, codebook, measured, known is not None, drift, in_turn
        )
        self._visited, self._drift = codebook, None
        self._forget_totals()
        if in_turn is not None:
            self._totals = in_turn.totals
        else:
            assert found.statistics is not None
            totals = found.statistics
            self._totals = totals if known is None else together(known, totals)
        self._changes = found.changes
        if found.inertia is not None:
            self._measured = codebook, found.inertia

    def _in_turn(self, codebook: Centroids, known: Totals | None) -> InTurn | None:
        """What visits of a pass share, where they run here; totals are known or begin empty."""
        frame, is_local = self.frame, isinstance(self.placement, LocalPlacement)
        if not (is_local and InTurn.serves(codebook, frame.is_sparse, frame.guarded)):
            return None
        totals = CellStatistics.empty(frame, codebook.n_clusters) if known is None else known
        assert isinstance(totals, CellStatistics)  # which these codebooks need
        return InTurn(codebook, totals)

    def add_up(self) -> Statistics:
        """Statistics of the present labels."""
        if self._totals is None:
            self._totals = self.placement.reduce(visits.add_up, self._needs, self._sizes)
        if isinstance(self._totals, MassTotals):
            return self._deferred(self._totals)
        if isinstance(self._totals, CellStatistics):
            self._totals.touch(np.flatnonzero(self._all_changes().touched))
        return self._totals

    def _deferred(self, totals: MassTotals) -> DeferredStatistics:
        frame, n_clusters = self.frame, self._n_clusters

        def feature_sums(first: int, last: int) -> NDArray[np.float64]:
            rungs = self.placement.reduce(visits.sums_of_features, n_clusters, first, last)
            return rounded_features(frame, rungs, rounded_mass(totals.rungs), first, last)

        return DeferredStatistics(
            frame, frame.total_square, totals.counts, totals.rungs, feature_sums
        )

    def _all_changes(self) -> visits.Changes:
        if self._changes is None:
            found = self.placement.recall(visits.changes_of, self._n_clusters)
            self._changes = sum(found[1:], found[0])
        return self._changes

    @property
    def n_moved(self) -> int:
        """Rows whose label is another one than before the last assignment."""
        return self._all_changes().n_moved

    def adopt(self, labels: NDArray[np.int32], codebook: Centroids) -> None:
        """Begin, and give all rows labels from outside."""
        self.begin(codebook)
        self.placement.recall(visits.adopt_labels, per_block=pieces(self.placement, labels))

    def _far_rows(self, codebook: Centroids, n_rows: int) -> visits.FarRows:
        self._far = super()._far_rows(codebook, n_rows)
        self._measured = codebook, self._far.inertia
        return self._far

    def relabel(self, rows: NDArray[np.int64], labels: NDArray[np.int32]) -> None:
        """Give some rows other labels."""
        blocks, places = find_rows(self.placement, rows)
        firsts = first_rows(self.placement.sizes)
        own = [(rows[at] - firsts[block], labels[at]) for block, at in zip(blocks, places)]
        self.placement.recall(visits.change_labels, per_block=own, only=blocks)
        totals = self._totals
        if totals is not None and self._far is not None:
            # The rows are at hand, and sums are exact: taking a row out undoes adding it.
            order = np.argsort(self._far.numbers)
            at = order[np.searchsorted(self._far.numbers[order], rows)]
            few = block_of_some(self._far.rows[at], self._far.weights[at], self.frame)
            wants = self._needs, self._sizes
            change = visits.correction(few, self._far.labels[at], labels, *wants)
            totals = together(totals, change)
        else:
            totals = None
        self._forget_totals()
        self._totals = totals

    def follow(self, codebook: Centroids, drift: NDArray[np.float64]) -> None:
        """The codebook was refitted: what was measured is of another one."""
        self._measured = self._far = None
        # A centroid whose cluster changed may have moved by less than a squared length can say.
        touched = codebook.entangled | self._all_changes().touched
        self._drift = np.where(touched, np.maximum(drift, _LEAST), drift)

    def _inertia(self, codebook: Centroids) -> ExactSum:
        if self._measured is not None and self._measured[0] is codebook:
            return self._measured[1]
        if self._totals is not None and self._far is None:
            self._measures = True  # from the next visit on
        inertia = super()._inertia(codebook)
        self._measured = codebook, inertia
        return inertia

    def conclude(self, codebook: Kind, settled: bool) -> Kind:
        """Give each row its label for the codebook's explicit form, which is returned."""
        explicit = codebook.explicit(self.frame)
        if explicit is not codebook or not settled:
            # What the user holds is measured from rows where totals belong to another codebook.
            anyway = explicit is not codebook or self.frame.n_directionless > 0
            self._visit(explicit, explicit.by_rows and (self._measures or anyway))
        return explicit

    def end(self) -> None:
        """Let go of totals and bounds; the labels and their inertia stay."""
        self.placement.recall(visits.forget_bounds)
        measured = self._measured
        self._forget_totals()
        self._measured = measured
