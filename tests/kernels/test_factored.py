"""Labels through sparse factors: the library's exact rule, whatever the factors look like."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from polymeans.core.threads import Threads
from polymeans.engine.factored_assigner import FactoredScores, unmeasured_block
from polymeans.engine.nearest import decide_contested, label_exactly
from polymeans.engine.survey import glance
from polymeans.kernels import factored_layout, lanes
from polymeans.kernels.rows import Book


class Codebook:
    """What the assigner asks of a codebook, and nothing else."""

    whole = None

    def __init__(self, factors, offset, dtype, is_sparse=False):
        self.factors = [sp.csr_array(factor, dtype=np.float64) for factor in factors]
        self.offset = np.asarray(offset, dtype=np.float64)
        product = self.factors[0]
        for factor in self.factors[1:]:
            product = product @ factor
        self.centers = (self.offset + product.toarray()).astype(dtype)
        self.n_clusters = len(self.centers)
        half = np.zeros(self.n_clusters)
        if is_sparse:
            half = 0.5 * np.einsum("ij,ij->i", *[self.centers.astype(np.float64)] * 2)
        self.book = Book(self.centers, np.ones(self.n_clusters), half, self.centers.shape[1])


def exact_labels(rows, codebook):
    """Nearest centroids without rounding (compared with fractions in test_nearest)."""
    labels = np.empty(rows.n_samples, dtype=np.int32)
    label_exactly(rows, codebook, labels)
    return labels


def make_rows(X):
    return glance(X, np.ones(X.shape[0]))


def assigned(rows, codebook, n_threads=1):
    labels = np.full(rows.n_samples, -7, dtype=np.int32)
    assigner = FactoredScores(rows, codebook)
    with Threads(n_threads):
        assigner.assign(codebook, np.full(rows.n_samples, -1, dtype=np.int32), labels)
        decide_contested(rows, codebook, labels)
    return labels, assigner.n_settled


def random_factor(rng, shape, density, scale=1.0):
    mask = rng.random(shape) < density
    return np.where(mask, scale * rng.standard_normal(shape), 0.0)


@st.composite
def problems(draw):
    """Rows and factors of all kinds: few values, hence ties; empty rows and columns; extremes."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    dtype = draw(st.sampled_from([np.float32, np.float64]))
    n_factors = draw(st.integers(1, 4))
    sizes = [draw(st.sampled_from([1, 2, 3, 7, 16, 40])) for _ in range(n_factors)]
    sizes.append(draw(st.sampled_from([1, 2, 5, 8, 17, 64, 65, 131])))
    n = draw(st.sampled_from([1, 7, 8, 16, 17, 50]))
    density = draw(st.sampled_from([0.0, 0.1, 0.5, 1.0]))
    # Gauges between the factors, which the product does not see.
    gauges = [draw(st.sampled_from([1.0, 1e-6, 1e8])) for _ in range(n_factors - 1)]
    factors = [random_factor(rng, shape, density) for shape in pairwise(sizes)]
    if draw(st.booleans()):  # whole numbers: exact ties
        factors = [np.round(factor) for factor in factors]
    for gauge, left, right in zip(gauges, factors, factors[1:]):
        left *= gauge
        right /= gauge
    if draw(st.booleans()) and sizes[0] > 1:  # equal centroids
        factors[0][-1] = factors[0][0]
    scale = draw(st.sampled_from([1.0, 1e-25, 1e-10, 1e12, 1e25]))
    away = draw(st.sampled_from([0.0, 0.0, 3.0, 1e3, 1e6]))
    offset = away + draw(st.sampled_from([0.0, 1.0])) * rng.standard_normal(sizes[-1])
    if draw(st.booleans()):
        offset[:] = 0.0
    X = np.round(2 * rng.standard_normal((n, sizes[-1]))) + away
    if draw(st.booleans()):  # rows that are centroids, or half-way between two
        product = np.linalg.multi_dot([*factors, np.eye(sizes[-1])])
        pairs = rng.integers(0, sizes[0], (2, n))
        X = offset + 0.5 * (product[pairs[0]] + product[pairs[1]])
    factors[0] *= scale
    return (scale * X).astype(dtype), factors, scale * offset


