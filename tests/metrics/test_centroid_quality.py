"""Measures of centroids: against plain loops and scikit-learn, on rows of every kind."""

from importlib import import_module

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_blobs
from sklearn.metrics import calinski_harabasz_score, davies_bouldin_score

from polymeans.blocks import from_sequence
from polymeans.metrics import CentroidQuality, centroid_quality

FIELDS = tuple(CentroidQuality.__dataclass_fields__)


def distance(x, c, metric):
    if metric == "euclidean":
        return float(np.linalg.norm(x - c))
    lengths = np.linalg.norm(x) * np.linalg.norm(c)
    apart = 1.0 - float(x @ c) / lengths if lengths else 1.0
    return apart if apart > 1e-14 else 0.0  # rounding


def slow_quality(X, centers, labels, weights, metric):
    """Every definition as a plain loop."""
    k = len(centers)
    table = np.array([[distance(x, c, metric) for c in centers] for x in X])
    labels = table.argmin(axis=1) if labels is None else labels
    own = table[np.arange(len(X)), labels]
    silhouettes = []
    for i, label in enumerate(labels):
        others = [table[i, c] for c in range(k) if c != label]
        b = min(others) if others else np.inf
        larger = max(own[i], b)
        silhouettes.append((b - own[i]) / larger if 0 < larger < np.inf else 0.0)
    silhouettes = np.array(silhouettes)
    squared = own**2 if metric == "euclidean" else own
    used = [c for c in range(k) if (labels == c).any()]
    mean = lambda values, c: np.average(values[labels == c], weights=weights[labels == c])  # noqa: E731
    spread = {c: mean(own, c) for c in used}
    apart = np.array([[distance(a, b, metric) for b in centers] for a in centers])
    ratios = [
        max((spread[i] + spread[j]) / apart[i, j] if apart[i, j] else 0.0 for j in used if j != i)
        for i in used
        if len(used) > 1
    ]
    if metric == "euclidean":
        scatter = weights @ ((X - np.average(X, axis=0, weights=weights)) ** 2).sum(axis=1)
    else:
        directions = X / np.maximum(np.linalg.norm(X, axis=1), 1e-300)[:, None]
        scatter = weights.sum() - np.linalg.norm(weights @ directions)
    left, total = weights @ squared, weights.sum()
    defined = len(used) > 1 and len(X) > len(used) and left > 0 and total > len(used)
    np.fill_diagonal(apart, np.inf)
    return {
        "weight": np.bincount(labels, weights=weights, minlength=k),
        "inertia": np.bincount(labels, weights=weights * squared, minlength=k),
        "mean_distance": [spread.get(c, 0.0) for c in range(k)],
        "silhouette_per_cluster": [mean(silhouettes, c) if c in used else 0.0 for c in range(k)],
        "silhouette": np.average(silhouettes, weights=weights) if k > 1 else None,
        "calinski_harabasz": (
            max(0.0, (scatter - left) / (len(used) - 1) / (left / (total - len(used))))
            if defined
            else None
        ),
        "davies_bouldin": np.mean(ratios) if ratios else None,
        "nearest": apart.argmin(axis=1) if k > 1 else [-1],
        "apart": apart,
        "separation": apart.min(axis=1) if k > 1 else [0.0],
    }


def assert_same(found, expected, rtol=1e-9, atol=1e-7):
    for name in FIELDS:
        have = getattr(found, name)
        want = expected[name] if isinstance(expected, dict) else getattr(expected, name)
        if want is None or have is None:
            assert have is want, name
        elif name == "nearest" and isinstance(expected, dict):  # rounding decides between equals
            apart = expected["apart"]
            np.testing.assert_allclose(
                apart[np.arange(len(have)), have], apart.min(axis=1), atol=1e-7
            )
        else:
            np.testing.assert_allclose(have, want, rtol=rtol, atol=atol, err_msg=name)


