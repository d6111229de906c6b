"""Labels of new rows in one pass: those of real arithmetic, whatever other rows there are."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from polymeans import KhatriRaoKMeans, KMeans
from polymeans.codebooks.aggregation import combine
from polymeans.core.frame import is_ordinary
from polymeans.engine.new_rows import label_few_by_grid, label_new_rows


def nearest(X, centers):
    """The definition, in fractions."""

    def square(x, c):
        return sum((Fraction(float(a)) - Fraction(float(b))) ** 2 for a, b in zip(x, c))

    return [min(range(len(centers)), key=lambda j: (square(x, centers[j]), j)) for x in X]


@settings(max_examples=60, deadline=None)
@given(
    n=st.sampled_from([1, 7, 9, 16, 17, 40]),
    d=st.sampled_from([1, 2, 3, 8, 13, 40]),
    k=st.integers(1, 9),
    seed=st.integers(0, 2**20),
    kind=st.sampled_from(["plain", "integers", "far", "extreme", "tiny", "one long row"]),
    dtype=st.sampled_from(["float32", "float64"]),
)
def test_labels_of_real_arithmetic(n, d, k, seed, kind, dtype):
    rng = np.random.default_rng(seed)
    X, centers = rng.standard_normal((n, d)), rng.standard_normal((k, d))
    if kind == "integers":
        X, centers = np.round(X), np.round(centers)
    elif kind == "far":
        X, centers = 1e6 + X, 1e6 + centers
    elif kind == "extreme":
        X *= 10.0 ** rng.integers(-30, 30, (n, 1))
    elif kind == "tiny":
        X *= 1e-42
    elif kind == "one long row":
        X[0] = 1e38
    X, centers = X.astype(dtype), centers.astype(dtype)
    before = X.copy()
    labels = label_new_rows(X, centers)
    assert labels is not None
    np.testing.assert_array_equal(labels, nearest(X, centers))
    np.testing.assert_array_equal(X, before)


@pytest.mark.parametrize("d", [300, 1100])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_many_features(d, dtype):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20, d)).astype(dtype)
    centers = X[:5] + rng.standard_normal((5, d)).astype(dtype) / 8
    np.testing.assert_array_equal(label_new_rows(X, centers), nearest(X, centers))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("n", [1, 20, 3000])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_rows_that_are_not_finite_are_refused(bad, n, dtype):
    X = np.random.default_rng(0).standard_normal((3000, 5)).astype(dtype)
    model = KMeans(3, random_state=0).fit(X)
    X[n - 1, 2] = bad
    with pytest.raises(ValueError, match=r"Input X contains (NaN|infinity)"):
        model.predict(X[:n])


def test_extreme_centroids():
    X = np.array([[1e300], [-1e300], [2e300], [3.0]] * 5)
    model = KMeans(3, init=np.array([[-1e300], [0.0], [1e300]]), max_iter=1).fit(X)
    expected = nearest(X, model.cluster_centers_)
    np.testing.assert_array_equal(model.predict(X), expected)


def test_two_precisions():
    X = np.random.default_rng(0).standard_normal((500, 6))
    model = KMeans(4, random_state=0).fit(X)
    narrow = X.astype(np.float32)
    expected = nearest(narrow, model.cluster_centers_)
    np.testing.assert_array_equal(model.predict(narrow), expected)


def test_slices_and_columns():
    X = np.random.default_rng(0).standard_normal((400, 12))
    model = KMeans(4, random_state=0).fit(X[:, ::2])
    for rows in (X[:, ::2], np.asfortranarray(X[:, ::2]), X[::3, ::2], X[:1, ::2]):
        expected = model.predict(np.ascontiguousarray(rows))
        np.testing.assert_array_equal(model.predict(rows), expected)


def test_width_and_names_are_still_checked():
    pd = pytest.importorskip("pandas")
    X = np.random.default_rng(0).standard_normal((50, 3))
    model = KMeans(2, random_state=0).fit(X)
    with pytest.raises(ValueError, match="3 features"):
        model.predict(X[:, :2])
    with pytest.raises(ValueError, match="minimum of 1"):
        model.predict(X[:0])
    named = clone(model).fit(pd.DataFrame(X, columns=["a", "b", "c"]))
    with pytest.warns(UserWarning, match="feature names"):
        named.predict(X)
    unnamed = named.fit(X)
    assert not hasattr(unnamed, "feature_names_in_")


@settings(max_examples=60, deadline=None)
@given(
    n=st.integers(1, 8),
    d=st.integers(1, 9),
    sizes=st.sampled_from([(4,), (2, 3), (3, 1), (2, 3, 2)]),
    seed=st.integers(0, 2**20),
    kind=st.sampled_from(["plain", "integers", "extreme", "one long row"]),
    dtype=st.sampled_from(["float32", "float64"]),
    aggregator=st.sampled_from(["sum", "product"]),
)
def test_few_rows_and_combinations(n, d, sizes, seed, kind, dtype, aggregator):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    sets = [rng.standard_normal((h, d)) for h in sizes]
    if kind == "integers":
        X, sets = np.round(X), [np.round(part) for part in sets]
    elif kind == "extreme":
        X *= 10.0 ** rng.integers(-15, 15, (n, 1))
    elif kind == "one long row":
        X[0] = 1e38
    X, sets = X.astype(dtype), [part.astype(dtype) for part in sets]
    wide = combine([part.astype(np.float64) for part in sets], aggregator)
    table = wide.astype(dtype) if aggregator == "product" else wide
    largest = float(np.abs(wide).max())
    labels = label_few_by_grid(X, sets, aggregator, largest)
    if not (is_ordinary(largest) and is_ordinary(float(np.abs(X).max()))):
        assert labels is None
    else:
        np.testing.assert_array_equal(labels, nearest(X, table))


@pytest.mark.parametrize("aggregator", ["sum", "product"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_one_row_of_a_grid_has_the_label_that_many_give_it(aggregator, dtype):
    rng = np.random.default_rng(1)
    X = np.abs(rng.standard_normal((400, 12))).astype(dtype)
    model = KhatriRaoKMeans((4, 3), aggregator=aggregator, effort=0.1, random_state=0).fit(X)
    together = model.predict(X)
    np.testing.assert_array_equal(together, model.labels_)
    np.testing.assert_array_equal(together, [model.predict(x[None])[0] for x in X])
    X[3, 2] = np.nan
    with pytest.raises(ValueError, match="Input X contains NaN"):
        model.predict(X[3:4])
