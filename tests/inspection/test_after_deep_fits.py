"""What is particular to networks after their fit: the latent space, losses, refusals."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from polymeans import (
    assign,
    choose_n_clusters,
    describe,
    memory_estimate,
    nearest_samples,
    relabel,
    report,
    stability,
)
from polymeans.blocks import from_sequence
from tests.inspection.models import DEEP, N_FEATURES, N_ROWS, deep, fitted, rows

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

NAMES = ("DKM", "IDEC", "KhatriRaoDKM", "KhatriRaoIDEC")


def make(name, n_latent=N_FEATURES, **options):
    """Four clusters; not fitted."""
    return deep(name, (2, 2) if "KhatriRao" in name else 4, n_latent=n_latent, **options)


# --- the latent space --------------------------------------------------------------------------


@pytest.mark.parametrize("n_latent", [1, 3, N_FEATURES])
@pytest.mark.parametrize("name", NAMES)
def test_spread_and_separation_are_of_the_latent_space(name, n_latent):
    X = rows("dense")
    model = make(name, n_latent).fit(X)
    kind = "cells" if "KhatriRao" in name else "clusters"
    table = describe(model, X)
    latent = model.transform(X).astype(np.float64)
    centers = model.cluster_centers_.astype(np.float64)
    own = np.linalg.norm(latent - centers[model.labels_], axis=1)
    between = np.linalg.norm(centers[:, None] - centers, axis=2)
    np.fill_diagonal(between, np.inf)
    for row in table.of(kind):
        mine = own[model.labels_ == row.cluster]
        assert row.size == len(mine)
        assert row.spread == pytest.approx(mine.mean(), rel=1e-4)
        assert row.separation == pytest.approx(between[row.cluster].min(), rel=1e-4)
    dimensions = f"{n_latent} dimension" + "s" * (n_latent != 1)
    assert table.clusterings[0].space == f"in the latent space of {dimensions}"
    assert table.clusterings[0].inertia == pytest.approx(model.inertia_, rel=1e-4)


@pytest.mark.parametrize("name", NAMES)
def test_features_are_those_of_the_rows(name):
    frame = rows("pandas")
    frame = frame * 100 + 7
    model = make_pipeline(StandardScaler(), make(name, 3)).fit(frame)
    table = describe(model, frame, n_features=N_FEATURES)
    labels = model.predict(frame)
    for row in table.of(table.clusterings[0].name):
        for feature in row.features:
            assert feature.name == frame.columns[feature.index]
            mean = frame[feature.name][labels == row.cluster].mean()
            assert feature.mean == pytest.approx(mean)


@pytest.mark.parametrize("name", NAMES)
def test_every_kind_of_rows_is_described_alike(name):
    X = rows("dense")
    model = make(name).fit(X)
    expected = describe(model, X)
    kinds = (sp.csr_array(X), sp.csr_matrix(X), from_sequence(X, block_rows=37))
    for same in (*kinds, X.astype(np.float32)):
        for ours, theirs in zip(describe(model, same), expected, strict=True):
            assert (ours.size, ours.representatives) == (theirs.size, theirs.representatives)
            assert ours.silhouette == pytest.approx(theirs.silhouette)


def test_output_as_a_frame_changes_nothing():
    X = rows("dense")
    model = make("DKM").fit(X)
    expected = describe(model, X)
    model.set_output(transform="pandas")
    assert describe(model, X) == expected
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    assert model.reconstruct(X).shape == X.shape


@pytest.mark.parametrize("name", NAMES)
def test_nearest_rows_of_a_pipeline(name):
    X = rows("dense")
    model = make_pipeline(StandardScaler(), make(name)).fit(X)
    found = nearest_samples(model, X, 2)
    distances = model[-1].distances(model[:-1].transform(X))
    for c, (number, away) in enumerate(zip(found.indices[:, 0], found.distances[:, 0])):
        assert away == pytest.approx(distances[number, c], rel=1e-4)
        assert away == pytest.approx(distances[model[-1].labels_ == c, c].min(), rel=1e-4)


# --- other numbers and columns -----------------------------------------------------------------


@pytest.mark.parametrize("name", DEEP)
def test_new_numbers_are_saved_and_trained_further(name, tmp_path):
    from polymeans.deep import load

    model, X = fitted(name), rows("dense")
    found = relabel(model)
    found.save(tmp_path / "model.safetensors")
    again = load(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(again.predict(X), found.labels_)
    np.testing.assert_array_equal(again.cluster_centers_, found.cluster_centers_)
    moved = model.cluster_centers_[:, None] - found.cluster_centers_
    new = np.abs(moved).sum(axis=2).argmin(axis=1)
    np.testing.assert_array_equal(found.labels_, new[model.labels_])
    np.testing.assert_array_equal(found.start_labels_, new[model.start_labels_])
    before = found.predict(X)
    found.set_params(warm_start=True, max_epochs=1, learning_rate=1e-9).fit(X)
    assert np.mean(found.labels_ == before) > 0.95


def test_a_given_order_of_a_grid_and_of_free_centroids():
    X = rows("dense")
    free, grid = fitted("dkm"), fitted("deep sum")
    found = relabel(free, [4, 3, 2, 1, 0])
    np.testing.assert_array_equal(found.predict(X), 4 - free.predict(X))
    turned = relabel(grid, [[1, 0], [0, 1, 2]])
    np.testing.assert_array_equal(turned.predict_protolabels(X)[:, 0], 1 - grid.protolabels_[:, 0])
    np.testing.assert_array_equal(turned.protocentroids_[0], grid.protocentroids_[0][::-1])
    with pytest.raises(ValueError, match="label_order"):
        relabel(free, [0, 1])
    with pytest.raises(ValueError, match="a sequence for each of 2"):
        relabel(grid, [[0, 1]])


@pytest.mark.parametrize("library", [pd, pl])
def test_labels_become_a_column(library):
    names = [f"f{j}" for j in range(N_FEATURES)]
    columns = dict(zip(names, rows("dense").T))
    frame = library.DataFrame(columns | {"id": range(N_ROWS)})
    model = make_pipeline(StandardScaler(), make("KhatriRaoDKM")).fit(frame[names])
    labels = assign(model, frame)["cluster"].to_list()
    assert labels == model.predict(frame[names]).tolist()


# --- losses ------------------------------------------------------------------------------------


def test_convergence_is_the_loss_of_each_epoch():
    figure = pytest.importorskip("matplotlib.figure")
    from polymeans.inspection import ConvergenceDisplay

    model = fitted("idec")
    ax = ConvergenceDisplay.from_estimator(model, ax=figure.Figure().add_subplot()).ax_
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("epoch", "loss")
    np.testing.assert_array_equal(ax.get_lines()[0].get_ydata(), model.history_["loss"])
    phases = list(dict.fromkeys(model.history_["phase"].tolist()))
    assert [text.get_text() for text in ax.texts] == phases
    assert len(ax.get_lines()) == len(phases)  # the curve, and a line between two phases


# --- repeated fits, and what is refused --------------------------------------------------------


@pytest.mark.parametrize("vary", ["rows", "seeds"])
def test_repeated_fits_are_compared(vary):
    X = rows("dense")
    found = stability(make("KhatriRaoIDEC"), X, 2, vary=vary, random_state=0)
    assert 0 < found.mean_ <= 1
    assert found.sizes_.sum() == N_ROWS
    assert found.estimator_.n_threads == 1  # its own, on which its bits depend


@pytest.mark.parametrize("name", NAMES)
def test_what_cannot_be_done_is_refused_with_a_reason(name):
    X = rows("dense")
    for estimator in (make(name), make_pipeline(StandardScaler(), make(name))):
        with pytest.raises(TypeError, match=f"got {name}.*do not compare.*stability"):
            choose_n_clusters(X, 5, estimator=estimator)
    with pytest.raises(NotImplementedError, match=f"{name}.*a tenth of the rows.*blocks"):
        memory_estimate((1000, 20), make(name))


def test_loaders_and_data_sets_are_refused_with_a_remedy():
    torch = pytest.importorskip("torch")
    from torch.utils.data import DataLoader, TensorDataset

    figure = pytest.importorskip("matplotlib.figure")
    from polymeans.inspection import SilhouetteDisplay

    model = fitted("dkm")
    data = TensorDataset(torch.from_numpy(rows("dense")))
    for given in (data, DataLoader(data)):
        text = rf"X is a {type(given).__name__} .*polymeans\.blocks"
        with pytest.raises(TypeError, match=text):
            describe(model, given)
        with pytest.raises(TypeError, match=text):
            report(model, given)
        with pytest.raises(TypeError, match=text):
            SilhouetteDisplay.from_estimator(model, given, ax=figure.Figure().add_subplot())