def in_rows_unit(rows, factors, offset):
    """Factors and offset in the coordinates the engine works in."""
    return [factors[0] / rows.frame.unit, *factors[1:]], offset / rows.frame.unit


@settings(max_examples=100, deadline=None)
@given(problems())
def test_dense_labels_are_those_of_exact_scores(problem):
    X, factors, offset = problem
    rows = make_rows(X)
    codebook = Codebook(*in_rows_unit(rows, factors, offset), X.dtype)
    labels, _ = assigned(rows, codebook)
    np.testing.assert_array_equal(labels, exact_labels(rows, codebook))


@settings(max_examples=100, deadline=None)
@given(problems())
def test_rows_met_for_the_first_time_get_the_same_labels(problem):
    X, factors, offset = problem
    codebook = Codebook(factors, offset, X.dtype)
    if not np.isfinite(codebook.centers).all():
        return
    rows = unmeasured_block(X, codebook.centers)
    labels, _ = assigned(rows, codebook)
    np.testing.assert_array_equal(labels, exact_labels(rows, codebook))


def test_rows_met_for_the_first_time_may_be_anywhere_and_are_checked_on_the_way():
    rng = np.random.default_rng(10)
    factors = [random_factor(rng, shape, 0.3) for shape in [(50, 70), (70, 200)]]
    product = factors[0] @ factors[1]
    X = product[rng.integers(0, 50, 2000)] + 5 * rng.standard_normal((2000, 200)) + 1000
    codebook = Codebook(factors, np.full(200, 1000.0), np.float32)
    rows = unmeasured_block(X.astype(np.float32), codebook.centers)
    assigner = FactoredScores(rows, codebook)
    labels = np.empty(2000, dtype=np.int32)
    assigner.assign(codebook, labels, labels)
    assert rows.frame.shifted
    assert assigner.finite
    assert assigner.n_settled <= 20
    np.testing.assert_array_equal(labels, exact_labels(rows, codebook))
    rows.arrays.values[1234, 56] = np.inf
    assigner.assign(codebook, labels, labels)
    assert not assigner.finite


@settings(max_examples=100, deadline=None)
@given(problems(), st.sampled_from([0.0, 0.2, 0.7]))
def test_sparse_labels_are_those_of_exact_scores(problem, share):
    X, factors, offset = problem
    keep = np.random.default_rng(0).random(X.shape) < share
    rows = make_rows(sp.csr_array(np.where(keep, X, 0)))
    factors, offset = in_rows_unit(rows, factors, offset)
    factors = [*factors[:-1], factors[-1][:, rows.frame.order]]
    codebook = Codebook(factors, offset[rows.frame.order], X.dtype, is_sparse=True)
    labels, _ = assigned(rows, codebook)
    np.testing.assert_array_equal(labels, exact_labels(rows, codebook))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("sparse", [False, True])
def test_most_rows_need_no_exact_scores(dtype, sparse):
    rng = np.random.default_rng(3)
    factors = [random_factor(rng, shape, 0.3) for shape in [(50, 70), (70, 200)]]
    product = factors[0] @ factors[1]
    X = product[rng.integers(0, 50, 2000)] + 20 * rng.standard_normal((2000, 200))
    X = X.astype(dtype)
    rows = make_rows(sp.csr_array(X) if sparse else X)
    if sparse:
        factors[-1] = factors[-1][:, rows.frame.order]
    codebook = Codebook(factors, np.zeros(200), dtype, sparse)
    labels, n_settled = assigned(rows, codebook)
    np.testing.assert_array_equal(labels, exact_labels(rows, codebook))
    assert n_settled <= 20
    assert len(np.unique(labels)) > 10


@pytest.mark.parametrize("sparse", [False, True])
def test_more_features_than_are_transposed_at_a_time(sparse):
    rng = np.random.default_rng(9)
    n_features = factored_layout.TILE + 130
    factors = [np.round(random_factor(rng, s, 0.02)) for s in [(20, 30), (30, n_features)]]
    X = np.round(random_factor(rng, (50, n_features), 0.1)).astype(np.float32)
    rows = make_rows(sp.csr_array(X) if sparse else X)
    if sparse:
        factors[-1] = factors[-1][:, rows.frame.order]
    codebook = Codebook(factors, np.zeros(factors[-1].shape[1]), np.float32, sparse)
    labels, _ = assigned(rows, codebook)
    np.testing.assert_array_equal(labels, exact_labels(rows, codebook))


