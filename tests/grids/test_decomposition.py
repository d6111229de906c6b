"""Centroids taken apart: exact grids in any order, tiny ones against all pairings, odd input."""

from itertools import permutations

import numpy as np
import pytest

from polymeans.codebooks.additive import fit_additive
from polymeans.codebooks.aggregation import combine
from polymeans.codebooks.multiplicative import fit_multiplicative
from polymeans.grids import arrangement_search, matching
from polymeans.grids.decomposition import decompose_centroids

AGGREGATORS = ("sum", "product")


def grid(sizes, n_features, aggregator, seed, positive=False):
    """Centroids of an exact grid in random order, and the cell of each."""
    rng = np.random.default_rng(seed)
    sets = [rng.normal(size=(size, n_features)) for size in sizes]
    if positive:
        sets = [np.exp(theta / 2) for theta in sets]
    centers = combine(sets, aggregator)
    cells = rng.permutation(len(centers))
    return centers[cells], cells


def total(centers, weights, found, aggregator):
    missed = centers - combine(found.protocentroids, aggregator)[found.cells]
    return weights @ (missed**2).sum(axis=1)


@pytest.mark.parametrize("aggregator", AGGREGATORS)
@pytest.mark.parametrize(
    "sizes", [(2, 3), (3, 4), (6, 5), (10, 10), (2, 3, 4), (2, 2, 2, 2), (1, 5)]
)
@pytest.mark.parametrize("seed", [0, 1])
def test_exact_grids_are_recovered_in_any_order(aggregator, sizes, seed):
    centers, cells = grid(sizes, 6, aggregator, seed)
    found = decompose_centroids(centers, sizes, aggregator=aggregator, random_state=seed)
    rebuilt = combine(found.protocentroids, aggregator)[found.cells]
    np.testing.assert_allclose(rebuilt, centers, atol=1e-9)
    assert found.share == pytest.approx(1)
    if len(set(sizes)) == len(sizes):
        # Slices of the grid are the same sets of centroids, whatever their names.
        for ours, true in zip(np.unravel_index(found.cells, sizes), np.unravel_index(cells, sizes)):
            assert len(set(zip(ours, true))) == len(set(true))


def test_noise_leaves_the_pairing_as_it_was():
    centers, cells = grid((4, 6), 10, "sum", 3)
    noisy = centers + 0.05 * np.random.default_rng(0).normal(size=centers.shape)
    found = decompose_centroids(noisy, (4, 6), random_state=0)
    for ours, true in zip(np.unravel_index(found.cells, (4, 6)), np.unravel_index(cells, (4, 6))):
        assert len(set(zip(ours, true))) == len(set(true))


def least_error(centers, weights, sizes, aggregator):
    """The best of all pairings."""
    n_cells, least = int(np.prod(sizes)), np.inf
    for cells in permutations(range(n_cells), len(centers)):
        masses, targets = np.zeros(n_cells), np.zeros((n_cells, centers.shape[1]))
        masses[list(cells)], targets[list(cells)] = weights, centers
        start = [np.ones((size, centers.shape[1])) for size in sizes]
        if aggregator == "sum":
            fitted = fit_additive(targets, masses, start)
        else:
            fitted = fit_multiplicative(masses[:, None] * targets, masses, start)
        missed = (targets - combine(fitted, aggregator)) ** 2
        least = min(least, masses @ missed.sum(axis=1))
    return least


@pytest.mark.parametrize("aggregator", AGGREGATORS)
@pytest.mark.parametrize(("sizes", "k"), [((2, 2), 4), ((2, 2), 3), ((2, 3), 6), ((2, 3), 5)])
@pytest.mark.parametrize("seed", range(3))
def test_no_pairing_of_a_tiny_grid_is_better(aggregator, sizes, k, seed):
    rng = np.random.default_rng(seed)
    centers = rng.normal(size=(k, 2)) + 3 * (seed % 2)
    weights = rng.integers(1, 20, size=k).astype(float)
    found = decompose_centroids(
        centers, sizes, aggregator=aggregator, weights=weights, n_init=16, random_state=0
    )
    assert found.error <= least_error(centers, weights, sizes, aggregator) * (1 + 1e-6) + 1e-12


