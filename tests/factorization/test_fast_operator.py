"""A product of sparse factors as an operator: the matrix it stands for, without being it."""

import pickle
from functools import reduce
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse.linalg import LinearOperator, svds

from polymeans.factorization import FastOperator
from polymeans.kernels.factored_layout import TILE


def random_factors(rng, sizes, density, dtype=np.float64):
    return [
        np.where(rng.random(s) < density, rng.standard_normal(s), 0.0).astype(dtype)
        for s in pairwise(sizes)
    ]


def multiplied(factors):
    return reduce(np.matmul, [np.asarray(factor, dtype=np.float64) for factor in factors])


@st.composite
def chains(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    sizes = [draw(st.sampled_from([1, 2, 5, 16, 33])) for _ in range(draw(st.integers(1, 4)))]
    sizes.append(draw(st.sampled_from([1, 3, 8, 64, 67, 130])))
    dtype = draw(st.sampled_from([np.float32, np.float64]))
    density = draw(st.sampled_from([0.0, 0.2, 1.0]))
    n = draw(st.sampled_from([1, 8, 15, 16, 33]))
    X = rng.standard_normal((n, sizes[-1])).astype(draw(st.sampled_from([np.float32, np.float64])))
    return random_factors(rng, sizes, density, dtype), X


@settings(max_examples=100, deadline=None)
@given(chains())
def test_it_is_the_product_of_its_factors(problem):
    factors, X = problem
    V = multiplied(factors)
    operator = FastOperator([sp.csr_array(factor) for factor in factors])
    # What rounding can do to any order of additions.
    terms = sum(factor.shape[1] for factor in factors) + 8
    size = reduce(np.matmul, [np.abs(factor).astype(np.float64) for factor in factors])

    def check(result, expected, bound):
        unit = np.finfo(result.dtype).eps
        assert result.shape == expected.shape
        assert np.all(np.abs(result - expected) <= terms * unit * bound + 1e-30)

    both = np.result_type(operator.dtype, X.dtype)
    for rows in (X, sp.csr_array(X), sp.csr_matrix(X), np.asfortranarray(X)):
        products = operator.products(rows)
        assert products.dtype == both
        assert products.flags.c_contiguous
        check(products, X @ V.T, np.abs(X) @ size.T)
    check(operator @ X.T, V @ X.T, size @ np.abs(X.T))
    check(operator @ X[0], V @ X[0], size @ np.abs(X[0]))
    check(operator.toarray(), V, size)
    y = np.arange(1.0, len(V) + 1).astype(X.dtype)
    for back in (operator.T, operator.H, operator.adjoint()):
        check(back @ y, V.T @ y, size.T @ y)
        check(back @ y[:, None], (V.T @ y)[:, None], (size.T @ y)[:, None])
    check(operator.rmatvec(y), V.T @ y, size.T @ y)
    check(operator.rmatmat(y[:, None]), (V.T @ y)[:, None], (size.T @ y)[:, None])


@settings(max_examples=100, deadline=None)
@given(chains(), st.booleans())
def test_nearest_is_the_smallest_score_and_the_lowest_of_equals(problem, equal):
    factors, X = problem
    # Whole numbers are summed without rounding: scores are exact.
    factors = [np.round(factor) for factor in factors]
    X = np.round(2 * X)
    if equal:
        factors[0][:] = factors[0][-1]
    V = multiplied(factors)
    offsets = np.round((V**2).sum(axis=1)) if not equal else np.zeros(len(V))
    expected = np.argmin(offsets - 2 * X.astype(np.float64) @ V.T, axis=1)
    if np.abs(X).max() * np.abs(V).sum(axis=1).max() + offsets.max() > 2**22:
        return
    operator = FastOperator(factors)
    for rows in (X, sp.csr_array(X)):
        labels = operator.nearest(rows, offsets)
        assert labels.dtype == np.int32
        np.testing.assert_array_equal(labels, expected)
    dtype = operator.dtype
    ones = [operator.nearest_one(x.astype(dtype), offsets.astype(dtype)) for x in X]
    np.testing.assert_array_equal(ones, expected)


@pytest.mark.parametrize("sparse", [False, True])
def test_same_bits_for_any_number_of_threads(sparse):
    rng = np.random.default_rng(0)
    operator = FastOperator(random_factors(rng, [40, 60, 200], 0.3, np.float32))
    X = rng.standard_normal((3001, 200)).astype(np.float32)
    X = sp.csr_array(np.where(X > 0.5, X, 0)) if sparse else X
    offsets = rng.standard_normal(40)
    products = [operator.products(X, n_threads) for n_threads in (1, 2, 3)]
    labels = [operator.nearest(X, offsets, n_threads) for n_threads in (1, 2, 3)]
    for other in (1, 2):
        np.testing.assert_array_equal(products[other], products[0])
        np.testing.assert_array_equal(labels[other], labels[0])
    assert len(np.unique(labels[0])) > 5


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_more_features_than_are_transposed_at_a_time(dtype):
    rng = np.random.default_rng(8)
    factors = random_factors(rng, [20, 30, 2 * TILE + 77], 0.01, dtype)
    factors[-1][3] = 0  # a row without entries, and one with entries in a single tile
    factors[-1][4, :TILE] = 0
    X = rng.standard_normal((19, 2 * TILE + 77)).astype(dtype)
    expected = X.astype(np.float64) @ multiplied(factors).T
    operator = FastOperator(factors)
    np.testing.assert_allclose(operator.products(X), expected, rtol=0, atol=1e-4)
    np.testing.assert_array_equal(operator.nearest(X, np.zeros(20)), expected.argmax(axis=1))


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.longdouble, np.int8, ">f4", ">f8"])
def test_rows_of_any_real_dtype(kind):
    operator = FastOperator([np.eye(3, 5, dtype=np.float32)])
    X = np.arange(20).reshape(4, 5).astype(kind)
    X.flags.writeable = False
    products = operator.products(X)
    np.testing.assert_array_equal(products, X[:, :3].astype(np.float64))
    assert products.dtype == (np.float32 if kind in (np.float16, np.float32, ">f4") else np.float64)
    np.testing.assert_array_equal(operator.nearest(X, np.zeros(3)), [2, 2, 2, 2])
    if kind not in (np.float16, np.longdouble):
        rows = sp.csr_array(X.astype(np.dtype(kind).newbyteorder("=")))
        np.testing.assert_array_equal(operator.products(rows), products)


