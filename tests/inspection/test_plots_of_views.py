"""Pictures of several clusterings: which rows stand where, what views share, and mean images."""

import sys
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from matplotlib.colors import to_hex, to_rgba
from matplotlib.figure import Figure
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.metrics import normalized_mutual_info_score

from polymeans import KMeans, NonRedundantKMeans
from polymeans.datasets import make_stick_figures
from polymeans.inspection import plot_view_centroids, plot_view_information, plot_views
from polymeans.inspection._style import HUES

N, D = 120, 12
SHAPE = (13, 12)  # large enough to be drawn pixel by pixel


class Views(BaseEstimator):
    """What a fitted NonRedundantKMeans shows of itself, without the fit."""

    def __init__(self, sizes=(3, 2, 10), dims=(2, 1, 3), n_features=D):
        self.sizes, self.dims, self.n_features = sizes, dims, n_features
        rng = np.random.default_rng(0)
        self.n_clusters_, self.n_dims_, self.n_views_ = sizes, dims, len(sizes)
        self.explained_variance_ratio_ = np.array([0.5, 0.25, 0.004, 0.1])[: len(sizes)]
        self.labels_per_view_ = np.stack([rng.permutation(N) % k for k in sizes], axis=1)
        self.mean_ = rng.normal(size=n_features)
        square = np.linalg.qr(rng.normal(size=(n_features, n_features)))[0]
        self.rotation_ = square[:, : sum(dims)]
        self.centroids_per_view_ = [
            self.mean_ + 9 * rng.normal(size=(k, m)) @ basis.T
            for k, m, basis in zip(sizes, dims, np.split(self.rotation_, np.cumsum(dims), axis=1))
        ]

    def fit(self, X):
        """Makes it an estimator."""

    def rows(self):
        """One row for each combination of labels, at the sum of their centers, and some noise."""
        rng = np.random.default_rng(1)
        parts = [c[col] for c, col in zip(self.centroids_per_view_, self.labels_per_view_.T)]
        X = sum(parts) - (len(parts) - 1) * self.mean_
        return X + 0.1 * rng.normal(size=X.shape)

    def transform_view(self, X, view):
        edges = np.cumsum((0, *self.n_dims_))
        if sp.issparse(X):
            X = X.toarray()
        X = np.asarray(X, dtype=float) - self.mean_
        return X @ self.rotation_[:, edges[view] : edges[view + 1]]

    def predict_views(self, X):
        columns = []
        for s, centers in enumerate(self.centroids_per_view_):
            gaps = self.transform_view(X, s)[:, None] - self.transform_view(centers, s)
            columns.append(np.argmin((gaps**2).sum(axis=2), axis=1))
        return np.stack(columns, axis=1)


@pytest.fixture
def model():
    return Views()


@pytest.fixture
def ax():
    return Figure().add_subplot()


@pytest.fixture
def panels():
    return Figure().subplots(1, 3)


# --- rows and centers ----------------------------------------------------------------------------


def test_each_panel_has_the_rows_of_its_view(model, panels):
    X = model.rows()
    axes = plot_views(model, X, axes=panels)
    assert list(axes) == list(panels)
    *rows, rings = axes[0].collections
    inside = model.transform_view(X, 0)
    np.testing.assert_allclose(rows[0].get_offsets(), inside[:, :2])
    expected = [to_rgba(HUES[label], 0.6) for label in model.labels_per_view_[:, 0]]
    np.testing.assert_allclose(rows[0].get_facecolors(), expected)
    centers = model.transform_view(model.centroids_per_view_[0], 0)
    np.testing.assert_allclose(rings.get_offsets(), centers[:, :2], atol=1e-12)
    assert [text.get_text() for text in axes[0].texts] == ["0", "1", "2"]
    assert axes[0].get_aspect() == 1.0


def test_hues_that_begin_again_have_another_marker(model, panels):
    X = model.rows()
    *rows, rings = plot_views(model, X, axes=panels)[2].collections
    later = model.labels_per_view_[:, 2] >= len(HUES)
    inside = model.transform_view(X, 2)[:, :2]
    assert len(rows) == 2
    np.testing.assert_allclose(rows[0].get_offsets(), inside[~later])
    np.testing.assert_allclose(rows[1].get_offsets(), inside[later])
    assert len(rows[0].get_paths()[0].vertices) != len(rows[1].get_paths()[0].vertices)
    assert len(rings.get_offsets()) == 10


