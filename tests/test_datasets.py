"""Generated documents: what they promise, and that their topics can be found again."""

import time

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.metrics import adjusted_rand_score

from polymeans import KMeans
from polymeans.datasets import documents, make_documents


@pytest.mark.parametrize("shape", [(1, 1), (1, 50), (40, 1), (300, 700), (50, 3)])
def test_unit_rows_of_the_shape_asked_for(shape):
    X, topics = make_documents(*shape, n_topics=4, random_state=0)
    assert X.shape == shape
    assert X.dtype == np.float64
    assert X.has_sorted_indices
    assert X.indices.dtype == X.indptr.dtype == np.int32
    assert (X.data > 0).all()
    np.testing.assert_allclose(sp.linalg.norm(X, axis=1), 1.0)
    assert topics.shape == shape[:1]
    assert set(topics) <= set(range(4))


def test_same_seed_same_documents():
    X, topics = make_documents(200, 300, 5, random_state=1)
    again, topics_again = make_documents(200, 300, 5, random_state=1)
    np.testing.assert_array_equal(X.indptr, again.indptr)
    np.testing.assert_array_equal(X.indices, again.indices)
    np.testing.assert_array_equal(X.data, again.data)
    np.testing.assert_array_equal(topics, topics_again)
    other, _ = make_documents(200, 300, 5, random_state=2)
    assert abs(X - other).max() > 0


def test_values_are_tf_idf():
    counts = np.random.default_rng(0).integers(0, 4, (30, 12))
    counts[:, 0] += 1  # no document is empty
    owners, words = np.nonzero(counts)
    times = counts[owners, words]
    ours = documents._tf_idf(np.repeat(owners, times), np.repeat(words, times), counts.shape)
    theirs = TfidfTransformer(sublinear_tf=True).fit_transform(counts)
    np.testing.assert_allclose(ours.toarray(), theirs.toarray())


def test_words_follow_zipf():
    X, _ = make_documents(3000, 500, 5, length=20, overlap=1.0, random_state=0)
    shares = X.count_nonzero(axis=0) / X.shape[0]
    # Of rare words nearly every use is in another document, so shares fall like 1 / rank.
    assert (np.diff(shares[[0, 3, 10, 30, 100, 300]]) < 0).all()
    assert shares[50:100].mean() / shares[200:400].mean() == pytest.approx(4, rel=0.1)


@pytest.mark.parametrize("length", [1, 50])
def test_length_is_the_mean_number_of_words(length, monkeypatch):
    monkeypatch.setattr(documents, "_tf_idf", lambda document, word, shape: np.bincount(document))
    words, _ = make_documents(4000, 100, 3, length=length, random_state=0)
    assert len(words) == 4000
    assert words.min() >= 1  # which is why very short ones are a little longer on average
    assert words.mean() == pytest.approx(length, rel=0.05, abs=0.5)
    assert words.max() > 3 * length


def test_topics_can_be_found_again():
    X, topics = make_documents(1200, 1500, 6, random_state=0)
    model = KMeans(6, metric="cosine", n_init=5, random_state=0).fit(X)
    assert adjusted_rand_score(topics, model.labels_) > 0.8


def test_overlap_hides_the_topics():
    scores = []
    for overlap in (0.3, 0.9, 1.0):
        X, topics = make_documents(1200, 1500, 6, overlap=overlap, random_state=0)
        labels = KMeans(6, metric="cosine", n_init=5, random_state=0).fit_predict(X)
        scores.append(adjusted_rand_score(topics, labels))
    assert scores[0] > scores[1] + 0.1
    assert scores[1] > scores[2] + 0.1
    assert abs(scores[2]) < 0.02


def test_fast_enough_for_examples():
    began = time.perf_counter()
    make_documents(20_000, 10_000, 50, random_state=0)
    assert time.perf_counter() - began < 10


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_samples": 0}, "n_samples must be an integer of at least 1, got 0"),
        ({"n_features": 2.5}, "n_features"),
        ({"n_topics": 0}, "n_topics"),
        ({"length": 0}, "length must be a finite number of at least 1, got 0"),
        ({"length": float("inf")}, "length"),
        ({"length": "long"}, "length"),
        ({"overlap": -0.1}, "overlap must be a number between 0 and 1, got -0.1"),
        ({"overlap": 1.1}, "overlap"),
        ({"overlap": float("nan")}, "overlap"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises((ValueError, TypeError), match=message):
        make_documents(**parameters)
