"""Several iterations of k-means on dense rows with few features in one call.

For small data: the calls of one iteration would take longer than its arithmetic. Every operation is
one of those that the same iteration consists of elsewhere, in the same order, so bits are the same.

An iteration that needs anything else is left to the caller: clusters without rows, an inertia that
cancels, rows that need exact scores. What is rare is not even compiled before it happens.
"""

from typing import NamedTuple

import numpy as np

from polymeans.kernels.cluster_sums import closed_form_inertia, follow_labels, move_to_mean
from polymeans.kernels.compile import kernel
from polymeans.kernels.dense import ScoreError, ScoreFrame
from polymeans.kernels.dense_lanes import gather_queue, label_gathered, pack_lane_panels
from polymeans.kernels.exact import rounded, rounded_about

#: Why a call ended: all iterations are done, no row moved, or centroids moved too little; or the
#: next iteration needs the caller: to decide labels that are -1 in ``others``, to take the
#: totals back to ``labels`` because they follow ``others`` already, or to do all of it.
DONE, SETTLED, WITHIN, CONTESTED, AHEAD, STUCK = range(6)


class Ladders(NamedTuple):
    """What exact sums of the rows are formed with."""

    magics: np.ndarray  # of the sums
    mass_magics: np.ndarray  # of the masses
    origin: np.ndarray  # (d,) float64, sums are rounded about it


class Limits(NamedTuple):
    """When to stop, and which inertia is certain."""

    total_square: float  # of all rows about the origin
    certain: float  # an inertia above this has enough digits
    threshold: float  # of the squared shifts, measured in ``reach``
    reach: float
    most_settled: float  # rows that may need exact scores in an iteration


class Totals(NamedTuple):
    """What is carried from one iteration to the next."""

    counts: np.ndarray  # (k,)
    mass_rungs: np.ndarray  # (k, n_mass_rungs)
    rungs: np.ndarray  # (k, n_rungs, d)
    mass: np.ndarray  # (k,) rounded
    sums: np.ndarray  # (k, d) rounded, about the origin
    touched: np.ndarray  # (k,) bool
    drift: np.ndarray  # (k,)


@kernel(inner=True)
def _round_totals(totals, ladders, shifted, stale):
    """Round the masses and sums of clusters that changed, or of all."""
    for j in range(totals.counts.shape[0]):
        if not (stale or totals.touched[j]):
            continue
        n_mass = totals.mass_rungs.shape[1]
        if n_mass <= 2:
            m = totals.mass_rungs[j, 0]
            if n_mass == 2:
                m += totals.mass_rungs[j, 1]
        else:
            m = rounded(totals.mass_rungs[j].reshape(n_mass, 1), 0)
        totals.mass[j] = m
        own = totals.rungs[j]
        for t in range(totals.sums.shape[1]):
            if shifted:
                totals.sums[j, t] = rounded_about(own, t, m, ladders.origin[t])
            else:
                totals.sums[j, t] = rounded(own, t)


@kernel(allocates=True)
def descend_lanes(
    rows,  # IN  row container
    weights,  # IN  (n,)
    frame,  # IN  where scores are measured from, with the errors of any centroids
    book,  # IN  centroids, the same array as centers
    ladders,  # IN
    limits,  # IN
    spherical,  # IN  whether centroids have length one
    at_once,  # IN  groups of centroids that stay in cache while rows are scored
    labeled,  # IN  whether ``others`` are the labels of the first iteration already
    centers,  # INOUT (k, d)
    totals,  # INOUT
    labels,  # INOUT (n,) of the last iteration
    others,  # BUFFER (n,)
    panels,  # BUFFER
    buffers,  # BUFFER
    steps,  # OUT (n_steps, 3) inertia, rows that moved, squared shifts of each iteration
):
    """Iterate. Returns how often, why no more (see above), and whether labels are in ``others``."""
    n, k = labels.shape[0], centers.shape[0]
    nothing = np.empty(0, dtype=np.float32)
    stale = True
    swapped = False
    at_a_time = buffers.queue.shape[0]
    gathered = False
    for step in range(steps.shape[0]):
        if not labeled:
            longest, shortest = pack_lane_panels(centers, frame.shift, panels)
            e = frame.error
            shortest = shortest if e.shortest < np.inf else np.inf
            error = ScoreError(e.product, e.score, e.faint, e.own, longest, shortest, e.certain)
            here = ScoreFrame(frame.shift, frame.shifted, frame.norms, error)
            n_settled = 0
            for begin in range(0, n, at_a_time):
                n_queued = min(at_a_time, n - begin)
                if not gathered:
                    for b in range(n_queued):
                        buffers.queue[b] = begin + b
                    gather_queue(rows, frame, n_queued, buffers)
                n_settled += label_gathered(
                    rows, here, book, panels, n_queued, at_once, others, nothing, buffers
                )
            gathered = n <= at_a_time  # they are brought side by side once
            if n_settled > limits.most_settled:
                return step, STUCK, swapped
            if n_settled:
                for i in range(n):
                    if others[i] < 0:
                        return step, CONTESTED, swapped
        labeled = False
        for j in range(k):
            totals.touched[j] = False
        n_moved = follow_labels(
            rows,
            weights,
            labels,
            others,
            0,
            n,
            ladders.magics,
            ladders.mass_magics,
            totals.counts,
            totals.mass_rungs,
            totals.rungs,
            totals.touched,
        )
        fits = True
        for j in range(k):
            fits &= totals.counts[j] > 0
        inertia = np.nan
        if fits:
            _round_totals(totals, ladders, frame.shifted, stale)
            stale = False
            cost = closed_form_inertia(centers, ladders.origin, totals.mass, totals.sums)
            inertia = limits.total_square + cost
            fits = limits.certain < inertia < np.inf
        if not fits:
            return step, AHEAD, swapped
        labels, others = others, labels
        swapped = not swapped
        shift = 0.0
        moved = False
        for j in range(k):
            totals.drift[j] = 0.0
        if n_moved > 0:
            for j in range(k):
                if totals.touched[j] and totals.mass[j] > 0.0:
                    drift = move_to_mean(
                        totals.sums[j], totals.mass[j], ladders.origin, spherical, centers[j]
                    )
                    totals.drift[j] = drift
                    moved |= drift > 0.0
                    part = drift / limits.reach
                    shift += part * part
        steps[step, 0] = inertia
        steps[step, 1] = n_moved
        steps[step, 2] = shift
        if n_moved == 0:
            return step + 1, SETTLED, swapped
        if shift <= limits.threshold and not (limits.threshold == 0.0 and moved):
            return step + 1, WITHIN, swapped
    return steps.shape[0], DONE, swapped
