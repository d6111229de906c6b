"""Every plot of every estimator: it is drawn, or the error says why not and what to use."""

import numpy as np
import pytest
import scipy.sparse as sp

from polymeans import (
    KhatriRaoKMeans,
    KMeans,
    L1KMeans,
    NonRedundantKMeans,
    QuickKMeans,
    TransformedKMeans,
    inspection,
)
from tests.inspection.models import deep

figure = pytest.importorskip("matplotlib.figure")

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

MODELS = {
    "KMeans": KMeans(4, random_state=0),
    "KhatriRaoKMeans": KhatriRaoKMeans((2, 2), random_state=0, effort=0.1),
    "QuickKMeans": QuickKMeans(4, random_state=0),
    "L1KMeans": L1KMeans(4, random_state=0),
    "NonRedundantKMeans": NonRedundantKMeans((2, 2), random_state=0, effort=0.1),
    "NonRedundantKMeans, no view": NonRedundantKMeans(1, random_state=0),
    "TransformedKMeans": TransformedKMeans(4, random_state=0, n_init=1),
    "TransformedKMeans, rbf": TransformedKMeans(4, kernel="rbf", random_state=0, n_init=1),
    "TransformedKMeans, linear": TransformedKMeans(4, kernel="linear", random_state=0, n_init=1),
    "TransformedKMeans, precomputed": TransformedKMeans(
        4, kernel="precomputed", random_state=0, n_init=1
    ),
    "TransformedKMeans, cg": TransformedKMeans(
        4, embedding=None, solver="cg", random_state=0, n_init=1
    ),
}

#: Latent spaces as wide as the rows, where latent centroids could be drawn as rows, and others.
DEEP = {
    "DKM": lambda: deep("DKM", 4, n_latent=12),
    "IDEC": lambda: deep("IDEC", 4, n_latent=3),
    "KhatriRaoDKM": lambda: deep("KhatriRaoDKM", (2, 2), n_latent=12),
    "KhatriRaoIDEC": lambda: deep("KhatriRaoIDEC", (2, 2), n_latent=3),
}

#: A plot of a model and its rows; what it draws on.
PLOTS = {
    "plot_centroids": lambda model, X, ax: inspection.plot_centroids(
        model, (3, 4), order="size", ax=ax
    ),
    "plot_matched_centroids": lambda model, X, ax: inspection.plot_matched_centroids(
        [model], (3, 4), axes=[ax]
    ),
    "plot_cluster_sizes": lambda model, X, ax: inspection.plot_cluster_sizes(model, ax=ax),
    "plot_convergence": lambda model, X, ax: inspection.plot_convergence(model, ax=ax),
    "plot_factors": lambda model, X, ax: inspection.plot_factors(model, ax=ax),
    "plot_learned_space": lambda model, X, ax: inspection.plot_learned_space(model, X, ax=ax),
    "plot_objective": lambda model, X, ax: inspection.plot_objective(model, ax=ax),
    "plot_operations": lambda model, X, ax: inspection.plot_operations(model, ax=ax),
    "plot_protocentroids": lambda model, X, ax: inspection.plot_protocentroids(model, ax=ax),
    "plot_tradeoff": lambda model, X, ax: inspection.plot_tradeoff({"model": [model]}, ax=ax),
    "plot_view_centroids": lambda model, X, ax: inspection.plot_view_centroids(
        model, (3, 4), ax=ax
    ),
    "plot_view_information": lambda model, X, ax: inspection.plot_view_information(model, ax=ax),
    "plot_views": lambda model, X, ax: inspection.plot_views(
        model, X, axes=[ax, ax.figure.add_subplot()]
    ),
}

#: Plots that show what all models have.
COMMON = (
    "plot_centroids",
    "plot_matched_centroids",
    "plot_cluster_sizes",
    "plot_convergence",
    "plot_objective",
    "plot_tradeoff",
)

