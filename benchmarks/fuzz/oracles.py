"""Slow versions in wider arithmetic that share nothing with the library.

Distances are first computed in long double, whose range and precision are wider than those of
float64 on most machines. Before a label is called wrong, the exact distances of its row are
compared as fractions.
"""

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

_Wide = NDArray[np.longdouble]

_HALF_ULP = 2.0**-53

#: Entries of row by centroid by feature that are held at a time.
_PIECE = 2**21


def squared_distances(X: NDArray[Any], C: NDArray[Any]) -> _Wide:
    """All squared distances, from differences."""
    X, C = X.astype(np.longdouble), C.astype(np.longdouble)
    out = np.empty((len(X), len(C)), np.longdouble)
    step = max(1, _PIECE // max(1, C.size))
    for lo in range(0, len(X), step):
        out[lo : lo + step] = ((X[lo : lo + step, None, :] - C[None]) ** 2).sum(axis=2)
    return out


def exact_squared_distance(x: NDArray[Any], c: NDArray[Any]) -> Fraction:
    """Without any rounding."""
    return sum(((Fraction(float(a)) - Fraction(float(b))) ** 2 for a, b in zip(x, c)), Fraction())


def rounding_of_distances(n_features: int) -> float:
    """Relative error that a squared distance may have in float64, with room to spare."""
    return 8.0 * (n_features + 8) * _HALF_ULP


def not_nearest(
    X: NDArray[Any],
    C: NDArray[Any],
    labels: NDArray[Any],
    relative: float | None = None,
    absolute: float = 0.0,
    blur: float = 0.0,
) -> tuple[int, int] | None:
    """A row and a centroid that is clearly nearer to it than that of its label, or None.

    Parameters
    ----------
    X, C : ndarray
        Rows and centroids.
    labels : ndarray of int
    relative : float, default=None
        Error of a squared distance that is excused; None: that of float64.
    absolute : float, default=0
        The same in units of squared distance.
    blur : float, default=0
        How far from its stated place each centroid may be.
    """
    relative = rounding_of_distances(X.shape[1]) if relative is None else relative
    distances = squared_distances(X, C)
    own = distances[np.arange(len(X)), labels]
    best = distances.argmin(axis=1)
    least = distances[np.arange(len(X)), best]
    # (a + 2 b)² = a² + 4 a b + 4 b², where both of two distances may be wrong by b.
    absolute = absolute + 4 * np.sqrt(least) * blur + 4 * np.longdouble(blur) ** 2
    # "not <=" rather than ">": what is not a number is looked at, too.
    for i in np.flatnonzero(~(own <= least * (1 + 2 * relative) + absolute))[:20]:
        mine = exact_squared_distance(X[i], C[labels[i]])
        other = exact_squared_distance(X[i], C[best[i]])
        excused = absolute[i] if np.ndim(absolute) else absolute
        if mine > other * (1 + 2 * Fraction(relative)) + _fraction(excused):
            return int(i), int(best[i])
    return None


def _fraction(value: Any) -> Fraction:
    """A long double as a fraction, which may be beyond the range of float64."""
    mantissa, exponent = np.frexp(np.longdouble(value))
    return Fraction(float(mantissa)) * Fraction(2) ** int(exponent)


def higher_twin(C: NDArray[Any], labels: NDArray[Any]) -> tuple[int, int] | None:
    """A row whose centroid occurs before with exactly equal entries, and that earlier one."""
    seen: dict[bytes, int] = {}
    first = np.array([seen.setdefault((row + 0.0).tobytes(), j) for j, row in enumerate(C)])
    wrong = np.flatnonzero(first[labels] != labels)
    return (int(wrong[0]), int(first[labels[wrong[0]]])) if len(wrong) else None


def inertia(
    X: NDArray[Any], C: NDArray[Any], labels: NDArray[Any], weights: NDArray[Any] | None
) -> np.longdouble:
    """Weighted squared distances to the own centroid."""
    gaps = X.astype(np.longdouble) - C.astype(np.longdouble)[labels]
    squares = (gaps * gaps).sum(axis=1)
    return (squares if weights is None else squares * weights.astype(np.longdouble)).sum()


def directions(X: NDArray[Any]) -> _Wide:
    """Rows of length one; rows of zeros stay zero."""
    X = X.astype(np.longdouble)
    lengths = np.sqrt((X * X).sum(axis=1, keepdims=True))
    return X / np.where(lengths > 0, lengths, 1)


def loses_a_cluster(
    X: NDArray[Any], C: NDArray[Any], weights: NDArray[Any] | None, n_iter: int = 40
) -> bool:
    """Whether plain Lloyd from these centroids meets a cluster without weight.

    Also where that cannot be told: beside rows that are very much longer, rounding decides which
    centroid a short row is nearest to.
    """
    X, C = X.astype(np.longdouble), C.astype(np.longdouble)
    lengths = np.abs(np.concatenate([X, C])).max(axis=1)
    is_wide = lengths.max() > 2.0**30 * lengths[lengths > 0].min(initial=np.inf)
    mass = np.ones(len(X), np.longdouble) if weights is None else weights.astype(np.longdouble)
    previous = None
    for _ in range(n_iter):
        distances = squared_distances(X, C)
        labels = distances.argmin(axis=1)
        if is_wide and len(C) > 1:
            first, second = np.partition(distances, 1, axis=1)[:, :2].T
            if (second - first <= 2.0**-50 * second).any():
                return True
        if previous is not None and (labels == previous).all():
            return False
        previous = labels
        for j in range(len(C)):
            mine = labels == j
            if not mass[mine].sum() > 0:
                return True
            C[j] = (mass[mine, None] * X[mine]).sum(axis=0) / mass[mine].sum()
    return False