def test_a_view_of_one_dimension_is_a_histogram(model, panels):
    X = model.rows()
    ax = plot_views(model, X, axes=panels)[1]
    counts = dict.fromkeys(HUES[:2], 0.0)
    for bar in ax.patches:
        counts[to_hex(bar.get_facecolor())] += bar.get_height()
    assert list(counts.values()) == np.bincount(model.labels_per_view_[:, 1]).tolist()
    centers = model.transform_view(model.centroids_per_view_[1], 1)[:, 0]
    np.testing.assert_allclose([line.get_xdata()[0] for line in ax.lines], centers)
    assert ax.get_ylabel() == "rows"
    # Nothing is cut off: the highest bar ends below the numbers of the centers.
    highest = max(bar.get_y() + bar.get_height() for bar in ax.patches)
    assert highest < 0.9 * ax.get_ylim()[1]


def test_titles_count_clusters_and_dimensions_and_tell_the_share(model, panels):
    titles = [ax.get_title() for ax in plot_views(model, model.rows(), axes=panels)]
    assert titles == [
        "view 0: 3 clusters, 2 dimensions\n50% of the variance",
        "view 1: 2 clusters, 1 dimension\n25% of the variance",
        "view 2: 10 clusters, 3 dimensions\n0.40% of the variance",
    ]


def test_a_view_without_dimensions_says_so():
    model = Views((3, 2), (2, 0))
    ax = plot_views(model, model.rows(), axes=Figure().subplots(1, 2))[1]
    assert [text.get_text() for text in ax.texts] == ["no dimension of its own"]
    assert ax.get_title().startswith("view 1: 2 clusters, 0 dimensions")


@pytest.mark.parametrize("kind", ["array", "frame", "csr", "coo", "list"])
def test_of_many_rows_some_are_drawn(model, kind):
    X = model.rows()
    given = {
        "array": lambda: X,
        "frame": lambda: pd.DataFrame(X),
        "csr": lambda: sp.csr_array(X),
        "coo": lambda: sp.coo_array(X),
        "list": lambda: X.tolist(),
    }[kind]()

    def drawn(**arguments):
        axes = plot_views(model, given, axes=Figure().subplots(1, 3), max_points=50, **arguments)
        return np.asarray(axes[0].collections[0].get_offsets())

    points = drawn()
    everywhere = model.transform_view(X, 0)
    nearest = np.abs(points[:, None] - everywhere).sum(axis=2)
    assert len(points) == len(np.unique(nearest.argmin(axis=1))) == 50
    assert nearest.min(axis=1).max() < 1e-9
    np.testing.assert_array_equal(points, drawn())  # the same ones again
    assert not np.array_equal(points, drawn(random_state=1))


@pytest.mark.parametrize("wide", [False, True])
def test_rows_are_colored_by_the_labels_given(model, panels, wide):
    classes = np.array(["ant", "bee", "cow", "dog"])[np.arange(N) % 4]
    labels = np.stack([classes] * 3, axis=1) if wide else classes
    axes = plot_views(model, model.rows(), labels=labels, axes=panels)
    expected = [to_rgba(HUES[place % 4], 0.6) for place in range(N)]
    np.testing.assert_allclose(axes[0].collections[0].get_facecolors(), expected)
    assert len({bar.get_facecolor() for bar in axes[1].patches}) == 4


def test_labels_given_are_sampled_with_their_rows(model, panels):
    labels = model.labels_per_view_
    axes = plot_views(model, model.rows(), labels=labels, max_points=60, axes=panels)
    rows = axes[0].collections[0]
    places = np.asarray(rows.get_offsets())
    own = model.predict_views(model.mean_ + places @ model.rotation_[:, :2].T)[:, 0]
    expected = [to_rgba(HUES[label], 0.6) for label in own]
    np.testing.assert_allclose(rows.get_facecolors(), expected)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"labels": np.zeros(5)}, ValueError, r"labels must have .* 120 rows.*got shape \(5, 3\)"),
        ({"labels": np.zeros((N, 2))}, ValueError, r"3 views as well, got shape \(120, 2\)"),
        ({"max_points": 0}, ValueError, "max_points must be an integer of at least 1, got 0"),
        ({"axes": Figure().subplots(1, 2)}, ValueError, "axes must be one for each .* 2 for 3"),
    ],
)
def test_views_refuse_what_cannot_be_drawn(model, arguments, error, message):
    with pytest.raises(error, match=message):
        plot_views(model, model.rows(), **arguments)


