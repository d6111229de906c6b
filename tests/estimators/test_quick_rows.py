"""QuickKMeans on a few rows: the labels of the table of centroids, without that table."""

import pickle
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError

from polymeans import QuickKMeans
from polymeans.engine.factored_row import FewRows


@pytest.fixture(scope="module")
def digits():
    return load_digits().data


@pytest.fixture(scope="module", params=[np.float32, np.float64], ids=["float32", "float64"])
def model(digits, request):
    estimator = QuickKMeans(30, n_nonzeros=700, max_iter=3, random_state=0)
    return estimator.fit(digits.astype(request.param))


def oracle(row, table):
    """The nearest centroid without rounding, the lowest among equals."""
    row = [Fraction(float(x)) for x in row]
    squares = [sum((x - Fraction(float(c))) ** 2 for x, c in zip(row, line)) for line in table]
    return squares.index(min(squares))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_labels_are_those_of_the_table(model, digits, dtype):
    rng = np.random.default_rng(0)
    table = model.cluster_centers_.astype(np.float64)
    middles = (table[rng.integers(30, size=10)] + table[rng.integers(30, size=10)]) / 2
    rows = np.concatenate([digits[:10], middles, 1e4 + digits[:5]]).astype(dtype)
    expected = [oracle(row, table) for row in rows]
    assert [model.predict(row[None])[0] for row in rows] == expected
    assert [model.predict_one(row) for row in rows] == expected
    assert_array_equal(model.predict(rows), expected)


def test_no_table_is_made_after_loading(model, digits):
    loaded = pickle.loads(pickle.dumps(model))
    X = digits.astype(model.factors_[0].dtype)
    few = [loaded.predict(row[None])[0] for row in X[:200]]
    assert few == model.labels_[:200].tolist()
    assert vars(loaded).keys() == vars(model).keys()  # predict leaves the estimator as it is
    assert loaded._known_table is None
    assert_array_equal(loaded.predict(X[:50]), model.labels_[:50])
    assert loaded._known_table is None


def test_factors_are_stored_once(model):
    for estimator in (model, pickle.loads(pickle.dumps(model))):
        for mine, other in zip(estimator.factors_, estimator.operator_.factors, strict=True):
            assert mine is other


@pytest.mark.parametrize("scale", [0.0, 1e-300, 1e-30, 1e30, 1e160, 1e300])
def test_rows_of_any_size(digits, scale):
    model = QuickKMeans(30, n_nonzeros=700, max_iter=3, random_state=0).fit(digits)
    rows = digits[:20] * scale
    few = [model.predict(row[None])[0] for row in rows]
    table = model.cluster_centers_
    assert few == [oracle(row, table) for row in rows]


def test_equal_centroids_and_open_rows(model, digits):
    """Rows between equal centroids are left open, and then decided as all others are."""
    other = pickle.loads(pickle.dumps(model))
    first, *rest = other.factors_
    doubled = type(first)(first[np.r_[0:30, 0:30]])
    few = FewRows([doubled, *rest], other.offset_)
    X = np.ascontiguousarray(digits[:5].astype(first.dtype))
    assert few.label(X) is None
    assert FewRows(other.factors_, other.offset_).label(X) is not None


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_refused(model, digits, bad):
    row = digits[:1].astype(model.factors_[0].dtype)
    row[0, 3] = bad
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        model.predict(row)


def test_everything_else_is_checked_as_before(model, digits):
    X = digits[:3].astype(model.factors_[0].dtype)
    expected = model.labels_[:3]
    assert_array_equal(model.predict(X.tolist()), expected)
    assert_array_equal(model.predict(np.asfortranarray(X)), expected)
    assert_array_equal(model.predict(X.astype(X.dtype.newbyteorder())), expected)
    assert_array_equal(model.predict(np.repeat(X, 2, axis=0)[::2]), expected)
    with pytest.raises(ValueError, match="features"):
        model.predict(X[:, :-1].copy())
    with pytest.raises(ValueError, match="2D"):
        model.predict(X[0])
    with pytest.raises(ValueError, match="minimum of 1"):
        model.predict(X[:0])


def test_names_of_features_are_still_looked_at(digits):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(digits, columns=[f"pixel {t}" for t in range(64)])
    model = QuickKMeans(30, n_nonzeros=700, max_iter=2, random_state=0).fit(frame)
    with pytest.warns(UserWarning, match="valid feature names"):
        labels = model.predict(digits[:4])
    assert_array_equal(labels, model.labels_[:4])


def test_one_row_of_any_dtype_for_the_operator(model, digits):
    offsets = np.zeros(30)
    found = {model.operator_.nearest_one(digits[0].astype(d), offsets) for d in ("f4", "f8", "i8")}
    assert len(found) == 1


def test_a_row_of_any_kind_for_predict_one(model, digits):
    expected = model.labels_[:20].tolist()
    X = digits[:20]
    fixed = X.copy()
    fixed.flags.writeable = False
    kinds = [X.astype(kind) for kind in ("i8", "u1", "f2", ">f4", ">f8", "f4", object)]
    kinds += [np.asfortranarray(X), np.repeat(X, 2, axis=1)[:, ::2], fixed, X.tolist()]
    for rows in kinds:
        assert [model.predict_one(row) for row in rows] == expected
    assert model.predict_one(fixed[3]) == expected[3]


@pytest.mark.parametrize(
    ("cut", "shape"),
    [
        (lambda X: X[0, :10], r"\(10,\)"),
        (lambda X: np.r_[X[0], X[0]], r"\(128,\)"),
        (lambda X: X[0, :0], r"\(0,\)"),
        (lambda X: X[:1], r"\(1, 64\)"),
        (lambda X: X[:1].T, r"\(64, 1\)"),
        (lambda X: X[:1].tolist(), r"\(1, 64\)"),
        (lambda X: X[0, 0], r"\(\)"),
        (lambda X: sp.csr_array(X[:1]), r"\(1, 64\)"),
    ],
)
def test_what_is_not_one_row_is_refused(model, digits, cut, shape):
    x = cut(digits.astype(model.factors_[0].dtype))
    with pytest.raises(
        ValueError, match=rf"^x must be one row .*\(64,\).* of shape {shape}.* X\[i\]"
    ):
        model.predict_one(x)


def test_what_is_no_row_of_numbers_is_refused(model, digits):
    with pytest.raises(ValueError, match="x is complex"):
        model.predict_one(digits[0] + 0j)
    with pytest.raises(ValueError, match="x cannot be used"):
        model.predict_one(["a"] * 64)
    with pytest.raises(ValueError, match="NaN"):
        model.predict_one([np.nan] * 64)
    with pytest.raises(NotFittedError):
        QuickKMeans(2).predict_one(digits[0])
