"""Lloyd's loop for small dense rows: several iterations in one call of a kernel.

Between two calls of kernels Python takes a few microseconds for each array; an iteration of a
thousand rows takes fewer. What a kernel cannot decide is left to the loop in
:mod:`polymeans.engine.lloyd`, which begins that iteration anew.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from polymeans.codebooks.base import Centroids
from polymeans.codebooks.dense import DenseCodebook
from polymeans.core.frame import CANCELLED
from polymeans.core.statistics import CellStatistics
from polymeans.engine.accounts import Account, CellAccount
from polymeans.engine.blocks import Block, DenseBlock
from polymeans.engine.lane_assigners import UNDECIDED, LaneLloyd, lane_buffers, lane_errors
from polymeans.engine.nearest import label_exactly

if TYPE_CHECKING:
    from polymeans.kernels.dense_descent import Totals
    from polymeans.kernels.dense_lanes import LaneBuffers

#: Multiplications of an iteration below which one thread does all of it: that few take about as
#: long as the calls that let a second thread take part.
_SMALL = 2**22

#: Multiplications of one call, after which Python can be interrupted: some hundredths of a second.
_ONE_CALL = 2**29

#: Bytes of rows that are brought side by side once, instead of in each iteration.
_SIDE_BY_SIDE = 2**21


@dataclass
class Stretch:
    """Some iterations that were done in one call."""

    steps: NDArray[np.float64]  #: (n, 3) inertia, rows that moved and squared shifts of each
    swapped: bool  #: whether the labels are where the others were
    converged: bool
    settled: bool  #: whether no row moved in the last one
    stuck: bool  #: whether the next one has to be done in another way


class SmallDescent:
    """Iterations of a descent over a small block.

    Parameters
    ----------
    block : DenseBlock
    lanes : LaneLloyd
        The assigner of the descent.
    statistics : CellStatistics
        Totals of the present labels, kept up to date.
    """

    def __init__(self, block: DenseBlock, lanes: LaneLloyd, statistics: CellStatistics) -> None:
        self.block, self.lanes, self.statistics = block, lanes, statistics
        self._totals: Totals | None = None

    def _buffers(self) -> "LaneBuffers":
        """Room for all rows side by side, if they stay in cache then, or for some."""
        n, d = self.block.n_samples, self.block.n_features
        if 4 * n * d > _SIDE_BY_SIDE:
            return self.lanes.buffers(0, n)
        return lane_buffers(-(-n // 16), d)

    @staticmethod
    def serves(
        block: Block, codebook: Centroids, assigner: object, account: Account
    ) -> "SmallDescent | None":
        """One for these rows, if they are few and nothing about them is special."""
        if (
            type(assigner) is LaneLloyd
            and isinstance(block, DenseBlock)
            and isinstance(codebook, DenseCodebook)
            and isinstance(account, CellAccount)
            and account.row_by_row
            and len(block.directionless) == 0
            and block.n_stored * codebook.n_clusters < _SMALL
        ):
            return SmallDescent(block, assigner, account.statistics)
        return None

    def iterate(
        self,
        codebook: DenseCodebook,
        n_steps: int,
        tol: float,
        labels: NDArray[np.int32],
        others: NDArray[np.int32],
    ) -> Stretch:
        """So many iterations at most, fewer if they converge or one needs other means.

        Parameters
        ----------
        codebook : DenseCodebook
            Refitted in place.
        n_steps : int
        tol : float
            See :func:`polymeans.engine.lloyd.descend`.
        labels : ndarray of shape (n_samples,)
            Of the last iteration, -1 before the first.
        others : ndarray of shape (n_samples,)
            Written over.
        """
        from polymeans.kernels import dense_descent as kernels
        from polymeans.kernels.dense import ScoreFrame

        block, statistics = self.block, self.statistics
        frame = block.measured
        d, k = block.n_features, codebook.n_clusters
        work = max(1, block.n_stored * k)
        steps = np.empty((max(1, min(n_steps, _ONE_CALL // work)), 3))
        if self._totals is None:
            self._totals = kernels.Totals(
                statistics.counts,
                statistics.mass_rungs,
                statistics.rungs,
                np.empty(k),
                np.empty((k, d)),
                np.zeros(k, dtype=bool),
                np.empty(k),
            )
        square = frame.total_square
        shift_frame = ScoreFrame(
            frame.shift, frame.shifted, np.empty(0), lane_errors(d, np.inf, 0.0)
        )
        ladders = kernels.Ladders(frame.ladder.magics, frame.mass_ladder.magics, frame.origin)
        limits = kernels.Limits(
            square,
            CANCELLED**2 * square,
            frame.shift_threshold(tol),
            frame.reach,
            UNDECIDED * block.n_samples if block.dtype == np.float64 else np.inf,
        )
        buffers = self._buffers()
        n_done, why, swapped = 0, kernels.CONTESTED, False
        labeled = False
        while why == kernels.CONTESTED:
            n_more, why, again = kernels.descend_lanes(
                block.arrays,
                block.weights,
                shift_frame,
                codebook.book,
                ladders,
                limits,
                codebook.spherical,
                self.lanes.at_once,
                labeled,
                codebook.centers,
                self._totals,
                labels,
                others,
                self.lanes.panels,
                buffers,
                steps[n_done:],
            )
            n_done += n_more
            if again:
                labels, others, swapped = others, labels, not swapped
            if why == kernels.CONTESTED:
                label_exactly(block, codebook, others, np.flatnonzero(others < 0))
                labeled = True
        if why == kernels.AHEAD:
            self._return_to(labels, others)
        statistics.touch(np.arange(k))
        return Stretch(
            steps[:n_done],
            swapped,
            converged=why in (kernels.SETTLED, kernels.WITHIN),
            settled=why == kernels.SETTLED,
            stuck=why in (kernels.AHEAD, kernels.STUCK),
        )

    def _return_to(self, labels: NDArray[np.int32], others: NDArray[np.int32]) -> None:
        """Take totals that follow the other labels back; they are exact, so nothing is lost."""
        from polymeans.kernels.cluster_sums import follow_labels

        block, frame, totals = self.block, self.block.measured, self._totals
        assert totals is not None
        if labels[0] < 0:
            for total in totals[:3]:
                total[:] = 0
            return
        follow_labels(
            block.arrays,
            block.weights,
            others,
            labels,
            0,
            block.n_samples,
            frame.ladder.magics,
            frame.mass_ladder.magics,
            *totals[:3],
            totals.touched,
        )
