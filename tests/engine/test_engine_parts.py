"""Parts of the engine: statistics, centroid table, groups of centroids."""

import math

import numpy as np
import pytest

from polymeans import KMeans
from polymeans.core.threads import Threads
from polymeans.engine import assignment, sparse_assigners
from polymeans.engine.accounts import CellAccount
from polymeans.engine.assignment import make_codebook
from polymeans.engine.dense_assigners import order_by_similarity
from polymeans.engine.runners import LocalRunner
from polymeans.engine.sparse_assigners import CentroidTable


@pytest.fixture
def threads():
    with Threads(2) as pool:
        yield pool


def sums_by_hand(X, weights, labels, k):
    """Exact sums, rounded once."""
    X = X.toarray() if hasattr(X, "toarray") else X
    terms = (weights[:, None] * X).astype(float)
    columns = range(X.shape[1])
    return np.array([[math.fsum(terms[labels == j, t]) for t in columns] for j in range(k)])


@pytest.mark.parametrize("kind", ["dense", "csr"])
@pytest.mark.parametrize("weighted", [False, True])
def test_statistics_follow_the_labels_exactly(blobs, documents, threads, kind, weighted):
    X = blobs if kind == "dense" else documents[:, :200]
    n, k = X.shape[0], 9
    rng = np.random.default_rng(0)
    weights = rng.random(n) * rng.integers(0, 3, n) if weighted else np.ones(n)
    runner = LocalRunner(X, weights)
    frame = runner.frame
    inside = X if kind == "dense" else X[:, frame.order]
    account = CellAccount(runner.block, k)
    previous = np.full(n, -1, dtype=np.int32)
    for share in (1.0, 0.5, 0.02, 0.001, 0.0, 0.3):
        labels = previous.copy()
        moved = rng.random(n) < share
        labels[moved] = rng.integers(0, k, moved.sum())
        change = account.update(previous, labels)
        statistics = account.statistics
        expected = sums_by_hand(inside, weights, labels, k)
        mass = [math.fsum(weights[labels == j]) for j in range(k)]
        np.testing.assert_array_equal(statistics.mass, mass)
        if frame.shifted:
            expected = expected - np.outer(mass, frame.origin)
            np.testing.assert_allclose(statistics.sums, expected, atol=1e-9)
        else:
            np.testing.assert_array_equal(statistics.sums, expected)
        assert change.n_moved == np.count_nonzero(previous != labels)
        previous = labels


def test_an_emptied_cluster_keeps_its_centroid(documents, threads):
    runner = LocalRunner(documents, np.ones(documents.shape[0]))
    codebook = make_codebook(runner.frame, documents[:3].toarray())
    account = CellAccount(runner.block, 3)
    labels = np.arange(documents.shape[0], dtype=np.int32) % 3
    account.update(np.full_like(labels, -1), labels)
    codebook.refit(account.statistics)
    centers = codebook.array / codebook.denominators[:, None]
    without = np.where(labels == 1, 0, labels).astype(np.int32)
    account.update(labels, without)
    codebook.refit(account.statistics)
    np.testing.assert_array_equal((codebook.array / codebook.denominators[:, None])[1], centers[1])
    account.update(without, labels)
    codebook.refit(account.statistics)
    np.testing.assert_array_equal(codebook.array / codebook.denominators[:, None], centers)


@pytest.mark.parametrize("halves", [True, False])
def test_table_is_kept_current(documents, threads, monkeypatch, halves):
    monkeypatch.setattr("polymeans.kernels.halves.has_fast_halves", lambda: halves)
    runner = LocalRunner(documents, np.ones(documents.shape[0]))
    k = 12
    codebook = make_codebook(runner.frame, documents[:k].toarray())
    account = CellAccount(runner.block, k)
    table = CentroidTable(codebook)
    rng = np.random.default_rng(0)
    previous = np.full(documents.shape[0], -1, dtype=np.int32)
    for n_moved in (2500, 400, 30, 3):
        labels = previous.copy()
        moved = rng.choice(documents.shape[0], n_moved, replace=False)
        labels[moved] = rng.integers(0, k, n_moved)
        change = account.update(previous, labels)
        codebook.refit(account.statistics)
        table.follow(codebook, change, runner.block)
        stored = table.table.view(np.float16) if halves else table.table
        centers = stored[:, :k].astype(float) * table.columns.slope[:k]
        exact = (codebook.array / codebook.denominators[:, None]).T
        error = np.linalg.norm(centers - exact, axis=0)
        assert (centers[exact == 0.0] == 0.0).all()
        # What the table claims about itself must hold, and not be a wild overstatement.
        claimed = table.columns.spread[:k] * 2.0**-11
        assert (error <= claimed * 1.001).all()
        assert (claimed <= 2.0**-11 * np.linalg.norm(exact, axis=0)).all()
        previous = labels


def test_without_fast_halves_labels_are_the_same(documents, monkeypatch):
    reference = KMeans(15, random_state=0).fit(documents)
    monkeypatch.setattr("polymeans.kernels.halves.has_fast_halves", lambda: False)
    plain = KMeans(15, random_state=0).fit(documents)
    np.testing.assert_array_equal(plain.labels_, reference.labels_)
    np.testing.assert_array_equal(plain.cluster_centers_, reference.cluster_centers_)


def test_lazy_sparse_really_skips(documents, monkeypatch):
    counts = []
    original = sparse_assigners.SparseLazy.assign_full

    def counting(self, codebook, labels, chosen):
        counts.append(len(chosen) or self.rows.n_samples)
        return original(self, codebook, labels, chosen)

    monkeypatch.setattr(sparse_assigners.SparseLazy, "assign_full", counting)
    C = documents[:60].toarray()
    model = KMeans(60, init=C, algorithm="lazy", tol=0).fit(documents)
    everything = (model.n_iter_ + 1) * documents.shape[0]
    assert sum(counts) < 0.9 * everything


def test_lazy_dense_really_skips(blobs, monkeypatch):
    from polymeans.kernels import dense_bounds

    examined = []
    original = dense_bounds.assign_lazy

    def counting(*arguments):
        examined.append(original(*arguments))
        return examined[-1]

    monkeypatch.setattr(dense_bounds, "assign_lazy", counting)
    monkeypatch.setattr(assignment, "_ONE_BOUND", 0)
    KMeans(64, init=blobs[:64], algorithm="lazy", tol=0, n_threads=1).fit(blobs)
    n_groups = 8  # 64 float64 centroids, eight to a panel
    assert examined[0] == len(blobs) * n_groups
    assert examined[-1] < 0.5 * examined[0]


def test_order_by_similarity_is_a_tight_permutation():
    rng = np.random.default_rng(0)
    for n in (1, 5, 16, 17, 100, 333):
        centers = rng.normal(size=(n, 3))
        order = order_by_similarity(centers, 16)
        assert sorted(order) == list(range(n))
    spread = lambda part: ((part - part.mean(axis=0)) ** 2).sum()  # noqa: E731
    runs = np.array_split(np.arange(n), -(-n // 16))
    ordered = sum(spread(centers[order[run]]) for run in runs)
    assert ordered < 0.4 * sum(spread(centers[run]) for run in runs)
    assert sorted(order_by_similarity(np.zeros((40, 2)), 16)) == list(range(40))
