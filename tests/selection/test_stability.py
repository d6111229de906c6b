"""Agreement of repeated fits."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_blobs
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline

from polymeans import (
    KhatriRaoKMeans,
    KMeans,
    L1KMeans,
    NonRedundantKMeans,
    QuickKMeans,
    TransformedKMeans,
    stability,
)
from polymeans.blocks import from_sequence
from polymeans.selection.stable import _recovered


@pytest.fixture(scope="module")
def four():
    centers = np.array([[5, 5, 5, 5], [14, 5, 5, 5], [5, 14, 5, 5], [14, 14, 5, 5]])
    return make_blobs(160, centers=centers, cluster_std=0.5, random_state=0)[0]


@pytest.mark.parametrize(
    "estimator",
    [
        KMeans(4),
        KMeans(4, metric="cosine"),
        L1KMeans(4),
        QuickKMeans(4, n_nonzeros=40),
        KhatriRaoKMeans((2, 2), effort=0.05),
        NonRedundantKMeans((2, 2), effort=0.1),
        TransformedKMeans(4),
        make_pipeline(PCA(2), KMeans(4)),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_every_estimator(estimator, four):
    result = stability(estimator, four, 3, random_state=0, n_threads=1)
    assert result.mean_ == 1.0
    assert result.per_cluster_ == pytest.approx(np.ones(len(result.sizes_)))
    assert result.sizes_.sum() == 160


def test_scores_are_adjusted_rand_indices():
    X = np.random.default_rng(0).random((100, 2))
    result = stability(KMeans(5), X, 4, vary="seeds", random_state=0)
    assert result.scores_.shape == (4, 4)
    np.testing.assert_allclose(result.scores_, result.scores_.T)
    np.testing.assert_array_equal(np.diag(result.scores_), np.ones(4))
    off = result.scores_[~np.eye(4, dtype=bool)]
    assert result.mean_ == pytest.approx(off.mean())
    assert adjusted_rand_score(result.estimator_.labels_, result.estimator_.predict(X)) == 1.0


@pytest.mark.parametrize("seed", range(5))
def test_jaccard_indices_are_those_of_sets(seed):
    rng = np.random.default_rng(seed)
    labels, others = rng.integers(0, 4, 50), [rng.integers(0, 3, 50), rng.integers(0, 5, 50)]
    slow = []
    for c in range(4):
        own = set(np.flatnonzero(labels == c))
        best = []
        for other in others:
            sets = [set(np.flatnonzero(other == j)) for j in range(5)]
            best.append(max(len(own & one) / max(1, len(own | one)) for one in sets))
        slow.append(np.mean(best))
    assert _recovered(labels, others) == pytest.approx(slow)


def test_clusters_that_are_not_there_are_named():
    X, _ = make_blobs(300, centers=[[0, 0], [20, 0]], random_state=0)
    result = stability(KMeans(6), X, 8, random_state=0)
    assert result.mean_ < 0.9
    text = str(result)
    assert text.startswith("stability 0.")
    assert "doubtful" in text or "dissolved" in text
    assert result._repr_html_().count("<tr>") == 7


def test_kinds_of_rows(four):
    for X in (
        four.astype(np.float32),
        sp.csr_array(four),
        pd.DataFrame(four),
        from_sequence(four, block_rows=50),
    ):
        assert stability(KMeans(4), X, 3, random_state=0).mean_ == 1.0


def test_same_seed_same_result(four):
    first, second = (stability(KMeans(7), four, 4, random_state=1) for _ in range(2))
    np.testing.assert_array_equal(first.scores_, second.scores_)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"n_runs": 1}, "n_runs must be an integer of at least 2"),
        ({"vary": "all"}, "vary must be one of"),
        ({"share": 0.0}, "share must be a finite number"),
    ],
)
def test_errors_name_the_parameter(four, given, text):
    with pytest.raises(ValueError, match=text):
        stability(KMeans(2), four, **given)
