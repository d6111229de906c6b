"""Pictures of a learned metric: lengths are its own, centers are where they belong."""

import re
import sys

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from matplotlib.figure import Figure
from sklearn.exceptions import NotFittedError
from sklearn.metrics.pairwise import rbf_kernel

from polymeans import KMeans, TransformedKMeans
from polymeans.inspection import plot_convergence, plot_learned_space
from polymeans.inspection.learned_space import _directions


def rows(n_clusters=4, n_features=6, n_samples=240):
    rng = np.random.default_rng(0)
    labels = np.arange(n_samples) % n_clusters
    centers = 8 * rng.normal(size=(n_clusters, n_features))
    return centers[labels] + rng.normal(size=(n_samples, n_features)), labels


def fitted(X, n_clusters=4, **parameters):
    return TransformedKMeans(n_clusters, n_init=2, random_state=0, **parameters).fit(X)


def points(ax):
    """Rows, then centers, as drawn."""
    *parts, rings = [np.asarray(c.get_offsets()) for c in ax.collections]
    return np.vstack(parts), rings


@pytest.fixture
def ax():
    return Figure().add_subplot()


def test_rows_and_centers_are_drawn_on_the_axes_given(ax):
    X, _ = rows()
    model = fitted(X)
    assert plot_learned_space(model, X, ax=ax) is ax
    drawn, rings = points(ax)
    assert drawn.shape == (240, 2)
    assert rings.shape == (4, 2)
    assert [text.get_text() for text in ax.texts] == list("0123")
    assert re.fullmatch(r"direction 0, \d+% of the spread of centers", ax.get_xlabel())
    assert re.fullmatch(r"direction 1, \d+% of the spread of centers", ax.get_ylabel())


def test_lengths_are_those_of_the_learned_metric(ax):
    # Three centers span a plane, which is drawn whole: distances between them are all there.
    X, _ = rows(3)
    model = fitted(X, 3)
    plot_learned_space(model, X, ax=ax)
    rings = points(ax)[1]
    for a, b in ((0, 1), (0, 2), (1, 2)):
        known = np.linalg.norm(model.centroids_in_space_[a] - model.centroids_in_space_[b])
        assert np.linalg.norm(rings[a] - rings[b]) == pytest.approx(known)
    assert ax.get_aspect() == 1


def test_rings_are_at_the_means_of_what_is_drawn(ax):
    X, _ = rows()
    model = fitted(X)
    plot_learned_space(model, X, ax=ax)
    drawn, rings = points(ax)
    means = [drawn[model.labels_ == c].mean(axis=0) for c in range(4)]
    np.testing.assert_allclose(rings, means, atol=1e-9)


def test_shares_are_of_the_spread_of_centers():
    X, _ = rows(3)
    model = fitted(X, 3)
    masses = np.bincount(model.labels_)
    directions, shares = _directions(model.transform(X), model.centroids_in_space_, masses)
    np.testing.assert_allclose(directions @ directions.T, np.eye(2), atol=1e-12)
    assert shares.sum() == pytest.approx(1.0)
    assert shares[0] >= shares[1]


def test_two_clusters_get_the_widest_of_the_other_directions(ax):
    X, _ = rows(2)
    model = fitted(X, 2)
    inside = model.transform(X)
    directions, shares = _directions(inside, model.centroids_in_space_, np.bincount(model.labels_))
    np.testing.assert_allclose(directions @ directions.T, np.eye(2), atol=1e-9)
    np.testing.assert_allclose(shares, [1, 0], atol=1e-12)
    rest = inside - inside @ directions[:1].T @ directions[:1]
    widest = np.linalg.svd(rest - rest.mean(axis=0))[1][0] ** 2
    along = (inside - inside.mean(axis=0)) @ directions[1]
    assert along @ along == pytest.approx(widest)
    plot_learned_space(model, X, ax=ax)
    assert ax.get_ylabel() == "direction 1, 0% of the spread of centers"


def test_one_dimension_is_a_histogram(ax):
    X = np.concatenate([np.zeros(30), np.full(20, 5.0)])[:, None]
    X = X + 0.1 * np.random.default_rng(0).normal(size=X.shape)
    plot_learned_space(fitted(X, 2), X, ax=ax)
    assert sum(bar.get_height() for bar in ax.patches) == 50
    assert ax.get_ylabel() == "rows"


