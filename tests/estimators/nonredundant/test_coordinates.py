"""NonRedundantKMeans: transformed rows, names of columns, pipelines."""

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from polymeans import NonRedundantKMeans
from polymeans.search.views.whitening import project
from tests.estimators.nonredundant.checks import same_bits, spaces_of


@pytest.mark.parametrize("kind", ["float64", "float32", "csr"])
def test_transform_rotates_about_the_mean(easy, kind):
    X = easy[0]
    rows = {"float64": X, "float32": X.astype(np.float32), "csr": sp.csr_array(X)}[kind]
    model = NonRedundantKMeans((3, 4), random_state=0).fit(rows)
    coordinates = model.transform(rows)
    assert isinstance(coordinates, np.ndarray)
    assert coordinates.dtype == rows.dtype
    assert_allclose(coordinates, (X - X.mean(axis=0)) @ model.rotation_, atol=1e-4)
    for view in (0, 1):
        V = spaces_of(model)[view]
        part = model.transform_view(rows, view)
        assert_allclose(part, (X - X.mean(axis=0)) @ V, atol=1e-4)
        assert_array_equal(part, model.transform_view(rows, view - 2))
    again = clone(model).fit_transform(rows)
    assert_array_equal(again, coordinates)


def test_noise_in_the_last_view_is_transformed_too(easy):
    X, _ = easy
    model = NonRedundantKMeans((3, 4), noise_space=False, random_state=0).fit(X)
    lengths = (model.transform(X) ** 2).sum(axis=1)
    assert_allclose(lengths, ((X - X.mean(axis=0)) ** 2).sum(axis=1))
    assert model.transform_view(X, 1).shape == (300, X.shape[1] - 2)


def test_columns_are_named_after_view_and_dimension(easy):
    X, _ = easy
    names = ["view0_dim0", "view0_dim1", "view1_dim0", "view1_dim1", "view1_dim2"]
    model = NonRedundantKMeans((3, 4), random_state=0).set_output(transform="pandas")
    frame = model.fit(X).transform(X)
    assert list(frame.columns) == list(model.get_feature_names_out()) == names
    assert model.transform_view(X, 1).shape == (300, 3)
    assert "NonRedundantKMeans" in model._repr_html_()


@pytest.mark.parametrize("view", [2, -3, 0.0, "0", None])
def test_an_unknown_view_is_refused(easy, view):
    model = NonRedundantKMeans((3, 4), random_state=0).fit(easy[0])
    with pytest.raises(ValueError, match="view must be an integer from 0 to 1"):
        model.transform_view(easy[0], view)


def test_in_a_pipeline_with_routed_weights(easy):
    X, _ = easy
    weights = np.random.default_rng(0).random(len(X))
    with sklearn.config_context(enable_metadata_routing=True):
        model = make_pipeline(
            StandardScaler().set_fit_request(sample_weight=False),
            NonRedundantKMeans((3, 4), random_state=0).set_fit_request(sample_weight=True),
        ).fit(X, sample_weight=weights)
    scaled = StandardScaler().fit_transform(X)
    direct = NonRedundantKMeans((3, 4), random_state=0).fit(scaled, sample_weight=weights)
    same_bits(model[-1], direct)
    assert_array_equal(model.predict(X), direct.labels_)
    assert_allclose(model.transform(X), direct.transform(scaled))


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_coordinates_near_the_largest_number_are_infinite_or_right(container, dtype):
    top = float(np.finfo(dtype).max)
    X = (np.random.default_rng(0).uniform(-0.9, 0.9, size=(12, 4)) * top).astype(dtype)
    rotation = np.linalg.qr(np.random.default_rng(1).normal(size=(4, 4)))[0]
    found = project(container(X), X[0], rotation)
    scaled = project(X / dtype(2**20), X[0] / dtype(2**20), rotation)
    with np.errstate(over="ignore"):
        expected = scaled * dtype(2**20)
    assert found.dtype == dtype
    assert not np.isfinite(expected).all()
    assert not np.isnan(found).any()
    clear = np.abs(scaled) * 2.0**20 / top
    sure = (clear < 0.999) | (clear > 1.001)
    close = np.isclose(found, expected, rtol=1e-5, atol=1e-5 * top)
    assert (close | ~sure).all()
