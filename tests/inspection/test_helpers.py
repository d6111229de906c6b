"""Small helpers after a fit: nearest rows, other numbers for clusters, labels in a frame."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from polymeans import KhatriRaoKMeans, KMeans, assign, nearest_samples, relabel
from tests.inspection.models import MODELS, N_ROWS, fitted, rows
from tests.inspection.test_describe import labels_of, places_of, slow_distances

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


# --- nearest rows ------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["dense", "csr", "pandas", "blocks"])
@pytest.mark.parametrize("name", MODELS)
def test_nearest_rows_of_every_estimator(name, kind):
    model = fitted(name, kind)
    main = getattr(model, "main_view_", None)
    grouping = "clusters" if main is None else f"view {main}"
    grouping = "cells" if hasattr(model, "protocentroids_") else grouping
    indices, distances = nearest_samples(model, rows(kind), 3)
    labels = labels_of(model, kind, grouping)
    own = slow_distances(*places_of(model, kind, grouping))[np.arange(N_ROWS), labels]
    for c, (numbers, apart) in enumerate(zip(indices, distances)):
        mine = np.sort(own[labels == c])[:3]
        np.testing.assert_allclose(apart[: len(mine)], mine, rtol=1e-4, atol=1e-5)
        assert (labels[numbers[: len(mine)]] == c).all()
        assert (numbers[len(mine) :] == -1).all()
        assert np.isinf(apart[len(mine) :]).all()


def test_nearest_rows_of_a_view_and_errors():
    model = fitted("views")
    one = nearest_samples(model, rows("dense"), view=1)
    assert one.indices.shape == (2, 1)
    for wrong in (2, -1, "first"):
        with pytest.raises((ValueError, TypeError), match="view must be"):
            nearest_samples(model, rows("dense"), view=wrong)
    with pytest.raises(ValueError, match="has no views"):
        nearest_samples(fitted("kmeans"), rows("dense"), view=0)
    with pytest.raises(ValueError, match="n must be"):
        nearest_samples(fitted("kmeans"), rows("dense"), 0)


# --- other numbers -----------------------------------------------------------------------------


def sizes_of(model, X):
    """Rows of each cluster: of each set or view, where there are several."""
    if hasattr(model, "labels_per_view_"):
        return [np.bincount(column) for column in model.predict_views(X).T]
    if hasattr(model, "protolabels_"):
        return [np.bincount(column) for column in model.predict_protolabels(X).T]
    return [np.bincount(model.predict(X))]


@pytest.mark.parametrize("kind", ["dense", "csr"])
@pytest.mark.parametrize("name", MODELS)
def test_clusters_in_the_order_of_their_sizes(name, kind):
    model, X = fitted(name, kind), rows(kind)
    before = pickle.dumps(model)
    found = relabel(model)
    assert pickle.dumps(model) == before
    np.testing.assert_array_equal(found.predict(X), found.labels_)
    for sizes in sizes_of(found, X):
        assert (np.diff(sizes) <= 0).all()
    # The same groups of rows, under other numbers.
    pairs = set(zip(model.labels_.tolist(), found.labels_.tolist()))
    assert len(pairs) == len(np.unique(model.labels_)) == len(np.unique(found.labels_))
    assert found.score(X) == pytest.approx(model.score(X)) if name != "cg" else True
    centers, others = model.cluster_centers_, found.cluster_centers_
    if centers is not None:
        for old, new in pairs:
            np.testing.assert_allclose(others[new], centers[old], rtol=1e-6)
    if hasattr(found, "protolabels_"):
        np.testing.assert_array_equal(found.predict_protolabels(X), found.protolabels_)
    if hasattr(found, "cluster_weights_"):
        np.testing.assert_array_equal(
            found.cluster_weights_, np.bincount(found.labels_, minlength=len(others))
        )
    if hasattr(found, "operator_") and name != "quick means":
        products = found.operator_.products(rows("dense"))
        expected = rows("dense") @ (others - found.offset_).T
        np.testing.assert_allclose(products, expected, rtol=1e-5, atol=1e-4)
    if getattr(found, "centroids_in_space_", None) is not None:
        nearest = slow_distances(*places_of(found, kind, "clusters")).argmin(axis=1)
        np.testing.assert_array_equal(nearest, found.labels_)


def test_a_given_order():
    model, X = fitted("kmeans"), rows("dense")
    found = relabel(model, [4, 3, 2, 1, 0])
    np.testing.assert_array_equal(found.labels_, 4 - model.labels_)
    back = relabel(found, [4, 3, 2, 1, 0])
    np.testing.assert_array_equal(back.cluster_centers_, model.cluster_centers_)
    grid = fitted("sum")
    turned = relabel(grid, [[1, 0], [0, 1, 2]])
    np.testing.assert_array_equal(turned.predict_protolabels(X)[:, 0], 1 - grid.protolabels_[:, 0])
    for wrong in ([0, 1], [0, 0, 1, 2, 3], "name", [0, 1, 2, 3, 5]):
        with pytest.raises(ValueError, match="label_order"):
            relabel(model, wrong)
    with pytest.raises(ValueError, match="a sequence for each of 2"):
        relabel(grid, [[0, 1]])
    with pytest.raises(TypeError, match="ends with one"):
        relabel(make_pipeline(StandardScaler()).fit(X))


def test_clusters_of_a_pipeline_are_renumbered():
    X = rows("dense")
    pipeline = make_pipeline(StandardScaler(), KMeans(5, random_state=0)).fit(X)
    labels = pipeline.predict(X)
    found = relabel(pipeline)
    np.testing.assert_array_equal(pipeline.predict(X), labels)
    assert (np.diff(np.bincount(found.predict(X))) <= 0).all()
    assert found[0] is pipeline[0]
    assert len(set(zip(labels.tolist(), found.predict(X).tolist()))) == 5


@pytest.mark.parametrize("aggregator", ["sum", "product"])
def test_partial_fit_goes_on_after_new_numbers(aggregator):
    X = rows("dense")
    models = [
        KMeans(4, random_state=0),
        KhatriRaoKMeans((2, 2), aggregator=aggregator, effort=0.05, random_state=0),
    ]
    for model in models:
        model.partial_fit(X[:120])
        found = relabel(model)
        further = pickle.loads(pickle.dumps(model)).partial_fit(X[120:])
        renamed = pickle.loads(pickle.dumps(found)).partial_fit(X[120:])
        np.testing.assert_allclose(
            np.sort(renamed.cluster_centers_, axis=0), np.sort(further.cluster_centers_, axis=0)
        )
        assert renamed.inertia_ == pytest.approx(further.inertia_)


# --- labels in a frame -------------------------------------------------------------------------


@pytest.mark.parametrize("library", [pd, pl])
def test_labels_become_a_column(library):
    X = rows("dense")
    names = [f"f{j}" for j in range(X.shape[1])]
    frame = library.DataFrame(
        {name: X[:, j] for j, name in enumerate(names)} | {"id": range(N_ROWS)}
    )
    model = KMeans(3, random_state=0).fit(frame[names])
    found = assign(model, frame)
    assert isinstance(found, library.DataFrame)
    assert found["cluster"].to_list() == model.labels_.tolist()
    assert list(found.columns) == [*names, "id", "cluster"]
    assert "cluster" not in frame.columns
    with pytest.raises(ValueError, match="would replace"):
        assign(model, found)
    assert "group" in assign(model, found, "group").columns
    with pytest.raises(ValueError, match="lacks columns"):
        assign(model, frame[["f0", "id"]])
    views = MODELS["views"]().fit(frame[names])
    both = assign(views, frame, "view")
    assert both["view1"].to_list() == views.labels_per_view_[:, 1].tolist()
    pipeline = make_pipeline(StandardScaler(), KMeans(3, random_state=0)).fit(frame[names])
    labels = assign(pipeline, frame)["cluster"].to_list()
    assert labels == pipeline.predict(frame[names]).tolist()


def test_what_is_no_frame_is_refused():
    for wrong in (rows("dense"), sp.csr_array(rows("dense")), [[1.0]], pd.Series([1.0])):
        with pytest.raises(TypeError, match="frame must be a DataFrame"):
            assign(fitted("kmeans"), wrong)
    with pytest.raises(TypeError, match="column must be a name"):
        assign(fitted("kmeans", "pandas"), rows("pandas"), 3)