def test_scales_between_factors_do_not_matter():
    rng = np.random.default_rng(1)
    left, right = random_factors(rng, [10, 12, 30], 0.5, np.float32)
    gauge = np.ldexp(np.float32(1), rng.integers(-60, 60, 12))
    X = rng.standard_normal((20, 30)).astype(np.float32)
    plain = FastOperator([left, right]).products(X)
    scaled = FastOperator([left * gauge, right / gauge[:, None]]).products(1e3 * X)
    assert scaled.dtype == np.float32
    np.testing.assert_allclose(scaled, 1e3 * plain, rtol=1e-4, atol=1e-2)


def test_factors_are_copied_sorted_and_without_zeros():
    given = sp.csr_array(
        (np.array([1.0, 0.0, 3.0, 4.0]), np.array([2, 1, 0, 0]), np.array([0, 2, 4])), shape=(2, 3)
    )
    operator = FastOperator([given])
    (factor,) = operator.factors
    assert isinstance(factor, sp.csr_array)
    assert factor.nnz == operator.nnz == operator.n_multiplications == 2
    assert factor.has_sorted_indices
    np.testing.assert_array_equal(operator.toarray(), [[0, 0, 1], [7, 0, 0]])
    assert given.nnz == 4
    given.data[:] = 9
    np.testing.assert_array_equal(operator.toarray(), [[0, 0, 1], [7, 0, 0]])
    assert operator.compression == 3.0


@pytest.mark.parametrize(
    ("kinds", "expected"),
    [
        ((np.float32, np.float32), np.float32),
        ((np.float32, np.float64), np.float64),
        ((np.int64, np.float32), np.float64),
        ((np.float16, np.float32), np.float32),
        ((bool, bool), np.float64),
    ],
)
def test_one_dtype_for_all_factors(kinds, expected):
    operator = FastOperator([np.eye(3).astype(kind) for kind in kinds])
    assert operator.dtype == expected
    assert all(factor.dtype == expected for factor in operator.factors)


