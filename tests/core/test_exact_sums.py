"""Sums that do not round: against fractions, in any order, at any magnitude."""

import math
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from polymeans.core.exact_sums import ExactSum, Ladder, TermRange
from polymeans.engine.accounts import CellAccount
from polymeans.engine.runners import LocalRunner

any_number = st.floats(allow_nan=False, allow_infinity=False)


@settings(deadline=None, max_examples=200)
@given(st.lists(any_number, max_size=30))
def test_single_sums_are_exact(values):
    values = np.array(values, dtype=np.float64)
    exact = sum(map(Fraction, values.tolist()), Fraction(0))
    if abs(exact) < 2**1023:
        half = len(values) // 2
        whole = ExactSum.of(values)
        parts = ExactSum.of(values[:half]) + ExactSum.of(values[half:])
        assert float(whole) == float(parts) == exact.numerator / exact.denominator


def test_many_parts_do_not_overflow_a_bin():
    part = ExactSum.of(np.full(1000, 2.0**31 + 1))
    total = ExactSum()
    for _ in range(3000):
        total += part
    assert float(total) == 3_000_000 * (2.0**31 + 1)


@st.composite
def rows_of_any_size(draw):
    """Rows whose entries have a common magnitude, several, or any; rows of no weight among them."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, d = draw(st.integers(1, 60)), draw(st.integers(1, 4))
    dtype = draw(st.sampled_from([np.float32, np.float64]))
    X = rng.standard_normal((n, d))
    kind = draw(st.sampled_from(["plain", "integers", "giants", "wide", "constant"]))
    if kind == "integers":
        X = rng.integers(-5, 6, (n, d)).astype(float)
    elif kind == "giants":
        X[rng.random(n) < 0.2] *= 1e30
    elif kind == "wide":
        X *= 10.0 ** rng.uniform(-14, 14, (n, d))
    elif kind == "constant":
        X[:] = X[0]
    weights = np.ones(n)
    if draw(st.booleans()):
        weights = rng.random(n) * rng.integers(0, 3, n) * 10.0 ** rng.uniform(-5, 5, n)
        weights[0] = 1.0
    return X.astype(dtype), weights, draw(st.booleans()), rng


def by_hand(terms, labels, k):
    """Sums of each cluster with fsum: (k, d)."""
    columns = range(terms.shape[1])
    return np.array([[math.fsum(terms[labels == j, t]) for t in columns] for j in range(k)])


@settings(deadline=None, max_examples=150)
@given(rows_of_any_size())
def test_cluster_sums_are_exact_whatever_happened_before(problem):
    X, weights, sparse, rng = problem
    k = 3
    runner = LocalRunner(sp.csr_matrix(X) if sparse else X, weights)
    frame, block = runner.frame, runner.block
    inside = block.matrix().toarray() if sparse else block.matrix()
    terms = block.weights[:, None] * inside.astype(np.float64)
    account = CellAccount(block, k)
    labels = np.full(len(X), -1, dtype=np.int32)
    for share in (1.0, 0.3, 0.1, 0.5):
        previous, labels = labels, labels.copy()
        moved = rng.random(len(X)) < share if share < 1 else np.ones(len(X), dtype=bool)
        labels[moved] = rng.integers(0, k, np.count_nonzero(moved))
        account.update(previous, labels)
        statistics = account.statistics
        from polymeans.kernels import exact

        sums = np.empty((k, frame.n_used))
        exact.round_clusters(statistics.rungs, np.arange(k), sums)
        np.testing.assert_array_equal(sums, by_hand(terms, labels, k))
        mass = [math.fsum(block.weights[labels == j]) for j in range(k)]
        np.testing.assert_array_equal(statistics.mass, mass)


def test_sums_about_the_origin_lose_nothing_but_the_last_rounding():
    rng = np.random.default_rng(0)
    X = 1e8 + rng.standard_normal((500, 3))
    runner = LocalRunner(X, np.ones(500))
    assert runner.frame.shifted
    labels = rng.integers(0, 4, 500).astype(np.int32)
    account = CellAccount(runner.block, 4)
    account.update(np.full(500, -1, dtype=np.int32), labels)
    origin = [Fraction(o) for o in runner.frame.origin.tolist()]
    for j in range(4):
        for t in range(3):
            exact = sum((Fraction(x) - origin[t] for x in X[labels == j, t].tolist()), Fraction(0))
            assert account.statistics.sums[j, t] == pytest.approx(float(exact), rel=1e-15)


def test_most_float32_data_need_one_rung():
    pixels = np.random.default_rng(0).integers(0, 256, (2000, 20)).astype(np.float32) / 255
    assert LocalRunner(pixels, np.ones(2000)).frame.ladder.n_rungs == 1
    whole = np.random.default_rng(0).integers(0, 17, (2000, 20)).astype(np.float64)
    assert LocalRunner(whole, np.ones(2000)).frame.ladder.n_rungs == 1


def test_a_gap_between_magnitudes_costs_no_rungs():
    X = np.random.default_rng(0).standard_normal((100, 2))
    X[0] *= 1e12
    far = LocalRunner(X, np.ones(100)).frame.ladder
    X[0] *= 1e-12 * 1e100
    X[1:] *= 1e90
    wide = Ladder.for_terms(TermRange(1e100, 1e-10, False), 100)
    assert far.n_rungs <= 5 < wide.n_rungs


def test_the_compiler_keeps_the_rounding():
    from polymeans.kernels import exact

    magics = np.array([1.5 * 2.0**52])
    total = np.zeros((2, 1))
    exact.add_dense(np.array([0.75]), 1.0, magics, total)
    np.testing.assert_array_equal(total[:, 0], [1.0, -0.25])