@pytest.mark.parametrize("n_clusters", [1, 2])
def test_rows_that_are_all_alike_can_be_drawn(n_clusters, ax):
    model = fitted(np.random.default_rng(0).normal(size=(20, 3)), n_clusters)
    plot_learned_space(model, np.ones((5, 3)), ax=ax)
    drawn, rings = points(ax)
    assert np.isfinite(drawn).all()
    assert np.isfinite(rings).all()


def test_colors_are_clusters_or_what_is_given(ax):
    X, labels = rows(3)
    model = fitted(X, 3)
    plot_learned_space(model, X, ax=ax)
    colors = ax.collections[0].get_facecolors()
    assert len(np.unique(colors, axis=0)) == 3
    for cluster in range(3):
        assert len(np.unique(colors[model.labels_ == cluster], axis=0)) == 1
    other = plot_learned_space(model, X, np.array(["b", "a"])[labels % 2], ax=Figure().subplots())
    assert len(np.unique(other.collections[0].get_facecolors(), axis=0)) == 2


def test_of_many_rows_some_are_drawn():
    X, labels = rows()
    model = fitted(X)
    some = [
        points(plot_learned_space(model, X, labels, max_points=50, ax=Figure().subplots()))[0]
        for _ in range(2)
    ]
    assert some[0].shape == (50, 2)
    np.testing.assert_array_equal(*some)


@pytest.mark.parametrize(
    "container", [sp.csr_array, sp.csr_matrix, pd.DataFrame, np.ndarray.tolist]
)
def test_rows_in_any_container(container, ax):
    X = container(np.abs(rows()[0]))
    model = fitted(X)
    plot_learned_space(model, X, max_points=100, ax=ax)
    assert points(ax)[0].shape == (100, 2)


def test_kernels_work_too(ax):
    X, _ = rows()
    K = rbf_kernel(X, gamma=0.02)
    plot_learned_space(fitted(K, kernel="precomputed"), K, max_points=100, ax=ax)
    assert points(ax)[1].shape == (4, 2)


def test_convergence_of_a_transformed_fit_can_be_drawn(ax):
    X, _ = rows()
    model = fitted(X)
    plot_convergence(model, ax=ax)
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), model.history_["inertia"])


def test_new_axes_where_none_are_given():
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("Agg")
    X, _ = rows()
    ax = plot_learned_space(fitted(X), X)
    assert ax.figure.number in pyplot.get_fignums()
    pyplot.close(ax.figure)


def test_nothing_is_changed():
    X, labels = rows()
    model = fitted(X)
    copies = X.copy(), labels.copy(), model.centroids_in_space_.copy()
    plot_learned_space(model, X, labels, ax=Figure().subplots())
    for now, before in zip((X, labels, model.centroids_in_space_), copies):
        np.testing.assert_array_equal(now, before)


def test_models_and_arguments_that_do_not_fit_are_refused(ax):
    X, labels = rows()
    with pytest.raises(NotFittedError):
        plot_learned_space(TransformedKMeans(4), X, ax=ax)
    with pytest.raises(TypeError, match="needs centroids_in_space_, which KMeans does not have"):
        plot_learned_space(KMeans(4, random_state=0).fit(X), X, ax=ax)
    model = fitted(X)
    with pytest.raises(ValueError, match="y must have one value for each of 240 rows"):
        plot_learned_space(model, X, labels[:9], ax=ax)
    with pytest.raises(ValueError, match="max_points must be an integer of at least 1, got 0"):
        plot_learned_space(model, X, max_points=0, ax=ax)
    plain = fitted(X, embedding=None, solver="cg")
    with pytest.raises(NotImplementedError, match='solver="cg" avoids'):
        plot_learned_space(plain, X, ax=ax)


def test_without_matplotlib_it_says_how_to_get_it(monkeypatch):
    X, _ = rows()
    model = fitted(X)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=re.escape('pip install "polymeans[plot]"')):
        plot_learned_space(model, X)
