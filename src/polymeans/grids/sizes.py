"""Sizes of the sets of a grid."""

from collections.abc import Iterator
from math import prod
from typing import Any

from polymeans._validation import check_integer, shown


def balanced_sizes(n_clusters: int, n_sets: int = 2) -> tuple[int, ...]:
    """Sizes of sets of protocentroids for at least a given number of clusters.

    **Idea.** The fewest vectors with enough combinations. The number of clusters need not be a
    product: seven clusters fit into eight cells. Among sizes of the same sum the ones with the
    fewest superfluous cells are taken, then the most balanced.

    **Use when** you know how many clusters you want. **Do not use when** you know what the sets
    mean (three shirts, four trousers): then those are the sizes. **Cost:** negligible.

    Parameters
    ----------
    n_clusters : int
        Least number of combinations.
    n_sets : int, default=2
        Number of sets.

    Returns
    -------
    sizes : tuple of int
        In ascending order, for ``n_protocentroids`` of :class:`polymeans.KhatriRaoKMeans`.

    See Also
    --------
    largest_grid : The most clusters for a given number of vectors.

    Examples
    --------
    >>> from polymeans import balanced_sizes
    >>> balanced_sizes(12), balanced_sizes(7), balanced_sizes(100, n_sets=3)
    ((3, 4), (2, 4), (4, 5, 5))
    """
    check_integer("n_clusters", n_clusters, 1)
    check_integer("n_sets", n_sets, 1)
    budget = n_sets
    while prod(_even_split(budget, n_sets)) < n_clusters:
        budget += 1
    candidates = _splits(budget, n_sets, 1, n_clusters)
    return min(candidates, key=lambda sizes: (prod(sizes), sizes[-1] - sizes[0], sizes))


def largest_grid(budget: int, n_sets: int | None = None) -> tuple[int, ...]:
    """Sizes of sets with the most combinations for a given number of vectors.

    **Idea.** Sets of equal size have the most combinations; the best number of sets is near
    ``budget / e`` (Khatri-Rao clustering, proposition 8.1), which in whole numbers means sets of
    three. The budget need not be divisible.

    **Use when** memory is limited and there should be as many centroids as possible. **Do not use
    when** the sets are to be interpreted: two larger ones are easier to fit and to read than many
    of three. **Cost:** negligible.

    Parameters
    ----------
    budget : int
        Number of protocentroids in all sets together.
    n_sets : int or None, default=None
        Number of sets. None: the number with the most combinations, the fewest among equals.

    Returns
    -------
    sizes : tuple of int
        In ascending order; their sum is the budget.

    See Also
    --------
    balanced_sizes : The fewest vectors for a given number of clusters.

    Examples
    --------
    >>> from polymeans.grids import largest_grid
    >>> largest_grid(12), largest_grid(12, n_sets=2), largest_grid(10)
    ((3, 3, 3, 3), (6, 6), (3, 3, 4))
    """
    check_integer("budget", budget, 1)
    if n_sets is not None:
        check_integer("n_sets", n_sets, 1)
        if n_sets > budget:
            raise ValueError(
                f"n_sets must be at most budget={budget}, got {n_sets}: every set needs a vector."
            )
        return _even_split(budget, n_sets)
    if budget <= 4:
        return (budget,)
    # Five or more should be split (2 · 3 > 5), ones are useless, and 2 · 2 · 2 < 3 · 3.
    threes, rest = divmod(budget, 3)
    if rest == 0:
        return (3,) * threes
    return (2,) + (3,) * threes if rest == 2 else (3,) * (threes - 1) + (4,)


def n_sets_bounds(n_clusters: int, min_size: int = 2) -> tuple[int, int]:
    """Fewest sets with enough combinations, and a number of sets that fits any centroids.

    **Idea.** Proposition 8.2 of Khatri-Rao clustering. Fewer than ``log(n_clusters)`` sets, to the
    base of their size, have too few combinations. And if every set has one neutral vector (zeros in
    a sum, ones in a product), the others can be any given centroids themselves, so
    ``n_clusters / (min_size - 1)`` sets reproduce any centroids exactly.

    **Use when** choosing the number of sets. **Do not use** the upper bound as a recommendation:
    it saves nothing. **Cost:** negligible.

    Parameters
    ----------
    n_clusters : int
        Number of centroids.
    min_size : int, default=2
        Number of protocentroids in each set.

    Returns
    -------
    fewest, enough : int
        Bounds of the number of sets, both included.

    See Also
    --------
    largest_grid : The grid with the most cells for a number of vectors.
    polymeans.balanced_sizes : Sizes of a grid for a number of clusters.

    Examples
    --------
    >>> from polymeans.grids import n_sets_bounds
    >>> n_sets_bounds(100, min_size=10)
    (2, 12)
    """
    check_integer("n_clusters", n_clusters, 1)
    check_integer("min_size", min_size, 2, "Sets of one vector make no combinations.")
    fewest, cells = 0, 1  # in whole numbers: logarithms of powers are not exact
    while cells < n_clusters:
        fewest, cells = fewest + 1, cells * min_size
    return max(fewest, 1), -(-n_clusters // (min_size - 1))


def _even_split(budget: int, n_sets: int) -> tuple[int, ...]:
    """Sizes of a given sum that differ by at most one, in ascending order."""
    size, larger = divmod(budget, n_sets)
    return (size,) * (n_sets - larger) + (size + 1,) * larger


def _splits(budget: int, n_sets: int, smallest: int, wanted: int) -> Iterator[tuple[int, ...]]:
    """Ascending sizes of a given sum whose product is at least ``wanted``."""
    if n_sets == 1:
        if budget >= max(smallest, wanted):
            yield (budget,)
        return
    for size in range(smallest, budget // n_sets + 1):
        rest = budget - size
        # Even sizes have the largest product: if it is too small, all others are as well.
        if size * prod(_even_split(rest, n_sets - 1)) >= wanted:
            for others in _splits(rest, n_sets - 1, size, -(-wanted // size)):
                yield (size, *others)


def check_sizes(n_protocentroids: Any) -> tuple[int, ...]:
    """Sizes of sets as a tuple of int.

    Parameters
    ----------
    n_protocentroids : sequence of int
        What the user gave.

    Returns
    -------
    tuple of int
    """
    try:
        sizes = tuple(n_protocentroids)
    except TypeError:
        sizes = ()
    if not sizes or isinstance(n_protocentroids, str | bytes):
        raise TypeError(
            "n_protocentroids must be a sequence with the size of each set, such as (3, 4), "
            f"got {shown(n_protocentroids)}."
        )
    for size in sizes:
        check_integer("Each of n_protocentroids", size, 1)
    return tuple(int(size) for size in sizes)