@pytest.mark.parametrize("aggregator", AGGREGATORS)
def test_error_is_that_of_the_result_and_never_rises(aggregator):
    rng = np.random.default_rng(5)
    centers, weights = rng.normal(size=(20, 4)) + 1, rng.uniform(0.5, 9, size=20)
    found = decompose_centroids(
        centers, (4, 6), aggregator=aggregator, weights=weights, random_state=0
    )
    assert found.error == pytest.approx(total(centers, weights, found, aggregator))
    assert found.error == found.history[-1]
    assert (np.diff(found.history) <= 0).all()
    mean = np.average(centers, axis=0, weights=weights)
    variance = weights @ ((centers - mean) ** 2).sum(axis=1)
    assert found.share == pytest.approx(1 - found.error / variance)
    assert len(np.unique(found.cells)) == 20
    assert found.cells.min() >= 0
    assert found.cells.max() < 24


def test_same_seed_same_result():
    centers = np.random.default_rng(0).normal(size=(12, 3))
    first, second = (decompose_centroids(centers, (3, 4), random_state=7) for _ in range(2))
    np.testing.assert_array_equal(first.cells, second.cells)
    assert first.error == second.error


@pytest.mark.parametrize("aggregator", AGGREGATORS)
def test_one_set_is_the_centroids_themselves(aggregator):
    centers = np.random.default_rng(0).normal(size=(5, 3))
    found = decompose_centroids(centers, (7,), aggregator=aggregator, weights=[1, 0, 2, 0, 3])
    np.testing.assert_allclose(found.protocentroids[0][found.cells], centers)
    assert np.isfinite(found.protocentroids[0]).all()
    assert (found.error, found.share) == (0.0, 1.0)


@pytest.mark.parametrize("aggregator", AGGREGATORS)
def test_a_known_pairing_is_kept(aggregator):
    rng = np.random.default_rng(0)
    centers, cells = grid((3, 4), 5, aggregator, 1)
    found = decompose_centroids(
        centers, (3, 4), aggregator=aggregator, cells=cells, weights=[0] + [1] * 11
    )
    np.testing.assert_array_equal(found.cells, cells)
    assert found.share == pytest.approx(1)
    wrong = decompose_centroids(
        centers, (3, 4), aggregator=aggregator, cells=rng.permutation(cells)
    )
    assert wrong.share < 0.95
    assert wrong.error == pytest.approx(total(centers, np.ones(12), wrong, aggregator))


@pytest.mark.parametrize("aggregator", AGGREGATORS)
def test_fewer_centroids_than_cells(aggregator):
    centers, _ = grid((3, 5), 6, aggregator, 2)
    found = decompose_centroids(centers[:13], (3, 5), aggregator=aggregator, random_state=0)
    assert found.share == pytest.approx(1)
    tiny = decompose_centroids(centers[:1], (3, 5), aggregator=aggregator, random_state=0)
    assert tiny.error == pytest.approx(0, abs=1e-12)
    assert tiny.share == 1


@pytest.mark.parametrize("aggregator", AGGREGATORS)
def test_centroids_without_weight_change_nothing_but_get_a_cell(aggregator):
    centers, _ = grid((3, 4), 5, aggregator, 4)
    weights = np.ones(12)
    weights[[2, 7]] = 0
    astray = centers.copy()
    astray[2] = 1e6
    found = decompose_centroids(
        astray, (3, 4), aggregator=aggregator, weights=weights, random_state=0
    )
    assert found.error == pytest.approx(0, abs=1e-12)
    assert len(np.unique(found.cells)) == 12