#: Those that show what only some models have.
SPECIAL = {
    "QuickKMeans": ("plot_factors", "plot_operations"),
    "L1KMeans": ("plot_factors", "plot_operations"),
    "KhatriRaoKMeans": ("plot_protocentroids",),
    "NonRedundantKMeans": ("plot_view_centroids", "plot_view_information", "plot_views"),
    "TransformedKMeans": ("plot_learned_space",),
    "TransformedKMeans, rbf": ("plot_learned_space",),
    "TransformedKMeans, linear": ("plot_learned_space",),
    "TransformedKMeans, precomputed": ("plot_learned_space",),
}

NEEDS_CENTERS = ("plot_centroids", "plot_matched_centroids")


def test_no_plot_is_forgotten():
    functions = [name for name in inspection.__all__ if name.startswith("plot_")]
    assert sorted(PLOTS) == sorted(functions)  # displays: test_displays.py


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array], ids=["dense", "CSR"])
@pytest.mark.parametrize("name", MODELS)
def test_plots(name, container):
    X = np.random.default_rng(0).normal(size=(80, 12)) + 2.0
    X = container(X @ X.T if "precomputed" in name else np.where(X > 1.0, X, 0.0))
    model = MODELS[name].fit(X)
    has_kernel = getattr(model, "kernel", None) is not None
    for plot, draw in PLOTS.items():
        works = plot in COMMON or plot in SPECIAL.get(name, ())
        ax = figure.Figure().add_subplot()
        if works and not (has_kernel and plot in NEEDS_CENTERS):
            draw(model, X, ax)
            ax.figure.canvas.draw()
            continue
        with pytest.raises((TypeError, ValueError, NotImplementedError)) as caught:
            draw(model, X, ax)
        message = str(caught.value)
        if has_kernel and plot in NEEDS_CENTERS:
            assert "cluster_centers_" in message
            assert "plot_learned_space" in message
        elif "cg" in name and plot == "plot_learned_space":
            assert 'solver="exact"' in message
        elif "no view" in name and "view" in plot:
            assert "no clusters were found" in message
        else:
            assert type(model).__name__ in message
            assert "needs" in message


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array], ids=["dense", "CSR"])
@pytest.mark.parametrize("name", DEEP)
def test_plots_of_networks(name, container):
    X = np.random.default_rng(0).normal(size=(80, 12)) + 2.0
    X = container(np.where(X > 1.0, X, 0.0))
    model = DEEP[name]().fit(X)
    elsewhere = {
        "plot_objective": "polymeans.deep.plot_losses",
        "plot_tradeoff": "polymeans.deep.plot_network_sizes",
    }
    if "KhatriRao" in name:
        elsewhere["plot_protocentroids"] = "polymeans.deep.plot_decoded_centroids"
    for plot, draw in PLOTS.items():
        ax = figure.Figure().add_subplot()
        if plot in COMMON and plot not in elsewhere:
            draw(model, X, ax)
            ax.figure.canvas.draw()
            continue
        with pytest.raises(TypeError, match=f"needs.*{name}") as caught:
            draw(model, X, ax)
        assert elsewhere.get(plot, "") in str(caught.value)


def test_centroids_of_a_network_are_decoded():
    X = np.random.default_rng(0).random(size=(80, 12))
    model = DEEP["DKM"]().fit(X)
    ax = figure.Figure().add_subplot()
    inspection.plot_centroids(model, (3, 4), n_columns=4, ax=ax)
    drawn = np.asarray(ax.images[0].get_array())[:, :4]
    np.testing.assert_array_equal(drawn, model.decoded_centroids_[0].reshape(3, 4))


def test_sizes_of_clusters_of_a_kernel_include_empty_ones():
    X = np.random.default_rng(0).normal(size=(6, 2)).repeat(4, axis=0)
    model = TransformedKMeans(8, kernel="rbf", random_state=0, n_init=1).fit(X)
    ax = inspection.plot_cluster_sizes(model, ax=figure.Figure().add_subplot())
    assert len(ax.patches) == 8