def test_it_is_a_linear_operator():
    rng = np.random.default_rng(2)
    factors = random_factors(rng, [15, 20, 25], 0.5)
    operator, V = FastOperator(factors), multiplied(factors)
    assert isinstance(operator, LinearOperator)
    assert operator.shape == (15, 25)
    assert isinstance(operator.T, FastOperator)
    np.testing.assert_allclose(svds(operator, 3)[1], svds(V, 3)[1])
    np.testing.assert_allclose((2 * operator @ operator.T) @ np.ones(15), 2 * V @ V.T @ np.ones(15))
    complex_vector = np.ones(25) + 1j * np.arange(25)
    np.testing.assert_allclose(operator @ complex_vector, V @ complex_vector)
    np.testing.assert_allclose(operator @ np.arange(25), V @ np.arange(25))
    whole = np.arange(50).reshape(25, 2)
    np.testing.assert_allclose(operator @ whole, V @ whole)


def test_it_pickles_its_factors_only():
    rng = np.random.default_rng(3)
    operator = FastOperator(random_factors(rng, [5, 6, 7], 0.5, np.float32))
    before = len(pickle.dumps(operator))
    X = rng.standard_normal((9, 7)).astype(np.float32)
    products = operator.products(X)
    operator.nearest_one(X[0], np.zeros(5, dtype=np.float32))
    assert len(pickle.dumps(operator)) == before
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(operator)).products(X), products)


def test_no_rows_no_results():
    operator = FastOperator([np.eye(3, 5)])
    for X in (np.empty((0, 5)), sp.csr_array((0, 5))):
        assert operator.products(X).shape == (0, 3)
        assert operator.nearest(X, np.zeros(3)).shape == (0,)


@pytest.mark.parametrize(
    ("factors", "error", "message"),
    [
        ([], ValueError, "at least one"),
        (np.eye(3), TypeError, "list of matrices"),
        (sp.eye_array(3), TypeError, "list of matrices"),
        (7, TypeError, "list of matrices"),
        ([np.eye(3), np.eye(4)], ValueError, r"factors\[0\].*\(3, 3\).*factors\[1\].*\(4, 4\)"),
        ([np.eye(3), np.ones(3)], ValueError, r"factors\[1\] must be a matrix"),
        ([np.empty((0, 3))], ValueError, "at least one row"),
        ([np.array([[np.nan]])], ValueError, r"factors\[0\].*finite"),
        ([sp.csr_array([[np.inf, 1.0]])], ValueError, r"factors\[0\].*finite"),
        ([np.array([["a"]])], TypeError, r"factors\[0\].*real numbers"),
        ([np.array([[1j]])], TypeError, r"factors\[0\].*real numbers"),
    ],
)
def test_bad_factors_are_named(factors, error, message):
    with pytest.raises(error, match=message):
        FastOperator(factors)


def test_bad_rows_are_named():
    operator = FastOperator([np.eye(3, 5)])
    for X in (np.ones((4, 3)), np.ones(5), sp.csr_array((4, 3))):
        with pytest.raises(ValueError, match="X must have shape"):
            operator.products(X)
    with pytest.raises(TypeError, match="real numbers"):
        operator.products(np.full((2, 5), "a"))
    with pytest.raises(ValueError, match="offsets must have shape"):
        operator.nearest(np.ones((2, 5)), np.zeros(4))
    with pytest.raises(ValueError, match="offsets must be finite"):
        operator.nearest(np.ones((2, 5)), [0.0, np.nan, 0.0])
    with pytest.raises(ValueError, match="n_threads"):
        operator.products(np.ones((2, 5)), n_threads=0)


@pytest.mark.parametrize("n_features", [5, 8, 70])
def test_numbers_that_are_none_are_refused_wherever_they_are(n_features):
    operator = FastOperator([np.zeros((3, n_features), dtype=np.float32)])
    for bad in (np.nan, np.inf, -np.inf):
        for row in (0, 16, 17):
            for column in range(n_features):
                X = np.ones((18, n_features), dtype=np.float32)
                X[row, column] = bad
                with pytest.raises(ValueError, match="NaN or infinity"):
                    operator.nearest(X, np.zeros(3))
        with pytest.raises(ValueError, match="NaN or infinity"):
            operator.nearest(sp.csr_array(X), np.zeros(3))