def test_new_figures_have_a_panel_for_each_view(monkeypatch):
    import matplotlib.pyplot as plt

    plt.switch_backend("Agg")
    for sizes, dims in (((3,), (2,)), ((3, 2, 2, 2), (2, 1, 1, 1))):
        model = Views(sizes, dims)
        axes = plot_views(model, model.rows())
        assert len(axes) == len(axes[0].figure.axes) == len(sizes)
        assert axes[0].figure.number in plt.get_fignums()
    assert plot_view_information(model).figure.number in plt.get_fignums()
    assert plot_view_centroids(Views(n_features=156), SHAPE).figure.number in plt.get_fignums()
    plt.close("all")
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r'pip install "polymeans\[plot\]"'):
        plot_views(model, model.rows())


# --- what views share ----------------------------------------------------------------------------


def heat(ax):
    return np.asarray(ax.images[0].get_array())


def names(ax):
    return [tick.get_text() for tick in ax.get_xticklabels()]


def test_views_with_themselves(model, ax):
    assert plot_view_information(model, ax=ax) is ax
    labels = model.labels_per_view_
    expected = [[normalized_mutual_info_score(a, b) for b in labels.T] for a in labels.T]
    np.testing.assert_allclose(heat(ax), expected)
    assert ax.images[0].get_clim() == (0.0, 1.0)
    written = [text.get_text() for text in ax.texts]
    assert written == [f"{value:.2f}" for value in np.ravel(expected)]
    assert names(ax) == ["view 0", "view 1", "view 2"]
    assert [tick.get_text() for tick in ax.get_yticklabels()] == names(ax)
    # Dark cells have white numbers.
    assert [text.get_color() == "white" for text in ax.texts] == (heat(ax).ravel() > 0.5).tolist()


def test_views_with_known_labels(model, ax):
    labels = model.labels_per_view_
    known = np.stack([labels[:, 2], (labels[:, 0] + 1) % 3], axis=1)
    plot_view_information(model, known, names=["beast", "hue"], ax=ax)
    assert heat(ax).shape == (3, 5)
    np.testing.assert_allclose(heat(ax)[[2, 0], [3, 4]], 1.0)
    assert names(ax)[3:] == ["beast", "hue"]


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        (lambda y: y, ["known 0", "known 1"]),
        (lambda y: y[:, 0], ["known"]),
        (lambda y: y.tolist(), ["known 0", "known 1"]),
        (lambda y: pd.DataFrame(y, columns=["a", "b"]), ["a", "b"]),
        (lambda y: np.array(["x", "y"])[y], ["known 0", "known 1"]),
    ],
    ids=["array", "one", "list", "frame", "words"],
)
def test_labels_instead_of_a_model(model, ax, known, expected):
    labels = model.labels_per_view_[:, :2]
    plot_view_information(labels, known(labels % 2), ax=ax)
    assert heat(ax).shape == (2, 2 + len(expected))
    assert names(ax) == ["view 0", "view 1", *expected]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"known": np.zeros(7)}, "known must have one label for each of the 120 rows.*got 7"),
        ({"known": np.zeros((N, 2, 2))}, r"known must have labels of shape .*\(120, 2, 2\)"),
        ({"known": np.zeros((N, 2)), "names": ["a"]}, "names must have one entry .* 1 for 2"),
        ({"names": ["a"]}, "names must be None without known"),
    ],
)
def test_information_refuses_what_does_not_fit(model, ax, arguments, message):
    with pytest.raises(ValueError, match=message):
        plot_view_information(model, ax=ax, **arguments)


# --- images --------------------------------------------------------------------------------------


