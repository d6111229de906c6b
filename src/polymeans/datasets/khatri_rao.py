"""Rows whose centroids are combinations of a few parts, as in Khatri-Rao clustering."""

from collections.abc import Sequence
from math import prod
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.datasets import load_digits
from sklearn.utils import check_random_state

from polymeans._validation import check_choice, check_integer, check_real
from polymeans.datasets._common import balanced, check_range

Grid = tuple[int, ...]


def make_khatri_rao(
    n_samples: int = 1000,
    n_protocentroids: Sequence[int] = (3, 3),
    n_features: int = 2,
    *,
    aggregator: str = "sum",
    interaction: float = 0.0,
    noise: float = 0.05,
    spread: float = 0.5,
    weights: ArrayLike | None = None,
    random_state: Any = None,
) -> tuple[NDArray[np.float64], NDArray[np.int64], list[NDArray[np.float64]]]:
    """Rows around centroids that are sums, or products, of protocentroids.

    **Idea.** Draw a few sets of protocentroids. Every choice of one from each set makes a
    centroid, their sum or entrywise product, so sets of h₁, h₂, … make h₁ · h₂ · … centroids.
    Rows scatter about them with normal noise. Summed protocentroids have normal entries;
    multiplied ones are positive, with normal logarithms.

    **Use when** a method that looks for such structure needs data that has it, or, with
    ``interaction``, has it in part. **Do not use** to judge how well the structure fits data of
    the world. **Cost:** ``n_samples · n_features`` draws; with ``interaction`` also one for each
    entry of all centroids.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of rows.
    n_protocentroids : sequence of int, default=(3, 3)
        Protocentroids in each set; any number of sets.
    n_features : int, default=2
        Number of columns. With few of them, different combinations may land on the same spot.
    aggregator : {"sum", "product"}, default="sum"
        How protocentroids combine.
    interaction : float, default=0.0
        Share of the variance of the centroids (of their logarithms, for products; all
        combinations counted alike) that no protocentroids can express. 0 is exact structure, 1
        none at all: sets tell nothing unless taken together. Centroids drawn independently have
        about ``1 - Σ(h - 1) / (Πh - 1)``, one half for two sets of three.
    noise : float, default=0.05
        Standard deviation of the rows about their centroids.
    spread : float, default=0.5
        Standard deviation of the entries of protocentroids (of their logarithms, for products).
    weights : array-like of shape n_protocentroids, default=None
        How often each combination is drawn, in proportion. None makes all equally frequent, give
        or take one row.
    random_state : int, RandomState instance or None, default=None
        Determines the rows. The same seed with other ``noise``, ``spread`` or ``interaction``
        draws the same combinations.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features), float64
        The rows.
    protolabels : ndarray of shape (n_samples, n_sets), int64
        Which protocentroid of each set a row was made of. One label for each combination is
        ``np.ravel_multi_index(protolabels.T, n_protocentroids)``.
    protocentroids : list of ndarrays of shape (h, n_features), float64
        The sets. With ``interaction`` they are the part of the centroids that has structure.

    See Also
    --------
    make_stick_figures : Images that are sums of two parts.
    make_double_digits : Images of two independent digits.
    sklearn.datasets.make_blobs : Rows around centers without structure.

    Examples
    --------
    >>> import numpy as np
    >>> from polymeans.datasets import make_khatri_rao
    >>> X, protolabels, (first, second) = make_khatri_rao(
    ...     500, (4, 5), n_features=8, noise=0.0, random_state=0
    ... )
    >>> X.shape, first.shape, second.shape
    ((500, 8), (4, 8), (5, 8))
    >>> bool(np.all(X == first[protolabels[:, 0]] + second[protolabels[:, 1]]))
    True
    """
    check_integer("n_samples", n_samples, 1)
    grid = _check_grid(n_protocentroids)
    check_integer("n_features", n_features, 1)
    check_choice("aggregator", aggregator, ("sum", "product"))
    check_range("interaction", interaction, 0.0, 1.0)
    check_real("noise", noise, 0)
    check_real("spread", spread, 0)
    if interaction > 0 and sum(h > 1 for h in grid) < 2:
        raise ValueError(
            f"interaction must be 0 for n_protocentroids={grid}, got {interaction!r}: only sets "
            "of at least two protocentroids can interact. Give two such sets."
        )
    rng = check_random_state(random_state)

    # Parts are summed; for a product they are logarithms until the end.
    parts = [spread * rng.standard_normal((h, n_features)) for h in grid]
    cells = _draw_cells(rng, n_samples, grid, weights)
    protolabels = np.stack(np.unravel_index(cells, grid), axis=1).astype(np.int64)
    scatter = noise * rng.standard_normal((n_samples, n_features))
    # Drawn last, so that other shares of interaction leave all other draws as they are.
    rest = None
    if interaction > 0:
        parts, rest = _mix_interaction(rng, parts, interaction)

    product = aggregator == "product"
    protocentroids = [np.exp(part) for part in parts] if product else parts
    combine = np.multiply if product else np.add
    X = protocentroids[0][protolabels[:, 0]]
    for which, protocentroid in zip(protolabels.T[1:], protocentroids[1:]):
        combine(X, protocentroid[which], out=X)
    if rest is not None:
        combine(X, np.exp(rest[cells]) if product else rest[cells], out=X)
    X += scatter
    return X, protolabels, protocentroids


