"""A runner for one batch of a stream: looked at twice, then gone."""

import numpy as np
from numpy.typing import NDArray

from polymeans.codebooks.base import Centroids, Kind
from polymeans.core.exact_sums import Ladder
from polymeans.core.frame import Frame, MeasuredFrame
from polymeans.core.rows import Rows
from polymeans.core.statistics import CellStatistics, MarginalStatistics
from polymeans.engine.accumulate import cell_statistics, marginal_statistics
from polymeans.engine.assignment import make_assigner
from polymeans.engine.blocks import Block
from polymeans.engine.nearest import decide_contested
from polymeans.engine.placement import Held
from polymeans.engine.runners import BaseRunner
from polymeans.engine.survey import glance

#: Sums of one rung are sums of float64 numbers, each rounded, in the order of the rows.
_ONE_RUNG = Ladder((1.0,))


class BatchRunner(BaseRunner):
    """The rows of one batch, with as little preparation as possible.

    Labels are exact, as those of any runner. Sums are not: what a stream comes to depends on its
    batches anyway, and a survey of the rows would cost more than adding them up. Rows of a cluster
    are added up in their order, so sums do not depend on the number of threads.

    Parameters
    ----------
    X : ndarray or CSR of shape (n_samples, n_features)
    weights : ndarray of shape (n_samples,)
    spherical : bool
        Cluster directions.
    largest_center : float
        Largest coordinate of the centroids.
    by_set : bool
        Sum the rows of each vector of a set, not of each cluster.
    """

    def __init__(
        self,
        X: Rows,
        weights: NDArray[np.float64],
        spherical: bool,
        largest_center: float,
        by_set: bool,
    ) -> None:
        self.block: Block = glance(X, weights, spherical, largest_center)
        self.block.frame = self.frame = plain_frame(self.block.frame, self.block.n_stored)
        held = Held.of_block(self.block)
        self.placement, self._kept = held, held.kept[0]
        self.by_set = by_set

    def begin(self, codebook: Centroids, algorithm: str = "lloyd") -> None:
        """Forget all labels."""
        self._kept.labels = np.full(self.block.n_samples, -1, dtype=np.int32)
        self._sizes = codebook.sizes

    def assign(self, codebook: Centroids) -> None:
        """Give each row its nearest centroid; bounds would not pay within two assignments."""
        assert self._kept.labels is not None  # it has begun
        self._kept.previous, labels = self._kept.labels, self._kept.labels.copy()
        self._kept.labels = labels
        make_assigner(self.block, codebook, "lloyd").assign(codebook, labels, labels)
        decide_contested(self.block, codebook, labels)

    def add_up(self) -> CellStatistics | MarginalStatistics:
        """Statistics of the present labels."""
        labels = self.labels()
        if self.by_set:
            return marginal_statistics(self.block, labels, self._sizes, np.inf)
        return cell_statistics(self.block, labels, int(np.prod(self._sizes)), np.inf)

    def relabel(self, rows: NDArray[np.int64], labels: NDArray[np.int32]) -> None:
        """Give some rows other labels."""
        assert self._kept.labels is not None
        self._kept.labels[rows] = labels

    def adopt(self, labels: NDArray[np.int32], codebook: Centroids) -> None:
        """Begin, and give all rows labels from outside."""
        self.begin(codebook)
        self._kept.labels = labels.copy()

    @property
    def n_moved(self) -> int:
        """Rows whose label is another one than before the last assignment."""
        return int(np.count_nonzero(self._kept.labels != self._kept.previous))

    def follow(self, codebook: Centroids, drift: NDArray[np.float64]) -> None:
        """Nothing is kept that depends on where centroids were."""

    def conclude(self, codebook: Kind, settled: bool) -> Kind:
        """Give each row its label for the codebook's explicit form, which is returned."""
        explicit = codebook.explicit(self.frame)
        self.assign(explicit)
        return explicit

    def end(self) -> None:
        """Nothing is kept but the labels."""


def plain_frame(frame: Frame, n_stored: int) -> MeasuredFrame:
    """The same frame for sums that are rounded as they are added up, and without totals."""
    known = {name: getattr(frame, name) for name in Frame.__dataclass_fields__}
    return MeasuredFrame(
        **known,
        ladder=_ONE_RUNG,
        mass_ladder=_ONE_RUNG,
        mass=np.nan,
        mean=np.full(frame.n_used, np.nan),
        total_square=np.inf,
        spread=np.inf,
        reach=1.0,
        n_stored=n_stored,
        unweighted=False,
        n_directionless=0,
    )
