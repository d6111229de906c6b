"""Sums of sparse rows kept as numerators and remainders: exact, whatever moved before."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from polymeans.core.statistics import KnownSums
from polymeans.engine.accumulate import cell_statistics
from polymeans.engine.numerator_account import NumeratorAccount
from polymeans.engine.runners import LocalRunner

#: What remainders are kept in, and how far entries of the rows lie apart to make it so.
KINDS = {"none": 1.0, "float32": 2.0**4, "float64": 2.0**24}


def rows_of(kind, seed, n=120, d=150):
    rng = np.random.default_rng(seed)
    X = sp.random(n, d, density=0.1, random_state=seed, format="csr")
    if kind == "none":
        X.data = rng.integers(-9, 9, X.nnz).astype(np.float64)
    else:
        X.data = rng.uniform(1, 2, X.nnz) * KINDS[kind] ** rng.uniform(-1, 0, X.nnz)
        X.data *= rng.choice([-1.0, 1.0], X.nnz)
    return X


def expected(block, labels, n_clusters):
    return cell_statistics(block, labels, n_clusters, block.measured.total_square)


@pytest.mark.parametrize("kind", KINDS)
@given(seed=st.integers(0, 2**16), n_clusters=st.integers(1, 12))
@settings(max_examples=15, deadline=None)
def test_sums_after_any_moves_are_those_of_the_rows(kind, seed, n_clusters):
    rng = np.random.default_rng(seed)
    X = rows_of(kind, seed)
    weights = rng.choice([0.0, 1.0], X.shape[0], p=[0.1, 0.9])
    weights[0] = 1.0
    block = LocalRunner(X, weights).block
    account = NumeratorAccount(block, n_clusters)
    first = rng.random((n_clusters, block.measured.n_used)) * (np.arange(n_clusters) % 2)[:, None]
    known = KnownSums.unmeasured(first)
    labels = rng.integers(0, n_clusters, X.shape[0]).astype(np.int32)
    for _ in range(6):
        account.update(labels, labels)
        statistics = account.statistics
        fresh = expected(block, labels, n_clusters)
        np.testing.assert_array_equal(statistics.counts, fresh.counts)
        np.testing.assert_array_equal(statistics.mass, fresh.mass)
        clusters = statistics.changed[statistics.counts[statistics.changed] > 0]
        before = known.array.copy()
        squares, cross = np.zeros((2, 2, n_clusters))
        for take in (False, True):
            statistics.compare(known, clusters, take, squares[int(take)], cross[int(take)])
        # The same bits, whether sums were looked at, corrected or made anew.
        np.testing.assert_array_equal(squares[0], squares[1])
        np.testing.assert_array_equal(cross[0], cross[1])
        with_rows = fresh.counts > 0
        np.testing.assert_array_equal(known.array[with_rows], fresh.sums[with_rows])
        np.testing.assert_array_equal(known.array[~with_rows], before[~with_rows])
        np.testing.assert_allclose(
            squares[0][clusters], np.sum(fresh.sums[clusters] ** 2, axis=1), rtol=1e-12
        )
        np.testing.assert_allclose(
            cross[0][clusters], np.sum(fresh.sums * before, axis=1)[clusters], atol=1e-9
        )
        moved = rng.random(X.shape[0]) < rng.choice([0.01, 0.1, 0.6])
        labels = np.where(moved, rng.integers(0, n_clusters, len(labels)), labels).astype(np.int32)


@pytest.mark.parametrize("kind", KINDS)
def test_remainders_are_as_short_as_the_data_allow(kind):
    account = NumeratorAccount(LocalRunner(rows_of(kind, 0), np.ones(120)).block, 3)
    remainders = account._remainders
    assert (remainders.size == 0) == (kind == "none")
    if kind != "none":
        assert remainders.dtype == kind


def test_refitting_twice_from_the_same_totals_changes_nothing():
    runner = LocalRunner(rows_of("float32", 3), np.ones(120))
    account = NumeratorAccount(runner.block, 4)
    labels = (np.arange(120) % 4).astype(np.int32)
    known = KnownSums.unmeasured(np.zeros((4, runner.frame.n_used)))
    for step in range(3):
        labels[step] = 3 - labels[step]
        account.update(labels, labels)
        statistics = account.statistics
        found = []
        for _ in range(2):
            statistics.compare(known, statistics.changed, True, *np.zeros((2, 4)))
            found.append(known.array.copy())
        np.testing.assert_array_equal(*found)
        np.testing.assert_array_equal(found[0], expected(runner.block, labels, 4).sums)
