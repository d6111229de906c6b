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
    """For each pair of centroids, two windows and one between them, in bins.

    ``share`` is the number of the tube's radius; -1 if there are no rows.
    """

    width: NDArray[np.int64]
    left: NDArray[np.int64]
    middle: NDArray[np.int64]
    right: NDArray[np.int64]
    share: NDArray[np.int64]


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
        ordered = np.sort(beside[own])
        radii = ordered[np.ceil(np.array(_SHARES) * (len(ordered) - 1)).astype(np.int64)]
        for line, radius in zip(counts, radii):
            here = inside & (beside <= radius)
            line[:] = np.bincount(bins[here].astype(np.int64), minlength=_BINS)
        return counts


def best_windows(counts: NDArray[np.int64]) -> Windows:
    """The windows between which the valley is clearest.

    Parameters
    ----------
    counts : ndarray of shape (n_pairs, n_radii, n_bins)
        Rows in each bin.

    Returns
    -------
    Windows
    """
    n_pairs = len(counts)
    pairs = np.arange(n_pairs)
    best = np.full(n_pairs, -np.inf)
    found = np.full((5, n_pairs), -1)
    below = np.pad(np.cumsum(counts, axis=2), ((0, 0), (0, 0), (1, 0)))
    has_rows = counts.any(axis=(1, 2))
    for width in _WIDTHS:
        mass = below[..., width:] - below[..., :-width]
        middles = np.arange(width, mass.shape[2] - width)
        left = np.maximum.accumulate(mass, axis=2)[..., middles - width]
        right = np.maximum.accumulate(mass[..., ::-1], axis=2)[..., ::-1][..., middles + width]
        between = mass[..., middles]
        clear = np.minimum(score(left, between), score(right, between)).reshape(n_pairs, -1)
        at = clear.argmax(axis=1)
        better = has_rows & (clear[pairs, at] > best)
        best[better] = clear[pairs, at][better]
        for pair in pairs[better]:
            share, number = divmod(int(at[pair]), len(middles))
            middle, line = int(middles[number]), mass[pair, share]
            first = int(np.argmax(line[: middle - width + 1]))
            last = middle + width + int(np.argmax(line[middle + width :]))
            found[:, pair] = width, first, middle, last, share
    return Windows(*found)


def depth(counts: NDArray[np.int64], windows: Windows) -> NDArray[np.float64]:
    """How clear each valley is in these rows: about normal, and without one not above 0 on average.

    It is the lower of the scores against the windows on both sides.
    """
    pairs = np.arange(len(counts))
    below = np.pad(np.cumsum(counts[pairs, windows.share], axis=1), ((0, 0), (1, 0)))
    left, middle, right = (
        below[pairs, first + windows.width] - below[pairs, first]
        for first in (windows.left, windows.middle, windows.right)
    )
    found = np.minimum(score(left, middle), score(right, middle))
    return np.where((windows.share < 0) | (left + middle + right == 0), NO_ROWS, found)


def score(side: Any, middle: Any) -> Any:
    """Standard score of two counts that would have the same mean without a valley."""
    return (side - middle) / np.sqrt(np.maximum(side + middle, 1))


def neighbors(gram: NDArray[np.float64]) -> list[tuple[int, int]]:
    """Pairs of centroids with no other one in the ball between them (the Gabriel graph)."""
    squares = np.diag(gram)
    apart = np.maximum(squares[:, None] + squares - 2.0 * gram, 0.0)
    np.fill_diagonal(apart, np.inf)  # neither end of a pair is between its ends
    nearest = np.min(apart[:, None] + apart, axis=2, initial=np.inf)
    first, second = np.nonzero(np.triu(nearest >= apart, 1))
    return list(zip(first.tolist(), second.tolist()))


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
    ndarray of shape (n_pairs,)
    """
    pairs = neighbors(fitted.gram)
    if not pairs:
        return np.empty(0)
    windows = best_windows(np.stack([fitted.counts(i, j) for i, j in pairs]))
    return depth(np.stack([others.counts(i, j) for i, j in pairs]), windows)
