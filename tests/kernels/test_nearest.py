"""Labels are those of real arithmetic: fractions are the oracle."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from polymeans import KMeans


def nearest_by_fractions(X, C):
    """The lowest index among the nearest centroids, without rounding."""
    labels = []
    rows = X.toarray() if sp.issparse(X) else X
    centers = [[Fraction(float(value)) for value in center] for center in C]
    for row in rows:
        x = [Fraction(float(value)) for value in row]
        squares = [sum((a - b) ** 2 for a, b in zip(x, center)) for center in centers]
        labels.append(squares.index(min(squares)))
    return np.array(labels)


def model_with(centers):
    model = KMeans(len(centers), init=centers, n_init=1, max_iter=1, n_threads=1)
    model.fit(np.asarray(centers))
    model.cluster_centers_ = np.asarray(centers)
    return model


SCALES = [1e-320, 1e-300, 1e-160, 1e-30, 1.0, 1e8, 1e15, 1e30, 1e160, 1e300]


@st.composite
def problems(draw):
    """Rows and centroids that are hard to tell apart, or of very different magnitudes."""
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    n, d, k = draw(st.integers(1, 6)), draw(st.integers(1, 9)), draw(st.integers(1, 6))
    kind = draw(st.sampled_from(["integers", "offset", "scales", "mixed", "copies"]))
    dtype = draw(st.sampled_from([np.float64, np.float32]))
    X, C = rng.integers(-2, 3, (n, d)).astype(float), rng.integers(-2, 3, (k, d)).astype(float)
    if kind == "offset":
        X, C = X + rng.normal(size=X.shape) + 1e8, C + rng.normal(size=C.shape) + 1e8
    elif kind == "scales":
        scale = draw(st.sampled_from(SCALES))
        X, C = X * scale, C * scale
    elif kind == "mixed":
        X *= rng.choice(SCALES, size=(n, 1))
        C *= rng.choice(SCALES, size=(k, 1))
    elif kind == "copies":
        C = C[rng.integers(0, k, k)] + rng.normal(size=d)
    with np.errstate(over="ignore", under="ignore"):
        X, C = X.astype(dtype), C.astype(dtype)
    X[~np.isfinite(X)], C[~np.isfinite(C)] = 1.0, 1.0
    X[rng.random(X.shape) < 0.2] = 0.0
    return X, C


@pytest.mark.filterwarnings("ignore")
@settings(max_examples=150, deadline=None)
@given(problems())
def test_labels_of_new_rows_are_those_of_fractions(problem):
    X, C = problem
    expected = nearest_by_fractions(X, C)
    model = model_with(C)
    np.testing.assert_array_equal(model.predict(X), expected)
    np.testing.assert_array_equal(model.predict(sp.csr_array(X)), expected)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("offset", [0.0, 1e8])
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_fast_paths_agree_with_fractions(dtype, offset, container):
    rng = np.random.default_rng(0)
    # So many rows that predict does not take the plain loop; the first ones are checked.
    X = (rng.integers(-3, 4, (6000, 12)) / 2 + offset).astype(dtype)
    C = (rng.integers(-3, 4, (40, 12)) / 2 + offset).astype(dtype)
    model = model_with(C)
    found = model.predict(container(X))
    np.testing.assert_array_equal(found[:150], nearest_by_fractions(X[:150], C))
    np.testing.assert_array_equal(found, model.predict(container(X)[::-1])[::-1])


def test_features_that_no_row_has_count_though_their_squares_vanish():
    X = sp.csr_array(np.array([[0.0, 0.0, 2e-300]]))
    C = np.array([[0.0, 5e-300, 2e-300], [1e-320, 0.0, 0.0]])
    assert model_with(C).predict(X) == nearest_by_fractions(X, C) == 1