def _check_grid(n_protocentroids: Any) -> Grid:
    remedy = "Give the number of protocentroids of each set, such as (3, 3)."
    if isinstance(n_protocentroids, str | Integral) or not np.iterable(n_protocentroids):
        raise TypeError(
            f"n_protocentroids must be a sequence of integers, got {n_protocentroids!r}. {remedy}"
        )
    grid = tuple(n_protocentroids)
    if not grid:
        raise ValueError(f"n_protocentroids must have at least one set, got (). {remedy}")
    for position, h in enumerate(grid):
        check_integer(f"n_protocentroids[{position}]", h, 1, remedy)
    return tuple(int(h) for h in grid)


def _draw_cells(
    rng: np.random.RandomState, n_samples: int, grid: Grid, weights: Any
) -> NDArray[np.int64]:
    """A combination for each row, numbered with the last set fastest."""
    if weights is None:
        return balanced(rng, n_samples, prod(grid))
    weights = np.asarray(weights, dtype=np.float64)
    remedy = f"Give one number for each combination, an array of shape {grid}."
    if weights.shape != grid:
        raise ValueError(f"weights must have shape {grid}, got {weights.shape}. {remedy}")
    if not (np.isfinite(weights).all() and (weights >= 0).all() and weights.any()):
        raise ValueError(
            "weights must be finite, not negative and not all zero, "
            f"got values from {weights.min():g} to {weights.max():g}. {remedy}"
        )
    return rng.choice(weights.size, n_samples, p=weights.ravel() / weights.sum())


def _mix_interaction(
    rng: np.random.RandomState, parts: list[NDArray[np.float64]], share: float
) -> tuple[list[NDArray[np.float64]], NDArray[np.float64]]:
    """Shrunk parts, and for each combination what to add so that it has ``share`` of the variance.

    As in an analysis of variance: what is added has mean zero over every protocentroid, so it is
    orthogonal to all sums of parts, and the variances of both simply add.
    """
    grid, n_features = tuple(len(part) for part in parts), parts[0].shape[1]
    rest = rng.standard_normal((*grid, n_features))
    rest -= rest.mean(axis=tuple(range(len(grid))))
    for axis in range(len(grid)):
        others = tuple(other for other in range(len(grid)) if other != axis)
        rest -= rest.mean(axis=others, keepdims=True)
    # Sets vary independently over the full grid: the variance of the sums is the sum of theirs.
    variance = sum(part.var(axis=0).sum() for part in parts)
    rest *= np.sqrt(share * variance / rest.var(axis=tuple(range(len(grid)))).sum())

    shrunk = []
    for part in parts:
        mean = part.mean(axis=0)
        shrunk.append(mean + np.sqrt(1 - share) * (part - mean))
    return shrunk, rest.reshape(prod(grid), n_features)


