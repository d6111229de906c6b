"""Reports of deep clusterings: losses, decoded pictures, and numbers beside those of a network."""

import jsonschema
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from polymeans import KhatriRaoKMeans, report
from polymeans.reporting import SCHEMA
from tests.inspection.models import deep, fitted, rows
from tests.reporting.test_report import check_page, decoded

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def digits():
    return load_digits().data[:120] / 16


def brightness(summary, numbers):
    """Pictures of the atlas, one below the other, from 0 to 1."""
    return np.array([decoded(summary, at).ravel() for at in numbers])


def scaled(vectors, within):
    """As an atlas shows vectors, ``within`` being all that it has."""
    low, high = min(0.0, within.min()), max(1.0, within.max())
    return (vectors - low) / (high - low)


def checked(found):
    """The content, and the words of the page."""
    summary = found.to_dict()
    jsonschema.validate(summary, SCHEMA)
    return summary, " ".join(check_page(found.html()).texts)


def test_losses_and_epochs_take_the_place_of_inertia_and_iterations():
    model, X = fitted("idec"), rows("dense")
    found = report(model, X, stability=1)
    summary, text = checked(found)
    steps = summary["convergence"]
    np.testing.assert_array_equal([step["loss"] for step in steps], model.history_["loss"])
    assert [step["phase"] for step in steps] == model.history_["phase"].tolist()
    assert all(step["inertia"] is None for step in steps)
    assert f"trained for {len(steps)} epochs: pretraining, distillation, self-training" in text
    assert "Loss" in text
    assert "Inertia" in text
    assert "in the latent space" in text
    assert "| inertia | epochs |" in found.markdown()
    assert summary["model"]["n_latent"] == 3
    ratio = summary["model"]["free_parameters"] / summary["model"]["n_parameters"]
    assert ratio == pytest.approx(model.compression_, rel=1e-3)
    assert "torch" in summary["versions"]
    assert 0 < summary["stability"]["mean"] <= 1


def test_models_without_a_network_have_no_loss():
    summary, text = checked(report(fitted("kmeans"), rows("dense")))
    assert all(step["loss"] is step["phase"] is None for step in summary["convergence"])
    assert summary["model"]["n_latent"] is None
    assert "epoch" not in text
    assert "torch" not in summary["versions"]


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array], ids=["dense", "CSR"])
@pytest.mark.parametrize("n_latent", [5, 64])
def test_centroids_are_decoded_to_pictures(n_latent, container):
    X = digits()
    model = deep("DKM", 4, n_latent=n_latent).fit(container(X))
    summary, _ = checked(report(model, container(X), image_shape=(8, 8)))
    drawn = brightness(summary, summary["pictures"]["centers"]["clusters"])
    centers = model.decoded_centroids_.astype(np.float64)
    np.testing.assert_allclose(drawn, scaled(centers, np.vstack([centers, X])), atol=0.01)


@pytest.mark.parametrize("aggregator", ["sum", "product"])
@pytest.mark.parametrize("n_latent", [5, 64])
def test_members_of_a_grid_are_decoded_to_pictures(n_latent, aggregator):
    X = digits()
    model = deep("KhatriRaoDKM", (2, 3), aggregator=aggregator, n_latent=n_latent).fit(X)
    summary, text = checked(report(model, X, image_shape=(8, 8)))
    assert "in the latent space" in text
    assert "Pictures are decoded" in text
    pictures = [each["pictures"] for each in summary["structure"]["members"]]
    assert [len(part) for part in pictures] == [2, 3]
    members = np.vstack(model._decoded_members()).astype(np.float64)
    drawn = brightness(summary, [*pictures[0], *pictures[1]])
    # All pictures have the same scale: a line from values to brightness.
    fit = np.polyfit(members.ravel(), drawn.ravel(), 1)
    np.testing.assert_allclose(np.polyval(fit, members), drawn, atol=0.01)


@pytest.mark.parametrize("scaler", [StandardScaler, lambda: PCA(10, random_state=0)])
@pytest.mark.parametrize("kind", ["deep", "plain"])
def test_members_behind_other_steps_are_means_of_their_rows(kind, scaler):
    X = digits()
    last = deep("KhatriRaoIDEC", (2, 2), n_latent=4)
    if kind == "plain":
        last = KhatriRaoKMeans((2, 2), effort=0.1, random_state=0)
    model = make_pipeline(scaler(), last).fit(X)
    summary, _ = checked(report(model, X, image_shape=(8, 8)))
    for q, each in enumerate(summary["structure"]["members"]):
        drawn = brightness(summary, each["pictures"])
        own = [X[last.protolabels_[:, q] == j].mean(axis=0) for j in range(2)]
        np.testing.assert_allclose(drawn, own, atol=0.01)
