"""Criteria for a number of clusters against their slow definitions."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import multivariate_normal

from polymeans.selection.criteria.bic import bic, lowest
from polymeans.selection.criteria.elbow import find_knee, steepness
from polymeans.selection.criteria.gap import Gap, first_sufficient, gap_statistic
from polymeans.selection.criteria.prediction_strength import prediction_strength
from polymeans.selection.criteria.thresholds import best_beyond, largest_above
from polymeans.selection.criteria.valleys import (
    NO_ROWS,
    Projections,
    best_windows,
    depth,
    neighbors,
    score,
)
from polymeans.selection.space import products_with


def slow_strength(own, predicted):
    worst = 1.0
    for cluster in set(own):
        rows = np.flatnonzero(own == cluster)
        pairs = list(itertools.combinations(rows, 2))
        if pairs:
            worst = min(worst, np.mean([predicted[a] == predicted[b] for a, b in pairs]))
    return worst


@pytest.mark.parametrize("seed", range(20))
def test_prediction_strength_counts_pairs(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 40))
    own = rng.integers(0, rng.integers(1, 6), n)
    predicted = rng.integers(0, rng.integers(1, 6), n)
    assert prediction_strength(own, predicted) == pytest.approx(slow_strength(own, predicted))


@pytest.mark.parametrize("seed", range(5))
def test_bic_is_that_of_the_densities(seed):
    rng = np.random.default_rng(seed)
    X, labels = rng.normal(size=(60, 3)), rng.integers(0, 4, 60)
    centers = np.stack([X[labels == c].mean(axis=0) for c in range(4)])
    inertia = float(((X - centers[labels]) ** 2).sum())
    sizes = np.bincount(labels, minlength=4)
    variance = inertia / X.size
    likelihood = sum(
        np.log(sizes[c] / 60) + multivariate_normal(centers[c], variance * np.eye(3)).logpdf(x)
        for x, c in zip(X, labels)
    )
    n_parameters = 4 * 3 + 3 + 1
    slow = -2 * likelihood + n_parameters * np.log(60)
    assert bic(inertia, sizes, 3, inertia) == pytest.approx(slow)


def test_bic_names_no_number_where_it_still_falls():
    values = np.array([1, 2, 3])
    assert lowest(values, np.array([3.0, 1.0, 2.0])) == 2
    assert lowest(values, np.array([1.0, 2.0, 3.0])) is None
    assert lowest(values, np.array([3.0, 2.0, 1.0])) is None


def test_the_gap_is_a_difference_of_logarithms():
    rng = np.random.default_rng(0)
    inertia, references = rng.random(4) + 1, rng.random((7, 4)) + 1
    found = gap_statistic(inertia, references)
    for k in range(4):
        logs = [np.log(one[k]) for one in references]
        mean = sum(logs) / 7
        spread = (sum((one - mean) ** 2 for one in logs) / 7) ** 0.5
        assert found.gap[k] == pytest.approx(mean - np.log(inertia[k]))
        assert found.error[k] == pytest.approx(spread * (1 + 1 / 7) ** 0.5)


def test_the_first_gap_within_the_error_of_the_next_is_taken():
    values = np.array([1, 2, 3, 4])
    error = np.full(4, 0.1)
    assert first_sufficient(values, Gap(np.array([0.0, 0.5, 0.55, 2.0]), error)) == 2
    assert first_sufficient(values, Gap(np.array([0.5, 0.5, 0.0, 0.0]), error)) is None
    assert first_sufficient(values, Gap(np.array([0.0, 1.0, 2.0, 3.0]), error)) is None


def test_rows_that_fill_space_evenly_have_no_knee():
    values = np.arange(1, 15)
    for dimensions in (1, 2, 5, 20):
        curve = 100.0 * values ** (-2.0 / dimensions)
        assert steepness(values, curve) == pytest.approx(np.full(13, 2.0 / dimensions))
        assert find_knee(values, curve) is None


def test_a_knee_is_found_where_the_curve_turns():
    values = np.arange(1, 10)
    assert find_knee(values, np.array([100, 50, 10, 9, 8.2, 7.5, 6.9, 6.4, 6.0])) == 3
    assert find_knee(values, np.array([100.0, 50, 0, 0, 0, 0, 0, 0, 0])) == 3
    assert find_knee(values, np.zeros(9)) is None
    assert find_knee(values[:2], np.array([2.0, 1.0])) is None


def test_thresholds_and_levels():
    values = np.array([1, 2, 3, 4])
    scores = np.array([np.nan, 0.9, 0.85, 0.2])
    assert largest_above(values, scores, 0.8) == 3
    assert largest_above(values, scores, 0.95) is None
    assert best_beyond(values, scores, 0.5) == 2
    assert best_beyond(values, scores, 0.95) is None
    assert best_beyond(values, np.full(4, np.nan), -np.inf) is None


# --- valleys -------------------------------------------------------------------------------------


def slow_counts(X, labels, a, b, i, j, share):
    """Rows in each bin along the line from centroid a to b, in the tube around it."""
    middle, half = (a + b) / 2, (b - a) / 2
    length = np.linalg.norm(half)
    along = np.array([(x - middle) @ half / length**2 for x in X])
    beside = np.array([np.linalg.norm(x - middle - t * half) ** 2 for x, t in zip(X, along)])
    own = beside[(labels == i) | (labels == j)]
    radius = np.quantile(own, share, method="higher")
    edges = np.linspace(-1.75, 1.75, 37)
    return np.histogram(along[beside <= radius * (1 + 1e-12)], edges)[0]


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_rows_are_counted_along_the_line_between_centroids(seed, sparse):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(200, 3)) + np.array([100, 0, 0]) * (not sparse)
    centers = X[rng.choice(200, 4, replace=False)]
    labels = ((X[:, None] - centers) ** 2).sum(axis=2).argmin(axis=1)
    seen = Projections(*products_with(sp.csr_array(X) if sparse else X, centers), labels)
    for i, j in itertools.combinations(range(4), 2):
        counts = seen.counts(i, j)
        for line, share in zip(counts, (0.5, 0.75, 0.95)):
            slow = slow_counts(X, labels, centers[i], centers[j], i, j, share)
            assert np.abs(line - slow).sum() <= 2  # a row at the edge of a bin or of the tube


@pytest.mark.parametrize("seed", range(10))
def test_the_best_windows_are_found(seed):
    line = np.random.default_rng(seed).integers(0, 30, 36)
    best = -np.inf
    for width in (3, 4, 5, 6, 8, 10):
        for middle in range(width, 36 - 2 * width + 1):
            mass = line[middle : middle + width].sum()
            left = max(line[s : s + width].sum() for s in range(middle - width + 1))
            right = max(line[s : s + width].sum() for s in range(middle + width, 36 - width + 1))
            best = max(best, min(score(left, mass), score(right, mass)))
    counts = np.zeros((2, 3, 36), dtype=np.int64)
    counts[0, 0] = counts[1, 2] = line
    windows = best_windows(counts)
    assert windows.share.tolist() == [0, 2]
    assert depth(counts, windows) == pytest.approx([best, best])


def test_no_rows_are_no_valley():
    nothing = np.zeros((1, 3, 36), dtype=np.int64)
    some = nothing.copy()
    some[0, 0, [2, 3, 4, 20, 21]] = 5
    assert depth(nothing, best_windows(nothing)).tolist() == [NO_ROWS]
    assert depth(nothing, best_windows(some)).tolist() == [NO_ROWS]
    assert depth(some, best_windows(nothing)).tolist() == [NO_ROWS]


@pytest.mark.parametrize("seed", range(5))
def test_neighbors_have_no_centroid_in_the_ball_between_them(seed):
    centers = np.random.default_rng(seed).normal(size=(8, 2))
    slow = [
        (i, j)
        for i, j in itertools.combinations(range(8), 2)
        if all(
            np.linalg.norm(c - (centers[i] + centers[j]) / 2)
            >= np.linalg.norm(centers[i] - centers[j]) / 2
            for number, c in enumerate(centers)
            if number not in (i, j)
        )
    ]
    assert neighbors(centers @ centers.T) == slow
