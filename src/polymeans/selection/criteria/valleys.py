"""Whether there is a valley of density between clusters, tested on rows they were not fitted to.

For a density with a single peak along an axis, a window between two others of the same width never
has less mass than both of them. So clusters are apart if, along the line that joins their
centroids, some window has significantly fewer rows than one on each side. Which windows are
compared is decided by the rows the centroids were fitted to, and the count is made with other rows.

Only rows in a tube around the line count, whatever their cluster is. A tube is convex, and in a
convex region every density that is log-concave, or a multivariate t, has a single peak along any
axis: Gaussian, uniform and t data have no valleys, in any number of dimensions and for any number
of clusters.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Windows are made of bins on the line from beyond one centroid (-1) to beyond the other (+1).
_BINS, _REACH = 36, 1.75

#: Widths of windows in bins: from a tenth of the line to the distance between the centroids' sides.
_WIDTHS = (3, 4, 5, 6, 8, 10)

#: Radii of the tube that are tried: these shares of the two clusters' own rows are within.
_SHARES = (0.5, 0.75, 0.95)

#: Score of clusters that have no rows to count.
NO_ROWS = -3.0


@dataclass(frozen=True)
class Windows:
    """Two windows and one between them, in bins, and the share that sets the radius of the tube."""

    width: int
    left: int
    middle: int
    right: int
    share: int


class Projections:
    """Rows along the lines between centroids, from one product of rows and centroids.

    Parameters
    ----------
    products : ndarray of shape (n_samples, k)
        Scalar products of rows and centroids.
    squares : ndarray of shape (n_samples,)
        Squared lengths of the rows.
    gram : ndarray of shape (k, k)
        Scalar products of centroids.
    labels : ndarray of shape (n_samples,)
    """

    def __init__(
        self,
        products: NDArray[np.float64],
        squares: NDArray[np.float64],
        gram: NDArray[np.float64],
        labels: NDArray[Any],
    ) -> None:
        self.products, self.squares, self.gram, self.labels = products, squares, gram, labels

    def counts(self, i: int, j: int) -> NDArray[np.int64]:
        """Rows in each bin from centroid i to centroid j, for each radius of the tube."""
        gram = self.gram
        half = (gram[i, i] + gram[j, j] - 2.0 * gram[i, j]) / 4.0  # (half the distance) squared
        counts = np.zeros((len(_SHARES), _BINS), dtype=np.int64)
        own = (self.labels == i) | (self.labels == j)
        if not (half > 0 and own.any()):
            return counts
        # With m the midpoint and a half the difference: t = (x - m)·a / |a|².
        place = (self.products[:, j] - self.products[:, i]) / 2.0
        place = (place - (gram[j, j] - gram[i, i]) / 4.0) / half
        middle = (gram[i, i] + gram[j, j] + 2.0 * gram[i, j]) / 4.0
        from_middle = self.squares - (self.products[:, i] + self.products[:, j]) + middle
        beside = from_middle - place**2 * half
        bins = np.floor((place + _REACH) * (_BINS / (2.0 * _REACH)))
        inside = (bins >= 0) & (bins < _BINS)
        radii = np.quantile(beside[own], _SHARES)
        for line, radius in zip(counts, radii):
            here = inside & (beside <= radius)
            line[:] = np.bincount(bins[here].astype(np.int64), minlength=_BINS)
        return counts


def best_windows(counts: NDArray[np.int64]) -> Windows | None:
    """The windows between which the valley is clearest; None if there are no rows."""
    best, found = -np.inf, None
    for share, line in enumerate(counts):
        below = np.concatenate([[0], np.cumsum(line)])
        for width in _WIDTHS:
            mass = below[width:] - below[:-width]
            middles = np.arange(width, len(mass) - width)
            left = np.maximum.accumulate(mass)[middles - width]
            right = np.maximum.accumulate(mass[::-1])[::-1][middles + width]
            clear = np.minimum(score(left, mass[middles]), score(right, mass[middles]))
            at = int(np.argmax(clear))
            if clear[at] > best and mass.any():
                middle = int(middles[at])
                best = float(clear[at])
                found = Windows(
                    width,
                    int(np.argmax(mass[: middle - width + 1])),
                    middle,
                    middle + width + int(np.argmax(mass[middle + width :])),
                    share,
                )
    return found


def depth(counts: NDArray[np.int64], windows: Windows | None) -> float:
    """How clear the valley is in these rows: about normal, and not above 0 on average without one.

    It is the lower of the scores against the windows on both sides.
    """
    if windows is None:
        return NO_ROWS
    line = counts[windows.share]
    mass = [
        int(line[first : first + windows.width].sum())
        for first in (windows.left, windows.middle, windows.right)
    ]
    if not sum(mass):
        return NO_ROWS
    return float(min(score(mass[0], mass[1]), score(mass[2], mass[1])))


def score(side: Any, middle: Any) -> Any:
    """Standard score of two counts that would have the same mean without a valley."""
    return (side - middle) / np.sqrt(np.maximum(side + middle, 1))


def neighbors(gram: NDArray[np.float64]) -> list[tuple[int, int]]:
    """Pairs of centroids with no other one in the ball between them (the Gabriel graph)."""
    squares = np.diag(gram)
    apart = np.maximum(squares[:, None] + squares - 2.0 * gram, 0.0)
    return [
        (i, j)
        for i in range(len(gram))
        for j in range(i + 1, len(gram))
        if not np.any(np.delete(apart[i] + apart[j], [i, j]) < apart[i, j])
    ]


def depths(fitted: Projections, others: Projections) -> NDArray[np.float64]:
    """Depth of the valley between each pair of neighboring centroids.

    Parameters
    ----------
    fitted : Projections
        Of the rows that the centroids were fitted to.
    others : Projections
        Of rows that they were not fitted to.

    Returns
    -------
    ndarray
    """
    return np.array(
        [
            depth(others.counts(i, j), best_windows(fitted.counts(i, j)))
            for i, j in neighbors(fitted.gram)
        ]
    )
