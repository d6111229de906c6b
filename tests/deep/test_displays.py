"""Plots of deep clusterings."""

import numpy as np
import pytest

from polymeans.deep import (
    DKM,
    KhatriRaoDKM,
    KhatriRaoIDEC,
    plot_decoded_centroids,
    plot_latent_map,
    plot_losses,
    plot_network_sizes,
)
from tests.deep.checks import QUICK, blobs

figure = pytest.importorskip("matplotlib.figure")

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def axes():
    return figure.Figure().add_subplot()


@pytest.mark.parametrize("shape", [None, (2, 3)])
def test_decoded_centers(shape):
    X = blobs()
    free = plot_decoded_centroids(DKM(4, **QUICK).fit(X), image_shape=shape, ax=axes())
    assert len(free.images) == 1
    grid = plot_decoded_centroids(
        KhatriRaoDKM((2, 2), **QUICK).fit(X), image_shape=shape, ax=axes()
    )
    assert len(grid.images) == 3
    three = KhatriRaoIDEC((2, 2, 2), **QUICK).fit(X)
    assert len(plot_decoded_centroids(three, image_shape=shape, ax=axes()).images) == 1


def test_losses_name_the_phases():
    ax = plot_losses(KhatriRaoDKM((2, 2), **QUICK).fit(blobs()), ax=axes())
    phases = [text.get_text() for text in ax.texts]
    assert phases == ["pretraining", "distillation", "self-training"]
    reconstruction = ax.get_lines()[0]
    assert len(reconstruction.get_xdata()) == 6


def test_latent_maps():
    model = DKM(4, **QUICK).fit(blobs())
    drawn = plot_latent_map(model, axes=figure.Figure().subplots(1, 3))
    assert [ax.get_title() for ax in drawn] == [
        "after pretraining",
        "after distillation",
        "after self-training",
    ]
    assert sum(len(part.get_offsets()) for part in drawn[0].collections) == 90
    with pytest.raises(ValueError, match="one for each phase"):
        plot_latent_map(model, axes=figure.Figure().subplots(1, 2))
    narrow = DKM(4, **(QUICK | {"n_latent": 1})).fit(blobs())
    assert len(plot_latent_map(narrow, axes=figure.Figure().subplots(1, 3))) == 3


def test_network_sizes():
    X = blobs()
    models = [DKM(4, **(QUICK | {"hidden_sizes": (size,)})).fit(X) for size in (4, 8)]
    ax = plot_network_sizes(models, names=["4", "8"], ax=axes())
    shown = [line.get_xydata()[0] for line in ax.get_lines()]
    expected = [(model.n_parameters_, model.reconstruction_error_) for model in models]
    np.testing.assert_allclose(shown, expected)
    with pytest.raises(TypeError, match="models"):
        plot_network_sizes([3])