def test_views_are_lines_of_images(ax):
    model = Views(n_features=156)
    assert plot_view_centroids(model, SHAPE, ax=ax) is ax
    assert len(ax.images) == 3
    for image, centers in zip(ax.images, model.centroids_per_view_):
        values = image.get_array()
        assert values.shape == (13, 13 * len(centers) - 1)  # and gaps between them
        for c, center in enumerate(centers):
            found = values[:, 13 * c : 13 * c + 12]
            np.testing.assert_array_equal(found, center.reshape(SHAPE))
    everything = np.concatenate(model.centroids_per_view_)
    assert {image.get_clim() for image in ax.images} == {(everything.min(), everything.max())}
    tops = [image.get_extent()[3] for image in ax.images]
    bottoms = [image.get_extent()[2] for image in ax.images]
    assert all(bottom < top for bottom, top in zip(bottoms, tops[1:]))
    lines = [tick.get_text() for tick in ax.get_yticklabels()]
    assert lines[0] == "view 0\n3 clusters\n50% of the variance"
    assert [tick.get_text() for tick in ax.get_xticklabels()] == [str(c) for c in range(10)]


def test_limits_are_those_given(ax):
    plot_view_centroids(Views(n_features=156), SHAPE, limits=(0, 255), ax=ax)
    assert {image.get_clim() for image in ax.images} == {(0, 255)}


def test_colors_are_clipped(ax):
    model = Views(n_features=3, sizes=(2, 3), dims=(1, 1))
    plot_view_centroids(model, (1, 1, 3), limits=(-1, 3), ax=ax)
    for image, centers in zip(ax.images, model.centroids_per_view_):
        swatches = np.asarray(image.get_array())[0, ::13]  # enlarged to twelve pixels, and a gap
        np.testing.assert_allclose(swatches[:, :3], np.clip((centers + 1) / 4, 0, 1))
        np.testing.assert_array_equal(swatches[:, 3], 1.0)


def test_centers_nobody_uses_are_dimmed(ax):
    model = Views(n_features=156)
    model.labels_per_view_[:, 0] %= 2
    plot_view_centroids(model, SHAPE, ax=ax)
    first, second = (image.get_alpha()[0, ::13] for image in ax.images[:2])
    assert (first < 0.5).tolist() == [False, False, True]
    assert second.tolist() == [1.0, 1.0]


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ((5, 5), r"image_shape=\(5, 5\) makes 25 numbers.*156 features"),
        ((156,), r"image_shape must be \(height, width\).*got \(156,\)"),
        ((3, 26, 2), r"image_shape must be .*got \(3, 26, 2\)"),
    ],
)
def test_shapes_must_fit(ax, shape, message):
    with pytest.raises(ValueError, match=message):
        plot_view_centroids(Views(n_features=156), shape, ax=ax)


# --- all of them ---------------------------------------------------------------------------------

CALLS = {
    "views": lambda model: plot_views(model, np.zeros((5, D)), axes=Figure().subplots(1, 3)),
    "information": lambda model: plot_view_information(model, ax=Figure().add_subplot()),
    "images": lambda model: plot_view_centroids(model, (3, 4), ax=Figure().add_subplot()),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_models_without_views_are_refused(call, blobs):
    nothing = NonRedundantKMeans(1, random_state=0).fit(blobs[:100])
    with pytest.raises(ValueError, match=r"n_views_ is 0: no clusters were found.*Ask for them"):
        call(nothing)
    with pytest.raises(NotFittedError):
        call(NonRedundantKMeans((2, 2)))
    with pytest.raises(TypeError, match="labels_per_view_, which KMeans does not have"):
        call(KMeans(2, init=blobs[:2], max_iter=1).fit(blobs))


def test_a_fitted_model_is_drawn():
    images, poses = make_stick_figures(200, random_state=0)
    frame = pd.DataFrame(images, columns=[f"pixel{f}" for f in range(400)])
    model = NonRedundantKMeans((3, 3), effort=0.1, random_state=0).fit(frame)
    figure = Figure(layout="constrained")
    axes = figure.subplots(2, 2).ravel()
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # of names of features, too
        plot_views(model, frame, axes=axes[:2])
        plot_view_information(model, poses, ax=axes[2])
        plot_view_centroids(model, (20, 20), ax=axes[3])
        figure.canvas.draw()
    rows, rings = axes[0].collections
    places = np.asarray(rows.get_offsets())
    means = [places[model.labels_per_view_[:, 0] == c].mean(axis=0) for c in range(3)]
    np.testing.assert_allclose(rings.get_offsets(), means, atol=1e-6)
    assert heat(axes[2])[:, 2:].max(axis=1) == pytest.approx([1.0, 1.0])