def some_rows(seed=0, n=120, d=4, k=6):
    rng = np.random.default_rng(seed)
    X, labels = make_blobs(n, d, centers=k, cluster_std=2.0, random_state=seed)
    return X, X[rng.choice(n, k, replace=False)], labels, rng.random(n) + 0.1


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("with_labels", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", ["dense", "float32", "csr", "blocks", "csr blocks"])
def test_against_plain_loops(metric, with_labels, weighted, kind):
    X, centers, labels, weights = some_rows()
    X[0] = 0.0
    X = X.astype(np.float32).astype(np.float64)
    labels = labels if with_labels else None
    weights = weights if weighted else np.ones(len(X))
    expected = slow_quality(X, centers, labels, weights, metric)
    rows = {
        "dense": lambda: X,
        "float32": lambda: X.astype(np.float32),
        "csr": lambda: sp.csr_array(X),
        "blocks": lambda: from_sequence(X, block_rows=17),
        "csr blocks": lambda: from_sequence(sp.csr_array(X), block_rows=17),
    }[kind]()
    options = {"sample_weight": weights} if weighted else {}
    assert_same(centroid_quality(rows, centers, labels, metric=metric, **options), expected)


def test_means_are_judged_as_scikit_learn_judges_them():
    X, labels = make_blobs(500, 5, centers=7, cluster_std=3.0, random_state=0)
    X += 1000
    means = np.array([X[labels == c].mean(axis=0) for c in range(7)])
    found = centroid_quality(X, means, labels)
    assert found.calinski_harabasz == pytest.approx(calinski_harabasz_score(X, labels))
    assert found.davies_bouldin == pytest.approx(davies_bouldin_score(X, labels))


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 12), st.integers(1, 3), st.integers(1, 5), st.integers(0, 10**6))
def test_few_rows_with_duplicates_and_empty_clusters(n, d, k, seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(-2, 3, size=(n, d)).astype(float)
    centers = rng.integers(-2, 3, size=(k, d)).astype(float)
    labels = rng.integers(0, k, n)
    for metric in ("euclidean", "cosine"):
        expected = slow_quality(X, centers, labels, np.ones(n), metric)
        assert_same(centroid_quality(X, centers, labels, metric=metric), expected)
        assert_same(centroid_quality(sp.csr_array(X), centers, labels, metric=metric), expected)


@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1e160, 1e300])
def test_extreme_values_change_no_ratio(scale):
    X, centers, labels, _ = some_rows()
    usual = centroid_quality(X, centers, labels)
    with np.errstate(over="ignore"):
        found = centroid_quality(X / 50 * scale, centers / 50 * scale, labels)
    for name in ("silhouette", "calinski_harabasz", "davies_bouldin", "silhouette_per_cluster"):
        np.testing.assert_allclose(getattr(found, name), getattr(usual, name), rtol=1e-8)
    assert not any(np.isnan(np.asarray(getattr(found, name))).any() for name in FIELDS)


def test_large_tables_are_cut(monkeypatch):
    X, centers, labels, weights = some_rows()
    whole = centroid_quality(X, centers, labels, sample_weight=weights)
    module = import_module("polymeans.metrics.centroid_quality")
    monkeypatch.setattr(module, "_TABLE_ENTRIES", 20)
    assert_same(centroid_quality(X, centers, labels, sample_weight=weights), whole, 1e-12, 1e-12)


def test_one_row_and_one_centroid():
    found = centroid_quality([[1.0, 2.0]], [[1.0, 2.0]])
    assert found.silhouette is found.calinski_harabasz is found.davies_bouldin is None
    assert found.nearest.tolist() == [-1]
    assert found.weight.tolist() == [1.0]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"labels": [0, 1]}, "one entry for each of 120 rows"),
        ({"labels": np.full(120, 6)}, "integers from 0 to 5"),
        ({"labels": np.zeros(120)}, "integers from 0 to 5"),
        ({"metric": "manhattan"}, "metric must be one of"),
        ({"centers": np.zeros((2, 3))}, "4 features, but centers have 3"),
        ({"X": iter([])}, "read only once"),
    ],
)
def test_errors_say_what_to_do(change, words):
    X, centers, _, _ = some_rows()
    with pytest.raises((ValueError, TypeError), match=words):
        centroid_quality(**{"X": X, "centers": centers} | change)


def test_two_kinds_of_weights_are_refused():
    X, centers, _, weights = some_rows()
    with pytest.raises(ValueError, match="Leave out one"):
        centroid_quality(from_sequence(X, weights=weights), centers, sample_weight=weights)


def test_weights_of_blocks_count():
    X, centers, _, weights = some_rows()
    assert_same(
        centroid_quality(from_sequence(X, weights=weights, block_rows=11), centers),
        centroid_quality(X, centers, sample_weight=weights),
    )
