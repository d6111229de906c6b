"""Displays in scikit-learn's manner, for every estimator."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from matplotlib.figure import Figure
from sklearn.cluster import KMeans as OtherKMeans
from sklearn.datasets import load_digits, load_iris
from sklearn.metrics import silhouette_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from polymeans import (
    KhatriRaoKMeans,
    KMeans,
    L1KMeans,
    NonRedundantKMeans,
    QuickKMeans,
    TransformedKMeans,
    choose_n_clusters,
    compare,
)
from polymeans.blocks import from_sequence
from polymeans.inspection import (
    ClusterMapDisplay,
    ClusterSizesDisplay,
    ConvergenceDisplay,
    ElbowDisplay,
    SilhouetteDisplay,
    plot_centroids,
    plot_convergence,
    plot_learned_space,
    plot_view_centroids,
    plot_views,
)
from polymeans.inspection._tiles import image_colors
from tests.inspection.models import deep

X, y = load_iris(return_X_y=True)

MODELS = [
    KMeans(3, random_state=0),
    KMeans(3, metric="cosine", random_state=0),
    L1KMeans(3, random_state=0),
    QuickKMeans(3, n_nonzeros=10, random_state=0),
    KhatriRaoKMeans((2, 2), effort=0.1, random_state=0),
    NonRedundantKMeans((3, 2), effort=0.1, random_state=0),
    NonRedundantKMeans(3, whiten=True, effort=0.1, random_state=0),
    TransformedKMeans(3, random_state=0),
    TransformedKMeans(3, kernel="rbf", random_state=0),
    make_pipeline(StandardScaler(), KMeans(3, random_state=0)),
    deep("DKM", 3, n_latent=4),
    deep("KhatriRaoIDEC", (2, 2), n_latent=2),
    make_pipeline(StandardScaler(), deep("IDEC", 3, n_latent=1)),
]


def axes():
    return Figure().add_subplot()


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_every_estimator_has_every_display(model, tmp_path):
    model.fit(X)
    silhouettes = SilhouetteDisplay.from_estimator(model, X, ax=axes())
    assert len(silhouettes.silhouettes) == 150
    assert 0 < silhouettes.silhouettes.mean() <= 1
    drawn = ClusterMapDisplay.from_estimator(model, X, y=y, ax=axes())
    assert drawn.points.shape[0] == 150
    assert np.isfinite(drawn.points).all()
    assert len(drawn.ax_.get_legend().texts) == 3
    convergence = ConvergenceDisplay.from_estimator(model, ax=axes())
    sizes = ClusterSizesDisplay.from_estimator(model, ax=axes())
    assert sum(bar.get_height() for bar in sizes.ax_.patches) == 150
    for display in (silhouettes, drawn, convergence, sizes):
        display.figure_.savefig(tmp_path / "figure.png")


@pytest.mark.parametrize("make", [sp.csr_array, pd.DataFrame, lambda X: X.astype(np.float32)])
def test_kinds_of_rows(make):
    rows = make(X)
    model = KMeans(3, random_state=0).fit(rows)
    silhouettes = SilhouetteDisplay.from_estimator(model, rows, ax=axes()).silhouettes
    plain = SilhouetteDisplay.from_estimator(KMeans(3, random_state=0).fit(X), X, ax=axes())
    np.testing.assert_allclose(silhouettes, plain.silhouettes, atol=1e-4)
    ClusterMapDisplay.from_estimator(model, rows, ax=axes())


def test_silhouettes_are_near_those_of_all_pairs():
    model = KMeans(3, random_state=0).fit(X)
    mean = SilhouetteDisplay.from_estimator(model, X, ax=axes()).silhouettes.mean()
    assert abs(mean - silhouette_score(X, model.labels_)) < 0.15


def test_rows_keep_their_distances_on_the_map():
    plane = np.random.default_rng(0).normal(size=(60, 2)) * [5, 1]
    model = KMeans(4, random_state=0).fit(plane)
    points = ClusterMapDisplay.from_estimator(model, plane, ax=axes()).points
    before = np.linalg.norm(plane[:, None] - plane, axis=2)
    np.testing.assert_allclose(np.linalg.norm(points[:, None] - points, axis=2), before)


@pytest.mark.parametrize("d", [1, 2])
def test_one_dimension_and_one_cluster_can_be_drawn(d):
    rows = np.random.default_rng(0).normal(size=(30, d))
    for k in (1, 2):
        ClusterMapDisplay.from_estimator(KMeans(k, random_state=0).fit(rows), rows, ax=axes())


def test_choices_and_comparisons_are_drawn(tmp_path):
    choice = choose_n_clusters(X, 5, random_state=0)
    display = choice.plot()
    assert len(display.axes_) == 9
    display.figure_.savefig(tmp_path / "choice.png")
    with pytest.raises(ValueError, match="axes must be 9"):
        choice.plot(axes=[axes()])
    elbow = ElbowDisplay.from_choice(choice, ax=axes())
    assert "knee" in elbow.ax_.get_title()
    comparison = compare(np.abs(X), 4, n_runs=1, random_state=0)
    drawn = comparison.plot(ax=axes())
    names = [text.get_text() for text in drawn.ax_.get_legend().texts]
    assert "KMeans" in names
    assert "recommended" in names
    drawn.figure_.savefig(tmp_path / "comparison.png")


def test_a_display_can_be_drawn_again():
    display = SilhouetteDisplay.from_estimator(KMeans(2, random_state=0).fit(X), X, ax=axes())
    again = axes()
    assert display.plot(ax=again).ax_ is again


def test_plots_take_pipelines():
    scaled = make_pipeline(StandardScaler(), TransformedKMeans(3, random_state=0)).fit(X)
    plot_learned_space(scaled, X, ax=axes())
    plot_convergence(scaled, ax=axes())
    views = make_pipeline(StandardScaler(), NonRedundantKMeans((2, 2), effort=0.1)).fit(X)
    plot_views(views, X, axes=Figure().subplots(1, 2))


def test_classes_have_a_legend():
    model = TransformedKMeans(3, random_state=0).fit(X)
    names = load_iris().target_names[y]
    ax = plot_learned_space(model, X, names, ax=axes())
    found = [text.get_text() for text in ax.get_legend().texts]
    assert found == ["setosa", "versicolor", "virginica"]
    assert plot_learned_space(model, X, ax=axes()).get_legend() is None


def test_many_clusters_of_a_view_go_on_in_the_next_line():
    images = load_digits().data[:300]
    model = NonRedundantKMeans((20, 2), effort=0.02, random_state=0).fit(images)
    ax = plot_view_centroids(model, (8, 8), ax=axes())
    width, height = ax.get_xlim()[1], ax.get_ylim()[0]
    assert width / height > 2  # ten images side by side, three lines
    assert ax.get_xlabel() == "cluster, 10 in a line"


def test_drawings_are_dark_on_light_and_photographs_are_not_negatives():
    ink = np.zeros((5, 100))
    ink[:, :20] = 16.0
    assert image_colors("auto", [ink]) == "gray_r"
    photograph = np.random.default_rng(0).integers(0, 256, size=(5, 100))
    assert image_colors("auto", [photograph]) == "gray"
    assert image_colors("viridis", [photograph]) == "viridis"
    model = KMeans(4, random_state=0).fit(load_digits().data)
    assert plot_centroids(model, (8, 8), ax=axes()).images[0].get_cmap().name == "gray_r"


def test_new_figures_are_laid_out_so_that_nothing_is_clipped():
    import matplotlib.pyplot as plt

    model = KMeans(3, random_state=0).fit(X)
    for figure in (
        plot_convergence(model).figure,
        SilhouetteDisplay.from_estimator(model, X).figure_,
    ):
        assert type(figure.get_layout_engine()).__name__ == "ConstrainedLayoutEngine"
        plt.close(figure)


# --- the elbow of an estimator -------------------------------------------------------------------


@pytest.mark.parametrize(
    "estimator",
    [
        KMeans(metric="cosine"),
        KhatriRaoKMeans((2, 2), effort=0.05),
        make_pipeline(StandardScaler(), KMeans(3)),
        OtherKMeans(n_init=1),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_an_elbow_is_that_of_the_choice(estimator):
    choice = choose_n_clusters(X, [2, 3, 4, 6], estimator=estimator, random_state=0)
    display = ElbowDisplay.from_estimator(estimator, X, [2, 3, 4, 6], random_state=0, ax=axes())
    np.testing.assert_array_equal(display.n_clusters, choice.table_["n_clusters"])
    np.testing.assert_allclose(display.inertia, choice.table_["inertia"])
    assert display.knee == choice.choices_["elbow"]
    assert display.ax_.get_ylabel() == "inertia"


def test_an_elbow_of_a_fitted_model_and_of_blocks():
    model = KMeans(5, random_state=0).fit(X)
    display = ElbowDisplay.from_estimator(model, pd.DataFrame(X), 5, random_state=0, ax=axes())
    assert display.n_clusters.tolist() == [1, 2, 3, 4, 5]
    assert model.n_clusters == 5
    again = ElbowDisplay.from_estimator(
        model, from_sequence(X, block_rows=60), 5, random_state=0, ax=axes()
    )
    np.testing.assert_allclose(again.inertia, display.inertia)


def test_an_elbow_needs_a_clusterer_and_numbers():
    with pytest.raises(TypeError, match="estimator must be a clusterer"):
        ElbowDisplay.from_estimator(StandardScaler(), X)
    with pytest.raises(ValueError, match="n_clusters="):
        ElbowDisplay.from_estimator(KMeans(), X, [500])
    with pytest.raises(ValueError, match="n_threads"):
        ElbowDisplay.from_estimator(KMeans(), X, 4, n_threads=0)
