"""Which of the compared structures to recommend, and why.

The rule, in one place: free centroids, unless a structure is worth it.

1. It is worth it if it has at most two thirds of the numbers at 5 % more inertia (the smallest of
   these), or no more numbers at 5 % less inertia (the one with the least).
2. A structure that takes more memory than free centroids, or whose clusters depend clearly more on
   the seed, is passed over unless its inertia is clearly lower: at most 0.8 of theirs, divided by
   how many times their memory it takes. Free centroids, too, have less inertia if they may be more,
   and clusters that another seed does not find are no gain.
3. If fits of no structure agree from seed to seed, the sentence says so: rows without clusters look
   like this, and then inertia and memory are all that a structure can be chosen by. If only those
   of the recommended structure do not, it says that.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymeans.selection.structures import FREE

#: A structure is recommended for its size if it has at most this share of the numbers of free
#: centroids, and at most this much more inertia.
SMALLER, LOSS = 0.67, 1.05

#: A structure with as many numbers is recommended if its inertia is at most this share.
BETTER = 0.95

#: Numbers, or bytes, up to which a structure counts as no larger: an offset is no reason.
NO_LARGER = 1.02

#: Difference of adjusted Rand indices from which a structure is clearly less stable. Those of three
#: seeds are known about that well.
LESS_STABLE = 0.1

#: Share of the inertia, memory taken into account, that makes up for both.
CLEARLY_BETTER = 0.8

#: Adjusted Rand index of seeds below which no structure counts as stable: the level from which
#: Hennig (2007) calls clusters stable.
STABLE = 0.75


def recommend(table: NDArray[Any]) -> tuple[int | None, str]:
    """The line to recommend and the reason; see the rule at the top of this file.

    Parameters
    ----------
    table : ndarray
        Records of a :class:`Comparison`.

    Returns
    -------
    at : int or None
        Number of the line; None if there is none.
    reason : str
        A sentence without a full stop.
    """
    if not len(table):
        return None, "the time was too short for a single fit; allow more"
    at, reason = _worth_it(table)
    return at, reason + _warning(table["stability"], at)


def _worth_it(table: NDArray[Any]) -> tuple[int, str]:
    free = np.flatnonzero((table["structure"] == FREE) & (table["equal"] == "k"))
    if not len(free):
        return int(np.argmin(table["inertia"])), "free centroids were not fitted"
    base = table[free[0]]
    with np.errstate(divide="ignore", invalid="ignore"):
        size = table["n_parameters"] / base["n_parameters"]
        in_bytes = table["n_bytes"] / base["n_bytes"]
        loss = np.where(base["inertia"] > 0, table["inertia"] / base["inertia"], np.inf)
    memory = np.maximum(np.fmax(size, in_bytes), 1.0)
    less_stable = table["stability"] < base["stability"] - LESS_STABLE  # not if one is unknown
    passed_over = ((memory > NO_LARGER) | less_stable) & (loss * memory > CLEARLY_BETTER)
    small = (size <= SMALLER) & (loss <= LOSS)
    better = (size <= NO_LARGER) & (loss <= BETTER)
    candidates = np.flatnonzero(small & ~passed_over)
    if len(candidates):
        at = int(candidates[np.lexsort((loss[candidates], size[candidates]))[0]])
        return at, f"{size[at]:.0%} of the numbers of free centroids at {loss[at] - 1:+.1%} inertia"
    candidates = np.flatnonzero(better & ~passed_over)
    if len(candidates):
        at = int(candidates[np.argmin(loss[candidates])])
        return at, (
            f"{1 - loss[at]:.0%} less inertia than free centroids with {size[at]:.0%} of their "
            f"numbers and {in_bytes[at]:.0%} of their bytes: {table['n_clusters'][at]} clusters"
        )
    reason = (
        "no structure has two thirds of the numbers at 5 % more inertia, or as many at 5 % less"
    )
    if np.any((small | better) & passed_over):
        reason += ", without more bytes or clearly less stable clusters"
    return int(free[0]), reason


def _warning(stability: NDArray[np.float64], at: int) -> str:
    """What to say if fits with other seeds do not agree; nothing where that is not known."""
    known = stability[np.isfinite(stability)]
    if len(known) and known.max() < STABLE:
        return (
            "; but no structure is stable: fits with other seeds agree with an adjusted Rand index "
            f"of {known.max():.2f} at most, as for rows without clusters or for more clusters than "
            "there are. choose_n_clusters tells how many there are, if any"
        )
    if stability[at] < STABLE:
        return f"; with other seeds its clusters differ, stability {stability[at]:.2f}"
    return ""