def test_one_centroid_far_away_does_not_blur_the_others():
    rng = np.random.default_rng(4)
    factors = [random_factor(rng, shape, 0.3) for shape in [(30, 40), (40, 100)]]
    factors[0][7] *= 1e6
    product = factors[0] @ factors[1]
    X = product[rng.integers(0, 7, 1000)] + rng.standard_normal((1000, 100))
    rows = make_rows(X.astype(np.float32))
    codebook = Codebook(factors, np.zeros(100), np.float32)
    labels, n_settled = assigned(rows, codebook)
    np.testing.assert_array_equal(labels, exact_labels(rows, codebook))
    assert n_settled <= 20


def test_beyond_the_range_of_float32_only_exact_scores_decide():
    rng = np.random.default_rng(5)
    # The terms are huge, their sum is not: centroids of ordinary size.
    left = np.array([[1e30, -1e30], [1.0, 0.0], [0.0, 1.0]])
    right = rng.standard_normal((1, 20)) * np.ones((2, 1))
    right[1] += 1e-30
    rows = make_rows(rng.standard_normal((40, 20)).astype(np.float32))
    codebook = Codebook([left, 1e9 * right], np.zeros(20), np.float32)
    labels, n_settled = assigned(rows, codebook)
    np.testing.assert_array_equal(labels, exact_labels(rows, codebook))
    assert n_settled == 40


@pytest.mark.parametrize("sparse", [False, True])
def test_same_labels_for_any_number_of_threads(sparse):
    rng = np.random.default_rng(6)
    factors = [np.round(random_factor(rng, s, 0.3)) for s in [(20, 30), (30, 30), (30, 70)]]
    X = np.round(rng.standard_normal((1003, 70))).astype(np.float32)
    results = []
    for n_threads in (1, 2, 3):
        rows = make_rows(sp.csr_array(X) if sparse else X)
        used = [*factors[:-1], factors[-1][:, rows.frame.order] if sparse else factors[-1]]
        codebook = Codebook(used, np.zeros(70), np.float32, sparse)
        results.append(assigned(rows, codebook, n_threads))
    for labels, n_settled in results[1:]:
        np.testing.assert_array_equal(labels, results[0][0])
        assert n_settled == results[0][1]


def test_nothing_it_was_given_is_changed():
    rng = np.random.default_rng(7)
    X = rng.standard_normal((50, 30)).astype(np.float32) + 100
    codebook = Codebook([random_factor(rng, s, 0.4) for s in [(9, 6), (6, 30)]], X[0], X.dtype)
    before = X.copy(), [factor.copy() for factor in codebook.factors], codebook.centers.copy()
    assigned(make_rows(X), codebook)
    np.testing.assert_array_equal(X, before[0])
    np.testing.assert_array_equal(codebook.centers, before[2])
    for factor, copy in zip(codebook.factors, before[1]):
        assert (factor != copy).nnz == 0


@settings(max_examples=60, deadline=None)
@given(problems())
def test_balancing_changes_no_bit_of_the_product(problem):
    _, factors, _ = problem
    factors = [sp.csr_array(np.round(factor, 3)) for factor in factors]
    balanced = factored_layout.balance(factors)
    for factor in balanced[1:]:
        sums = np.abs(factor.toarray()).sum(axis=1)
        assert np.all((sums == 0) | ((sums >= 0.49) & (sums <= 1.01)))
    product, same = factors[-1], balanced[-1]
    for left, scaled in zip(factors[-2::-1], balanced[-2::-1]):
        product, same = left @ product, scaled @ same
    np.testing.assert_array_equal(product.toarray(), same.toarray())


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_lanes_begin_at_cache_lines(dtype):
    for height in (1, 3, 64):
        array = lanes.lane_array(height, dtype)
        assert array.shape == (height, 64 // np.dtype(dtype).itemsize)
        assert array.ctypes.data % 64 == 0
