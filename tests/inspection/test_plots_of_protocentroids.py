"""Pictures of protocentroids: what stands where, what is dimmed, and what costs what."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.figure import Figure
from sklearn.base import BaseEstimator
from sklearn.cluster import KMeans as SklearnKMeans
from sklearn.exceptions import NotFittedError

from polymeans import KhatriRaoKMeans, KMeans
from polymeans.codebooks.aggregation import combine
from polymeans.inspection import plot_protocentroids, plot_tradeoff

SIZES, SHAPE = (2, 3), (13, 12)  # large enough to be drawn pixel by pixel


class Grid(BaseEstimator):
    """What a fitted KhatriRaoKMeans shows of itself, without the fit."""

    def __init__(self, sizes=SIZES, n_features=156, aggregator="sum", unused=()):
        self.sizes, self.n_features = sizes, n_features
        self.aggregator, self.unused = aggregator, unused
        rng = np.random.default_rng(0)
        self.protocentroids_ = [rng.normal(size=(h, n_features)) for h in sizes]
        self.cluster_centers_ = combine(self.protocentroids_, aggregator)
        self.labels_ = np.setdiff1d(np.arange(np.prod(sizes)), unused)

    def fit(self, X):
        """Makes it an estimator."""


@pytest.fixture
def ax():
    return Figure().add_subplot()


def picture(image, place, size, n_columns=1, gap=1):
    """One picture of a mosaic."""
    values = np.ma.filled(np.ma.masked_invalid(image.get_array()), np.nan)
    top, left = (number * (side + gap) for number, side in zip(divmod(place, n_columns), size))
    return values[top : top + size[0], left : left + size[1]]


def corners(image):
    left, right, bottom, top = image.get_extent()
    return left, top, right, bottom


@pytest.mark.parametrize("aggregator", ["sum", "product"])
def test_the_table_has_sets_in_its_margins_and_centroids_inside(ax, aggregator):
    model = Grid(aggregator=aggregator)
    assert plot_protocentroids(model, image_shape=SHAPE, ax=ax) is ax
    first, second, table = ax.images
    for i, vector in enumerate(model.protocentroids_[0]):
        np.testing.assert_array_equal(picture(first, i, SHAPE), vector.reshape(SHAPE))
    for j, vector in enumerate(model.protocentroids_[1]):
        np.testing.assert_array_equal(picture(second, j, SHAPE, 3), vector.reshape(SHAPE))
    for c, vector in enumerate(model.cluster_centers_):
        np.testing.assert_array_equal(picture(table, c, SHAPE, 3), vector.reshape(SHAPE))
    # The first set shares its rows with the table, the second its columns.
    assert corners(first)[1::2] == corners(table)[1::2]
    assert corners(second)[::2] == corners(table)[::2]
    assert corners(first)[2] < corners(table)[0]
    assert corners(second)[3] < corners(table)[1]
    assert [text.get_text() for text in ax.texts] == ["+" if aggregator == "sum" else "×"]
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["0", "1", "2"]
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["0", "1"]


def test_colors_mean_the_same_in_the_table_and_in_the_first_set(ax):
    model = Grid(aggregator="product")
    plot_protocentroids(model, image_shape=SHAPE, ax=ax)
    first, second, table = ax.images
    assert first.get_clim() == table.get_clim()
    assert first.get_clim()[1] >= model.cluster_centers_.max()
    assert np.mean(second.get_clim()) == pytest.approx(1.0)  # what changes nothing in a product


def test_combinations_nobody_uses_are_dimmed(ax):
    # All of the last column, so its protocentroid serves nobody either.
    plot_protocentroids(Grid(unused=(0, 2, 5)), image_shape=SHAPE, ax=ax)
    first, second, table = (image.get_alpha() for image in ax.images)
    np.testing.assert_array_equal(first[::14, 0] < 0.5, [False, False])
    np.testing.assert_array_equal(second[0, ::13] < 0.5, [False, False, True])
    dimmed = table[::14, ::13] < 0.5
    np.testing.assert_array_equal(dimmed, [[True, False, True], [False, False, True]])
    assert table[13, 0] == 0  # gaps do not show


def test_least_moves_the_minimum_to_the_first_set_and_no_centroid(ax):
    model = Grid()
    before = [theta.copy() for theta in model.protocentroids_]
    plot_protocentroids(model, image_shape=SHAPE, baseline="least", ax=ax)
    first, second, table = ax.images
    parts = [
        np.array([picture(image, place, SHAPE, n).ravel() for place in range(h)])
        for image, h, n in ((first, 2, 1), (second, 3, 3))
    ]
    np.testing.assert_array_equal(parts[1].min(axis=0), 0.0)
    np.testing.assert_allclose(combine(parts, "sum"), model.cluster_centers_, atol=1e-12)
    assert first.get_clim() == second.get_clim() == table.get_clim()
    for theta, old in zip(model.protocentroids_, before):
        np.testing.assert_array_equal(theta, old)


def test_products_have_no_other_baseline(ax):
    model = Grid(aggregator="product")
    plot_protocentroids(model, image_shape=SHAPE, baseline="least", ax=ax)
    expected = model.protocentroids_[1][0].reshape(SHAPE)
    np.testing.assert_array_equal(picture(ax.images[1], 0, SHAPE, 3), expected)


def test_more_sets_are_lines_without_a_table(ax):
    model = Grid((2, 3, 4))
    plot_protocentroids(model, image_shape=SHAPE, ax=ax)
    assert len(ax.images) == 3
    for image, theta in zip(ax.images, model.protocentroids_):
        for j, vector in enumerate(theta):
            found = picture(image, j, SHAPE, len(theta))
            np.testing.assert_array_equal(found, vector.reshape(SHAPE))
    edges = [corners(image)[1::2] for image in ax.images]
    assert edges[0][1] < edges[1][0] < edges[1][1] < edges[2][0]
    names = [tick.get_text() for tick in ax.get_yticklabels()]
    assert names == [f"protocentroids_[{q}]" for q in range(3)]


@pytest.mark.parametrize("sizes", [(2, 3), (2, 3, 2), (4,)])
@pytest.mark.parametrize("baseline", ["fitted", "least"])
def test_rows_that_are_no_images_become_stripes(ax, sizes, baseline):
    model = Grid(sizes, n_features=20)
    plot_protocentroids(model, baseline=baseline, ax=ax)
    assert len(ax.images) == len(sizes) + (len(sizes) == 2)
    if baseline == "fitted":
        stripe = ax.images[0].get_array()[0, :20]
        np.testing.assert_array_equal(stripe, model.protocentroids_[0][0])


def test_colors(ax):
    model = Grid(n_features=3, unused=(4,))
    plot_protocentroids(model, image_shape=(1, 1, 3), limits=(-1, 3), ax=ax)
    first, second, table = (np.asarray(image.get_array()) for image in ax.images)
    expected = np.clip((model.protocentroids_[0][0] + 1) / 4, 0, 1)
    np.testing.assert_allclose(first[0, 0], [*expected, 1.0])
    reach = np.abs(model.protocentroids_[1]).max()
    np.testing.assert_allclose(second[0, 0, :3], 0.5 + model.protocentroids_[1][0] / (2 * reach))
    opacity = table[::13, ::13, 3].ravel()  # swatches are enlarged to twelve pixels
    assert [bool(dim) for dim in opacity < 0.5] == [c == 4 for c in range(6)]


def test_large_sets_have_no_numbers(ax):
    plot_protocentroids(Grid((2, 31), n_features=2), ax=ax)
    assert len(ax.get_xticks()) == 0
    assert len(ax.get_yticks()) == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"image_shape": (5, 5)}, r"image_shape=\(5, 5\) makes 25 numbers.*156 features"),
        ({"image_shape": (3, 26, 2)}, r"image_shape must be \(height, width\).*got \(3, 26, 2\)"),
        ({"image_shape": (156,)}, r"image_shape must be .*got \(156,\)"),
        ({"baseline": "zero"}, "baseline must be one of 'fitted', 'least', got 'zero'"),
    ],
)
def test_what_cannot_be_drawn_is_refused(ax, arguments, message):
    with pytest.raises(ValueError, match=message):
        plot_protocentroids(Grid(), ax=ax, **arguments)


def test_models_without_protocentroids_are_refused(blobs, ax):
    with pytest.raises(NotFittedError):
        plot_protocentroids(KhatriRaoKMeans((2, 2)), ax=ax)
    with pytest.raises(TypeError, match="protocentroids_, which KMeans does not have"):
        plot_protocentroids(KMeans(2, init=blobs[:2]).fit(blobs), ax=ax)


def test_a_fitted_model_is_drawn(blobs, ax):
    model = KhatriRaoKMeans((2, 3), init=[blobs[:2], 0 * blobs[:3]], max_iter=1).fit(blobs)
    plot_protocentroids(model, image_shape=(3, 4), ax=ax)
    ax.figure.canvas.draw()
    used = np.bincount(model.labels_, minlength=6) > 0
    height, width = 4 * 3 - 3, 4 * 3  # enlarged three times, and the gap is one
    opacity = ax.images[2].get_alpha()[:: height + 1, :: width + 1].ravel()
    np.testing.assert_array_equal(opacity == 1, used)


def test_new_axes_and_no_matplotlib(monkeypatch):
    import matplotlib.pyplot as plt

    plt.switch_backend("Agg")
    ax = plot_protocentroids(Grid(), image_shape=SHAPE)
    assert ax.figure.number in plt.get_fignums()
    plt.close("all")
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r'pip install "polymeans\[plot\]"'):
        plot_protocentroids(Grid())


# --- what costs what -----------------------------------------------------------------------------


def test_tradeoff_draws_numbers_stored_and_inertia(blobs, ax):
    models = [KMeans(k, init=blobs[:k], max_iter=2).fit(blobs) for k in (4, 2)]
    theirs = SklearnKMeans(3, n_init=1, random_state=0).fit(blobs)
    assert plot_tradeoff({"ours": models, "theirs": [theirs]}, ax=ax) is ax
    n_features = blobs.shape[1]
    ours, other = ax.lines
    assert list(ours.get_xdata()) == [2 * n_features, 4 * n_features]  # in order
    assert list(ours.get_ydata()) == [models[1].inertia_, models[0].inertia_]
    assert list(other.get_xdata()) == [3 * n_features]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["ours", "theirs"]
    assert ax.get_xscale() == ax.get_yscale() == "log"


def test_tradeoff_believes_what_structured_models_say(ax):
    model = Grid()
    model.n_parameters_, model.inertia_ = 42, 7.0
    (line,) = plot_tradeoff({"grid": [model]}, ax=ax).lines
    assert (*line.get_xdata(), *line.get_ydata()) == (42, 7.0)


def test_tradeoff_refuses_what_it_cannot_use(ax):
    with pytest.raises(TypeError, match="curves must be a dict"):
        plot_tradeoff([Grid()], ax=ax)
    with pytest.raises(TypeError, match="curves must be a dict"):
        plot_tradeoff({}, ax=ax)
    with pytest.raises(TypeError, match="inertia_, which Grid does not have"):
        plot_tradeoff({"grid": [Grid()]}, ax=ax)
    with pytest.raises(TypeError, match="not an estimator"):
        plot_tradeoff({"nothing": [SimpleNamespace(inertia_=1.0)]}, ax=ax)
