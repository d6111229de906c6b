"""Kernels that are given as a matrix: parts of it are taken in both directions."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from polymeans import TransformedKMeans, choose_n_clusters, stability
from polymeans.blocks import from_sequence
from polymeans.selection import choosing
from polymeans.selection.pairs import Parts

OPTIONS = {"n_init": 1, "random_state": 0}


@pytest.fixture(scope="module")
def three():
    return make_blobs(150, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)[0]


@pytest.fixture(scope="module")
def gram(three):
    return rbf_kernel(three, gamma=0.1)


@pytest.mark.parametrize("vary", ["rows", "seeds"])
def test_stability_is_that_of_the_same_kernel_by_name(three, gram, vary):
    given = TransformedKMeans(5, kernel="precomputed", **OPTIONS)
    named = TransformedKMeans(5, kernel="rbf", kernel_params={"gamma": 0.1}, **OPTIONS)
    found = stability(given, gram, 3, vary=vary, random_state=0, n_threads=1)
    expected = stability(named, three, 3, vary=vary, random_state=0, n_threads=1)
    np.testing.assert_allclose(found.scores_, expected.scores_)
    assert found.sizes_.tolist() == expected.sizes_.tolist()


def test_stability_of_a_pipeline(gram):
    model = make_pipeline(FunctionTransformer(), TransformedKMeans(3, kernel="precomputed"))
    assert stability(model, gram, 3, random_state=0).mean_ == 1.0


@pytest.mark.parametrize("n_sampled", [None, 100])
def test_the_number_of_clusters_is_found(gram, n_sampled, monkeypatch):
    if n_sampled:
        monkeypatch.setattr(choosing, "_SAMPLE", n_sampled)
    given = TransformedKMeans(kernel="precomputed", **OPTIONS)
    choice = choose_n_clusters(gram, [2, 3, 4], estimator=given, random_state=0)
    assert choice.choices_["prediction_strength"] == 3
    assert choice.table_["stability"][1] == 1.0
    assert choice.table_["inertia"].all()


def test_the_same_choice_as_by_name(three, gram):
    given = TransformedKMeans(kernel="precomputed", **OPTIONS)
    named = TransformedKMeans(kernel="rbf", kernel_params={"gamma": 0.1}, **OPTIONS)
    ours, theirs = (
        choose_n_clusters(X, [2, 3], estimator=model, random_state=0)
        for X, model in ((gram, given), (three, named))
    )
    assert ours.choices_ == theirs.choices_
    for name in ("prediction_strength", "stability", "valley"):
        np.testing.assert_allclose(ours.table_[name], theirs.table_[name], rtol=1e-6, atol=1e-9)


def test_what_is_not_square_is_refused_before_any_work(three, gram):
    model = TransformedKMeans(3, kernel="precomputed")
    calls = []
    for X, words in (
        (gram[:, :100], r"kernel=\"precomputed\".*square matrix, got X of shape \(150, 100\)"),
        (from_sequence(gram, block_rows=50), "X is read in blocks"),
    ):
        with pytest.raises(ValueError, match=words):
            stability(model, X, progress=lambda *step: calls.append(step))
        with pytest.raises(ValueError, match=words):
            choose_n_clusters(X, 4, estimator=model, progress=lambda *step: calls.append(step))
    assert not calls


def test_other_estimators_take_rows_alone(three):
    parts, chosen = Parts(TransformedKMeans(3, kernel="rbf")), np.array([1, 5])
    assert not parts.of_pairs
    np.testing.assert_array_equal(parts.take(three, chosen), three[chosen])
    assert parts.seen(three, chosen) is three
