"""Rows whose centroids are combinations of a few parts, as in Khatri-Rao clustering."""

from collections.abc import Sequence
from math import prod
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polymeans._validation import check_choice, check_integer, check_real, check_seed, shown
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

    **Use when** you need data that have such structure, or, with ``interaction``, have it in part.
    **Do not use** to judge how well the structure fits real data. **Cost:** ``n_samples ·
    n_features`` draws; with ``interaction`` also one for each entry of all centroids.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of rows.
    n_protocentroids : sequence of int, default=(3, 3)
        Protocentroids in each set; any number of sets.
    n_features : int, default=2
        Number of columns. With few of them, different combinations may be close to each other.
    aggregator : {"sum", "product"}, default="sum"
        How protocentroids combine.
    interaction : float, default=0.0
        Share of the variance of the centroids (of their logarithms, for products; all combinations
        counted equally) that no protocentroids can express. 0 is exact structure, 1 none at all:
        members of a single set carry no information then. Centroids drawn independently have about
        ``1 - Σ(h - 1) / (Πh - 1)``, one half for two sets of three.
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
        The protocentroid of each set that a row was made of. One label for each combination is
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
    interaction = check_range("interaction", interaction, 0.0, 1.0)
    noise = check_real("noise", noise, 0)
    spread = check_real("spread", spread, 0)
    if interaction > 0 and sum(h > 1 for h in grid) < 2:
        raise ValueError(
            f"interaction must be 0 for n_protocentroids={grid}, got {interaction!r}: only sets "
            "of at least two protocentroids can interact. Give two such sets."
        )
    rng = check_seed(random_state)

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
    if isinstance(n_protocentroids, str | bytes | Integral) or not np.iterable(n_protocentroids):
        raise TypeError(
            "n_protocentroids must be a sequence of integers, got "
            f"{shown(n_protocentroids)}. {remedy}"
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

    As in an analysis of variance: the added part has mean zero over the combinations of every
    protocentroid, so it is orthogonal to all sums of parts, and the variances of both add up.
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
