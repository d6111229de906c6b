"""The runner whose rows are at sites: every assignment is one round of messages."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymeans.codebooks.base import BaseCodebook, Kind
from polymeans.core.exact_sums import ExactSum
from polymeans.core.statistics import CellStatistics
from polymeans.engine.accumulate import MassTotals
from polymeans.engine.distances import is_in_range
from polymeans.engine.prepared import UnitOf
from polymeans.engine.runners import BaseRunner
from polymeans.engine.survey import measure
from polymeans.federated.checks import check_step
from polymeans.federated.codebooks import codebook_message
from polymeans.federated.coordinator import Coordinator
from polymeans.federated.messages import Message
from polymeans.federated.placement import SitesPlacement
from polymeans.federated.relocation import Relocation
from polymeans.federated.totals import Layout, Totals, members_of, statistics_of


class SiteRunner(BaseRunner):
    """Rows at sites, which the server never sees: not one of them, nor the label of one.

    Labels are those of the centroids that were sent last. Sites remember none, so a site that
    missed rounds takes part again as if it had been there.

    Parameters
    ----------
    coordinator : Coordinator
    spherical : bool, default=False
        Cluster directions.
    largest_center : float, default=0
        Largest coordinate of centroids that will be met, if they come from outside.
    unit_of : {"typical", "largest"}, default="typical"
    relocates : bool, default=True
        Give vectors without rows a new place, found from sums.
    """

    provides = frozenset()

    def __init__(
        self,
        coordinator: Coordinator,
        spherical: bool = False,
        largest_center: float = 0.0,
        unit_of: UnitOf = "typical",
        relocates: bool = True,
        placement: SitesPlacement | None = None,
    ) -> None:
        self.coordinator, self._relocates = coordinator, relocates
        placement = placement or SitesPlacement(coordinator)
        self.placement = placement
        self.frame = measure(placement, spherical, largest_center, unit_of)
        self._present: tuple[Layout, Message] | None = None  #: centroids whose labels rows have
        self._totals: Totals | None = None
        self._before: Totals | None = None  #: of the assignment before
        self._measured: ExactSum | None = None
        self._measures = False

    # --- the parts of a descent ---------------------------------------------------------------

    def begin(self, codebook: BaseCodebook, algorithm: str = "auto") -> None:
        """Forget all labels: a descent starts."""
        self._present = self._totals = self._before = None
        self._measured = None
        self._relocation = Relocation(self.coordinator, self.frame)

    def assign(self, codebook: BaseCodebook) -> None:
        """Have sites label their rows and add them up; fill vectors that have no rows."""
        before = self._totals
        self._visit(codebook)
        while self._relocates and codebook.relocates and self._fill(codebook):
            self._visit(codebook)
        self._before = before

    def _visit(self, codebook: BaseCodebook, measured: bool = False) -> None:
        layout = Layout.of(codebook, self.frame, measured or self._measures)
        sent = codebook_message(codebook)
        announced = self.coordinator.announced
        answers = self.coordinator.ask(
            "step",
            {"codebook": sent, "measured": layout.measured},
            layout.shapes,
            lambda name, own: check_step(layout, own, announced[name]),
            frame=True,
        )
        self._present, self._totals = (layout, sent), answers.totals
        inertia = answers.totals.get("inertia")
        self._measured = None if inertia is None else ExactSum(inertia)

    def _fill(self, codebook: BaseCodebook) -> bool:
        """Move vectors without rows; whether there were any that could be."""
        layout, sent = self._here()
        assert self._totals is not None
        return self._relocation.move(codebook, layout, sent, members_of(layout, self._totals))

    def _here(self) -> tuple[Layout, Message]:
        assert self._present is not None
        return self._present

    def add_up(self) -> Any:
        """Statistics of the present labels."""
        assert self._totals is not None
        statistics = statistics_of(self._here()[0], self._totals)
        if isinstance(statistics, CellStatistics):
            statistics.touch(np.flatnonzero(self._touched()))
        return statistics

    def _touched(self) -> NDArray[np.bool_]:
        """Clusters whose totals changed in the last assignment."""
        assert self._totals is not None
        k = len(self._totals["counts"])
        if self._before is None:
            return self._totals["counts"] > 0
        touched = np.zeros(k, dtype=bool)
        for name in ("counts", "mass", "sums"):
            if name in self._totals:
                differs = self._totals[name] != self._before[name]
                touched |= differs.reshape(k, -1).any(axis=1)
        return touched

    @property
    def n_moved(self) -> int:
        """Rows that changed cluster, as far as totals tell: at least so many, zero if none did."""
        assert self._totals is not None
        if self._before is None:
            return self.frame.n_samples
        names = [name for name in self._totals if name not in ("square", "inertia")]
        if all(np.array_equal(self._totals[name], self._before[name]) for name in names):
            return 0
        name = "pairs" if "pairs" in self._totals else "counts"
        return max(1, int(np.abs(self._totals[name] - self._before[name]).sum()) // 2)

    def adopt(self, labels: NDArray[np.int32], codebook: BaseCodebook) -> None:
        """Begin with the labels that rows have for a codebook."""
        self.begin(codebook)
        self._visit(codebook)

    def relabel(self, rows: NDArray[np.int64], labels: NDArray[np.int32]) -> None:
        """Nothing: single rows are never moved."""
        assert len(rows) == 0

    def follow(self, codebook: BaseCodebook, drift: NDArray[np.float64]) -> None:
        """The codebook was refitted: what was measured is of another one."""
        self._measured = None

    def conclude(self, codebook: Kind, settled: bool) -> Kind:
        """Give each row its label for the codebook's explicit form, which is returned."""
        explicit = codebook.explicit(self.frame)
        if explicit is not codebook or not settled:
            anyway = explicit is not codebook or self.frame.n_directionless > 0
            self._visit(explicit, explicit.by_rows and anyway)
        return explicit

    def end(self) -> None:
        """Totals stay: they are what is known of the labels."""

    # --- what is asked of all rows -------------------------------------------------------------

    @property
    def n_stored(self) -> int:
        """None are here."""
        return 0

    def labels(self) -> NDArray[np.int32]:
        """None: labels stay at the sites."""
        return np.empty(0, dtype=np.int32)

    def members(self) -> NDArray[np.int64]:
        """Rows of positive weight of each vector whose rows were summed last."""
        assert self._totals is not None
        return members_of(self._here()[0], self._totals)

    def mass_totals(self, labels: NDArray[np.int32], n_clusters: int) -> MassTotals:
        """Rows and mass of each cluster under the present labels."""
        statistics = self.add_up()
        return MassTotals(statistics.counts, statistics.mass_rungs)

    def farthest(
        self, codebook: BaseCodebook, n_rows: int
    ) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int32]]:
        """None: rows are not to be singled out."""
        return np.empty(0, np.int64), np.empty(0), np.empty(0, np.int32)

    def measure(self, codebook: BaseCodebook) -> float:
        """Weighted squared distances of all rows to centroids, under the present labels."""
        sent = codebook_message(codebook)
        if self._measured is not None and _same(sent, self._here()[1]):
            return float(self._measured)
        self._measures = self._measures or _same(sent, self._here()[1])
        return float(self._inertia_of(sent, False))

    def measure_in_user_units(self, codebook: BaseCodebook) -> float:
        """The same in the user's units."""
        measured = self.measure(codebook)
        if is_in_range(self.frame, measured):
            return self.frame.to_user(measured)
        total = self._inertia_of(codebook_message(codebook), True)
        return float(total) * self.frame.weight_unit

    def _inertia_of(self, sent: Message, in_user_units: bool) -> ExactSum:
        present = self._here()[1]
        asked: Message = {"codebook": present, "in_user_units": in_user_units}
        if not _same(sent, present):
            asked["about"] = sent
        shapes: dict[str, tuple[int, ...]] = {"inertia": ExactSum().bins.shape}
        return ExactSum(
            self.coordinator.ask("measure", asked, shapes, frame=True).totals["inertia"]
        )


def _same(one: Message, other: Message) -> bool:
    return one.keys() == other.keys() and all(
        np.array_equal(one[name], other[name], equal_nan=isinstance(one[name], np.ndarray))
        if isinstance(one[name], np.ndarray)
        else one[name] == other[name] or one[name] != one[name]
        for name in one
    )