# --- images ------------------------------------------------------------------------------------

#: Points of the figure, across and down, in a square of side one. The waist parts upper from lower.
_WAIST = 0.6
_HEAD, _HEAD_RADIUS = (0.5, 0.175), 0.1
_NECK, _SHOULDERS, _HIPS = (0.5, 0.28), (0.5, 0.37), (0.5, 0.675)

#: Arms up, out, down: joint and end of the limb on the left and on the right, from the shoulders.
_ARMS = (
    (((0.26, 0.32), (0.14, 0.08)), ((0.74, 0.32), (0.86, 0.08))),
    (((0.30, 0.37), (0.08, 0.37)), ((0.70, 0.37), (0.92, 0.37))),
    (((0.34, 0.44), (0.24, 0.56)), ((0.66, 0.44), (0.76, 0.56))),
)
#: Legs together, apart, one kicking: the same from the hips.
_LEGS = (
    (((0.42, 0.76), (0.40, 0.96)), ((0.58, 0.76), (0.60, 0.96))),
    (((0.36, 0.80), (0.20, 0.96)), ((0.64, 0.80), (0.80, 0.96))),
    (((0.48, 0.80), (0.46, 0.96)), ((0.70, 0.675), (0.92, 0.675))),
)


def make_stick_figures(
    n_samples: int = 900,
    *,
    size: int = 20,
    noise: float = 0.05,
    random_state: Any = None,
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Images of stick figures, whose nine poses are three pairs of arms times three of legs.

    **Idea.** The arms of a figure are up, out or down; its legs together, apart, or one of them
    kicks. Head and trunk are always the same. Arms and legs share no pixel, so the mean image of
    a pose is exactly an upper body plus a lower body: six images make nine.

    **Use when** you want to see what structure among centroids is: free centroids learn nine
    figures, summed protocentroids three upper and three lower bodies. **Do not use** as a
    benchmark: it is easy. **Cost:** ``n_samples · size²`` draws.

    Parameters
    ----------
    n_samples : int, default=900
        Number of images; all poses are equally frequent, give or take one image.
    size : int, default=20
        Height and width of an image in pixels, at least 16.
    noise : float, default=0.05
        Standard deviation of the pixels. Values are cut off at 0 and 1 afterwards.
    random_state : int, RandomState instance or None, default=None
        Determines the images.

    Returns
    -------
    images : ndarray of shape (n_samples, size * size), float64
        Values from 0 (paper) to 1 (ink). ``images.reshape(-1, size, size)`` can be shown.
    poses : ndarray of shape (n_samples, 2), int64
        Arms (0 up, 1 out, 2 down) and legs (0 together, 1 apart, 2 one kicking).

    See Also
    --------
    make_double_digits : Handwritten digits in pairs.
    make_khatri_rao : Rows without a picture, of any size.

    Examples
    --------
    >>> from polymeans import KMeans
    >>> from polymeans.datasets import make_stick_figures
    >>> from polymeans.metrics import unsupervised_accuracy
    >>> images, poses = make_stick_figures(90, random_state=0)
    >>> images.shape
    (90, 400)
    >>> model = KMeans(9, n_init=5, random_state=0).fit(images)
    >>> unsupervised_accuracy(3 * poses[:, 0] + poses[:, 1], model.labels_)
    1.0
    """
    check_integer("n_samples", n_samples, 1)
    check_integer("size", size, 16, "Smaller figures cannot be told apart.")
    check_real("noise", noise, 0)
    rng = check_random_state(random_state)

    upper, lower = _bodies(size)
    poses = np.stack(np.divmod(balanced(rng, n_samples, 9), 3), axis=1)
    images = upper[poses[:, 0]] + lower[poses[:, 1]]
    images += noise * rng.standard_normal(images.shape)
    return np.clip(images, 0.0, 1.0, out=images), poses


def make_double_digits(
    n_samples: int = 1000, *, random_state: Any = None
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Images of two handwritten digits side by side, all hundred pairs of them.

    **Idea.** Two images are drawn independently from scikit-learn's digits. A pair is a left half
    plus a right half, so its hundred mean images are sums of ten left and ten right ones.

    **Use when** you want structure of this kind in images that people wrote. **Do not use** to
    judge methods on digits: rows are made of the same 1797 images again and again, so those of
    training and test rows are the same. **Cost:** copying the images.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of images.
    random_state : int, RandomState instance or None, default=None
        Determines the pairs.

    Returns
    -------
    X : ndarray of shape (n_samples, 128), float64
        Values from 0 (paper) to 1 (ink). ``X.reshape(-1, 8, 16)`` can be shown.
    digits : ndarray of shape (n_samples, 2), int64
        The digit on the left and the one on the right.

    See Also
    --------
    make_stick_figures : Images with exact structure.
    sklearn.datasets.load_digits : Where the digits come from.

    Examples
    --------
    >>> from polymeans.datasets import make_double_digits
    >>> X, digits = make_double_digits(500, random_state=0)
    >>> X.shape, digits.shape
    ((500, 128), (500, 2))
    """
    check_integer("n_samples", n_samples, 1)
    rng = check_random_state(random_state)
    values, names = load_digits(return_X_y=True)
    pairs = rng.randint(len(values), size=(n_samples, 2))
    # Row by row of the image: eight pixels of the left digit, then eight of the right one.
    images = (values / 16.0).reshape(-1, 8, 8)
    X = np.concatenate([images[pairs[:, 0]], images[pairs[:, 1]]], axis=2)
    return X.reshape(n_samples, 128), names[pairs].astype(np.int64)


def _bodies(size: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Three upper and three lower bodies, one flat image each."""
    trunk = [(_NECK, _HIPS)]
    above = (np.arange(size) + 0.5)[:, np.newaxis] < _WAIST * size
    head = _ink(np.abs(_distance(size, _HEAD, _HEAD) - _HEAD_RADIUS * size), size)
    upper = [
        np.where(above, np.maximum(head, _draw(size, trunk + _limbs(_SHOULDERS, arms))), 0.0)
        for arms in _ARMS
    ]
    lower = [np.where(above, 0.0, _draw(size, trunk + _limbs(_HIPS, legs))) for legs in _LEGS]
    return np.reshape(upper, (3, -1)), np.reshape(lower, (3, -1))


def _limbs(root: Any, pair: Any) -> list[Any]:
    """Lines from the root over the joint to the end of both limbs."""
    return [line for joint, end in pair for line in ((root, joint), (joint, end))]


def _draw(size: int, lines: list[Any]) -> NDArray[np.float64]:
    return _ink(np.min([_distance(size, *line) for line in lines], axis=0), size)


def _ink(distance: NDArray[np.float64], size: int) -> NDArray[np.float64]:
    """Full ink on a line, none away from it, a ramp of one pixel between (anti-aliasing)."""
    half_width = max(0.5, 0.03 * size)
    return np.clip(half_width + 0.5 - distance, 0.0, 1.0)


def _distance(size: int, start: Any, end: Any) -> NDArray[np.float64]:
    """Distance of each pixel's middle, in pixels, from the line between two points."""
    start, end = size * np.array(start), size * np.array(end)
    down = np.arange(size) + 0.5
    # The figure's axis runs through the middle of a column, lest the trunk be two grey ones.
    across = np.arange(size) - size // 2 + size / 2
    pixels = np.stack(np.meshgrid(across, down), axis=-1)
    along = end - start
    length = along @ along
    # The nearest point of the line, as a share of the way; a line may be a single point.
    share = np.clip((pixels - start) @ along / length, 0.0, 1.0) if length > 0 else 0.0
    nearest = start + np.asarray(share)[..., np.newaxis] * along
    return np.linalg.norm(pixels - nearest, axis=-1)
