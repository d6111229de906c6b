"""Plots: what is drawn, on which axes, and what happens without matplotlib."""

import subprocess
import sys

import numpy as np
import pytest
from matplotlib.figure import Figure
from sklearn.cluster import KMeans as SklearnKMeans
from sklearn.exceptions import NotFittedError

from polymeans import KMeans
from polymeans.inspection import plot_centroids, plot_cluster_sizes, plot_convergence


@pytest.fixture(scope="module")
def model(blobs):
    return KMeans(12, random_state=0, tol=0).fit(blobs)


@pytest.fixture
def ax():
    return Figure().add_subplot()


def test_convergence_draws_the_history(model, ax):
    assert plot_convergence(model, ax=ax) is ax
    moved = next(other for other in ax.figure.axes if other is not ax)
    for axes, name in ((ax, "inertia"), (moved, "n_moved")):
        (line,) = axes.lines
        np.testing.assert_array_equal(line.get_xdata(), np.arange(1, model.n_iter_ + 1))
        np.testing.assert_array_equal(line.get_ydata(), model.history_[name])
    assert ax.get_xlabel() == "iteration"
    assert "inertia" in ax.get_ylabel()
    assert "changed cluster" in moved.get_ylabel()


def test_cluster_sizes_are_counts_largest_first(model, ax):
    assert plot_cluster_sizes(model, ax=ax) is ax
    heights = [bar.get_height() for bar in ax.patches]
    sizes = np.bincount(model.labels_)
    assert heights == sorted(sizes, reverse=True)
    names = [int(tick.get_text()) for tick in ax.get_xticklabels()]
    np.testing.assert_array_equal(sizes[names], heights)
    assert ax.lines[0].get_ydata()[0] == pytest.approx(sizes.mean())


def test_many_clusters_have_no_names(blobs, ax):
    plot_cluster_sizes(KMeans(40, init=blobs[:40], max_iter=2).fit(blobs), ax=ax)
    assert len(ax.patches) == 40
    assert len(ax.get_xticks()) == 0


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_clusters_without_rows_are_shown(ax):
    plot_cluster_sizes(KMeans(3, random_state=0).fit([[0.0], [0.0], [1.0]]), ax=ax)
    assert [bar.get_height() for bar in ax.patches] == [2, 1, 0]


@pytest.mark.parametrize("order", ["label", "size"])
@pytest.mark.parametrize("n_columns", [None, 5, 20])
def test_every_centroid_is_in_the_mosaic(model, ax, order, n_columns):
    assert plot_centroids(model, (3, 4), n_columns=n_columns, order=order, ax=ax) is ax
    mosaic = np.ma.filled(ax.images[0].get_array(), np.nan)
    sequence = np.arange(12)
    if order == "size":
        sequence = np.argsort(-np.bincount(model.labels_), kind="stable")
    for place, j in enumerate(sequence):
        row, column = divmod(place, n_columns or 4)
        image = mosaic[4 * row : 4 * row + 3, 5 * column : 5 * column + 4]
        np.testing.assert_array_equal(image, model.cluster_centers_[j].reshape(3, 4))
    assert np.isfinite(mosaic).sum() == model.cluster_centers_.size


def test_images_need_a_fitting_shape_and_order(model, ax):
    with pytest.raises(ValueError, match=r"image_shape=\(5, 5\) makes 25 pixels.*12 features"):
        plot_centroids(model, (5, 5), ax=ax)
    with pytest.raises(ValueError, match="order must be one of 'label', 'size', got 'age'"):
        plot_centroids(model, (3, 4), order="age", ax=ax)


def test_models_of_scikit_learn_are_welcome_where_they_have_what_is_drawn(blobs, ax):
    theirs = SklearnKMeans(4, n_init=1, random_state=0).fit(blobs)
    assert len(plot_cluster_sizes(theirs, ax=ax).patches) == 4
    assert len(plot_centroids(theirs, (4, 3), ax=ax).images) == 1
    with pytest.raises(TypeError, match="history_, which KMeans does not have"):
        plot_convergence(theirs, ax=ax)


@pytest.mark.parametrize(
    "plot", [plot_convergence, plot_cluster_sizes, lambda m: plot_centroids(m, (3, 4))]
)
def test_unfitted_models_are_refused(plot):
    with pytest.raises(NotFittedError):
        plot(KMeans(3))


def test_new_axes_without_a_display(model, monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "Agg")
    import matplotlib.pyplot as plt

    plt.switch_backend("Agg")
    axes = [plot_convergence(model), plot_cluster_sizes(model)]
    assert axes[0].figure is not axes[1].figure
    assert [ax.figure.number for ax in axes] == plt.get_fignums()[-2:]
    plt.close("all")


def test_given_axes_leave_pyplot_alone():
    code = (
        "import sys; from matplotlib.figure import Figure; from sklearn.base import BaseEstimator;"
        "from polymeans.inspection import plot_convergence;"
        "model = BaseEstimator(); model.fit = None;"  # enough to count as a fitted estimator
        "model.history_ = {'inertia': [3.0, 1.0], 'n_moved': [3, 0]};"
        "plot_convergence(model, ax=Figure().add_subplot());"
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_without_matplotlib(model, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r'pip install "polymeans\[plot\]"'):
        plot_convergence(model)
