"""The graph of neighbors, its eigenvectors and cuts, and the labels that are taught."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from sklearn.datasets import load_wine, make_circles
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

from polymeans import blocks
from polymeans.blocks.checked import check_blocks
from polymeans.deep import neighborhood, spectral
from polymeans.deep.neighborhood import find_neighborhood
from polymeans.deep.rows import ArrayRows, BlockRows, SparseRows
from polymeans.deep.spectral import RegularizedGraph
from polymeans.deep.teacher import Teacher, reduced_rows, target_matrix
from tests.deep.checks import blobs


def explicit_weights(X, n_neighbors=10):
    """The formula, pair by pair."""
    distances = np.sqrt(((X[:, None] - X[None]) ** 2).sum(axis=2))
    np.fill_diagonal(distances, np.inf)
    order = np.argsort(distances, axis=1)[:, :n_neighbors]
    unit = np.array([distances[i, order[i, 6]] for i in range(len(X))])
    unit = np.maximum(unit, 0.5 * np.median(unit))
    weights = np.zeros_like(distances)
    for i in range(len(X)):
        for j in order[i]:
            weights[i, j] = max(np.exp(-(distances[i, j] ** 2) / (unit[i] * unit[j])), 0.1)
    return np.maximum(weights, weights.T)


def test_weights_of_the_graph():
    X = np.random.default_rng(0).normal(size=(40, 3))
    graph = find_neighborhood(X, np.random.RandomState(0))
    np.testing.assert_allclose(graph.weights.toarray(), explicit_weights(X), atol=1e-10)


def test_averages_over_the_graph():
    X = np.random.default_rng(0).normal(size=(40, 3))
    graph = find_neighborhood(X, np.random.RandomState(0))
    Q = np.random.default_rng(1).random((40, 2))
    own = explicit_weights(X) + np.eye(40)
    share = own / own.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(graph.averaged(Q), share @ share @ Q, atol=1e-10)


def test_approximate_neighbors_are_mostly_the_nearest(monkeypatch):
    X = blobs(1500, d=5, k=20)
    exact = find_neighborhood(X, np.random.RandomState(0)).weights
    monkeypatch.setattr(neighborhood, "_EXACT_ROWS", 1000)
    found = find_neighborhood(X, np.random.RandomState(0)).weights
    shared = (exact > 0).multiply(found > 0).sum()
    assert shared > 0.95 * exact.nnz


@pytest.mark.parametrize("X", [np.zeros((20, 2)), np.zeros((1, 2)), np.arange(4.0).reshape(2, 2)])
def test_graphs_of_poor_rows_are_finite(X):
    graph = find_neighborhood(X, np.random.RandomState(0))
    assert np.isfinite(graph.weights.toarray()).all()
    regular = RegularizedGraph(graph.weights)
    values, vectors = regular.leading(2, np.random.RandomState(0))
    assert np.isfinite(values).all()
    assert np.isfinite(vectors).all()


def explicit_matrix(graph):
    W = graph.weights.toarray()
    tau = 0.1 * W.sum(axis=1).mean()
    W = W + tau / len(W)
    return W / np.sqrt(np.outer(W.sum(axis=1), W.sum(axis=1))), W


def test_eigenvalues_and_cuts(monkeypatch):
    X = np.random.default_rng(0).normal(size=(120, 3))
    graph = find_neighborhood(X, np.random.RandomState(0))
    regular = RegularizedGraph(graph.weights)
    matrix, W = explicit_matrix(graph)
    expected = np.linalg.eigvalsh(matrix)[::-1][:6]
    values, vectors = regular.leading(6, np.random.RandomState(0))
    np.testing.assert_allclose(values, expected, atol=1e-10)
    np.testing.assert_allclose(matrix @ vectors, vectors * values, atol=1e-9)
    # The block method for many rows finds them, too.
    monkeypatch.setattr(spectral, "_DENSE_ROWS", 0)
    values, vectors = regular.leading(6, np.random.RandomState(0))
    np.testing.assert_allclose(values, expected, atol=1e-3)
    labels = np.random.default_rng(1).integers(3, size=120).astype(np.int32)
    cut = sum(W[labels == c][:, labels != c].sum() / W[labels == c].sum() for c in range(3))
    np.testing.assert_allclose(regular.row_cuts(labels).sum(), cut, rtol=1e-10)


def test_multiple_eigenvalues_of_separate_components_are_found(monkeypatch):
    monkeypatch.setattr(spectral, "_DENSE_ROWS", 0)
    X = np.concatenate([10 * c + blobs(60, 2, 1, seed=c) for c in range(6)])
    graph = RegularizedGraph(find_neighborhood(X, np.random.RandomState(0)).weights)
    values, _ = graph.leading(6, np.random.RandomState(0))
    expected = np.linalg.eigvalsh(graph.apply(np.eye(len(X))))[::-1][:6]
    np.testing.assert_allclose(values, expected, atol=2e-3)


def test_clusters_that_are_not_round():
    X, y = make_circles(400, factor=0.4, noise=0.03, random_state=0)
    rng = np.random.RandomState(0)
    lesson = Teacher(ArrayRows(X, torch.float32), 2, rng).lesson(rng)
    assert lesson.source == "spectral"
    assert adjusted_rand_score(y, lesson.labels) > 0.95


def test_a_few_rows_on_the_border_do_not_decide():
    X = StandardScaler().fit_transform(load_wine().data)
    rng = np.random.RandomState(0)
    teacher = Teacher(ArrayRows(X, torch.float32), 3, rng)
    # Spectral clusters cut the graph less here, by less than the rows differ among themselves.
    assert teacher.lesson(rng).source == "k-means"


def test_rows_are_reduced_alike_from_all_containers():
    X = np.random.default_rng(0).normal(size=(150, 130)) * np.linspace(3, 0.01, 130)
    X[np.abs(X) < 0.5] = 0
    blocked = check_blocks(blocks.from_sequence(X, block_rows=40))
    found = [
        reduced_rows(source, np.random.RandomState(0))
        for source in (
            ArrayRows(X, torch.float64),
            SparseRows(sp.csr_array(X), torch.float64),
            BlockRows(blocked, torch.float64),
        )
    ]
    distances = [np.linalg.norm(part[:1] - part, axis=1) for part in found]
    assert len(blocked) > 1
    np.testing.assert_allclose(distances[1], distances[0], rtol=0.02)
    np.testing.assert_allclose(distances[2], distances[0], rtol=0.02)


def test_targets():
    found = target_matrix(np.array([1, 0], dtype=np.int32), 4, 0.2)
    np.testing.assert_allclose(found, [[0.05, 0.85, 0.05, 0.05], [0.85, 0.05, 0.05, 0.05]])
