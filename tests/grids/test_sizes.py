"""Sizes of grids against brute force."""

from itertools import combinations_with_replacement
from math import e, prod

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polymeans.grids import (
    balanced_sizes,
    largest_grid,
    n_sets_bounds,
)


def all_sizes(n_sets, largest):
    return combinations_with_replacement(range(1, largest + 1), n_sets)


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 60), st.integers(1, 3))
def test_sizes_are_the_best_of_all(n_clusters, n_sets):
    sizes = balanced_sizes(n_clusters, n_sets)
    enough = [s for s in all_sizes(n_sets, n_clusters) if prod(s) >= n_clusters]
    best = min(enough, key=lambda s: (sum(s), prod(s), s[-1] - s[0]))
    assert sizes == best


@pytest.mark.parametrize(
    ("n_clusters", "n_sets", "sizes"),
    [(7, 2, (2, 4)), (13, 2, (3, 5)), (100, 2, (10, 10)), (1, 3, (1, 1, 1)), (8, 1, (8,))],
)
def test_sizes_of_primes_and_others(n_clusters, n_sets, sizes):
    assert balanced_sizes(n_clusters, n_sets) == sizes


def test_large_numbers_are_quick():
    assert balanced_sizes(10**6) == (1000, 1000)
    assert balanced_sizes(10**6, 6) == (10,) * 6
    assert prod(balanced_sizes(999983, 4)) >= 999983  # a prime


def partitions(total, smallest=1):
    for first in range(smallest, total // 2 + 1):
        for rest in partitions(total - first, first):
            yield (first, *rest)
    yield (total,)


@pytest.mark.parametrize("budget", range(1, 17))
def test_largest_grid_is_the_largest(budget):
    splits = list(partitions(budget))
    found = largest_grid(budget)
    assert sum(found) == budget
    assert prod(found) == max(map(prod, splits))
    assert len(found) == min(len(s) for s in splits if prod(s) == prod(found))
    for n_sets in range(1, min(budget, 4) + 1):
        given = largest_grid(budget, n_sets)
        assert (len(given), sum(given)) == (n_sets, budget)
        assert prod(given) == max(prod(s) for s in splits if len(s) == n_sets)


@pytest.mark.parametrize("budget", [12, 30, 99])
def test_best_number_of_sets_is_near_the_budget_over_e(budget):
    assert abs(len(largest_grid(budget)) - budget / e) <= 0.1 * budget


def test_bounds_of_the_number_of_sets():
    assert n_sets_bounds(125, 5) == (3, 32)
    assert n_sets_bounds(126, 5) == (4, 32)
    assert n_sets_bounds(1) == (1, 1)
    for k in range(1, 40):
        fewest, enough = n_sets_bounds(k, 3)
        assert 3**fewest >= k > 3 ** (fewest - 1) or fewest == 1
        assert fewest <= enough


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: balanced_sizes(0), "n_clusters must be an integer of at least 1, got 0"),
        (lambda: balanced_sizes(5, 0), "n_sets must be"),
        (lambda: largest_grid(3, 4), "n_sets must be at most budget=3, got 4"),
        (lambda: n_sets_bounds(5, 1), "min_size must be an integer of at least 2"),
    ],
)
def test_errors_of_sizes_name_the_parameter(call, message):
    with pytest.raises(ValueError, match=message):
        call()