def test_products_take_zeros_and_any_sign():
    first = np.array([[1.0, -2, 0], [3, 0, 0], [-1, 5, 0]])
    second = np.array([[2.0, 1, 4], [-1, 0, 4]])
    centers = combine([first, second], "product")[[3, 0, 5, 1, 4, 2]]
    found = decompose_centroids(centers, (3, 2), aggregator="product", random_state=0)
    np.testing.assert_allclose(
        combine(found.protocentroids, "product")[found.cells], centers, atol=1e-9
    )


@pytest.mark.parametrize("aggregator", AGGREGATORS)
@pytest.mark.parametrize(
    "centers",
    [np.zeros((6, 2)), np.ones((6, 2)), np.full((6, 1), 1e-300), np.eye(6), -1e180 * np.eye(6)],
    ids=["zeros", "ones", "tiny", "sparse", "huge"],
)
def test_odd_centroids_give_numbers(aggregator, centers):
    with np.errstate(over="ignore"):  # the error of huge centroids is beyond any number
        found = decompose_centroids(centers, (2, 3), aggregator=aggregator, random_state=0)
    assert all(np.isfinite(theta).all() for theta in found.protocentroids)
    assert not np.isnan(found.error)
    assert found.share <= 1


@pytest.mark.parametrize("aggregator", AGGREGATORS)
def test_units_do_not_matter(aggregator):
    rng = np.random.default_rng(1)
    centers, weights = rng.normal(size=(12, 3)), rng.uniform(1, 5, size=12)
    options = {"aggregator": aggregator, "random_state": 0}
    plain = decompose_centroids(centers, (3, 4), weights=weights, **options)
    scaled = decompose_centroids(1024 * centers, (3, 4), weights=4 * weights, **options)
    np.testing.assert_array_equal(plain.cells, scaled.cells)
    assert scaled.error == pytest.approx(plain.error * 1024**2 * 4)


def test_many_centroids_are_matched_with_near_cells_only(monkeypatch):
    monkeypatch.setattr(matching, "_FULL_MATCHING", 0)
    monkeypatch.setattr(arrangement_search, "_MOST_FOR_SWAPS", 0)
    centers, _ = grid((12, 15), 20, "sum", 0)
    noisy = centers + 0.05 * np.random.default_rng(0).normal(size=centers.shape)
    found = decompose_centroids(noisy, (12, 15), random_state=0)
    assert found.share > 0.99
    assert len(np.unique(found.cells)) == 180
    assert (np.diff(found.history) <= 0).all()


def test_restricted_matching_is_never_worse_than_the_present_one(monkeypatch):
    rng = np.random.default_rng(0)
    cost = rng.random((50, 60))
    present = rng.permutation(60)[:50]
    full = matching.match(cost, None)
    monkeypatch.setattr(matching, "_FULL_MATCHING", 0)
    rows = np.arange(50)
    for start in (present, None):
        near = matching.match(cost, start)
        assert len(set(near)) == 50
        assert cost[rows, full].sum() <= cost[rows, near].sum() <= cost[rows, present].sum()


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"n_protocentroids": (2, 2)}, ValueError, r"makes 4 cells.*balanced_sizes\(6\)"),
        ({"n_protocentroids": 6}, TypeError, "n_protocentroids must be a sequence"),
        ({"n_protocentroids": (0, 6)}, ValueError, "n_protocentroids must be an integer"),
        ({"aggregator": "max"}, ValueError, "aggregator must be one of 'sum', 'product'"),
        ({"cells": [0, 1, 2, 3, 4, 4]}, ValueError, "cells must be 6 different integers"),
        ({"n_init": 0}, ValueError, "n_init must be an integer of at least 1"),
        ({"weights": [-1] * 6}, ValueError, "Negative values"),
        ({"centers": [[np.nan]] * 6}, ValueError, "centers contains NaN"),
    ],
)
def test_errors_name_the_parameter(change, error, message):
    arguments = {"centers": np.eye(6), "n_protocentroids": (2, 3)} | change
    with pytest.raises(error, match=message):
        decompose_centroids(**arguments)
