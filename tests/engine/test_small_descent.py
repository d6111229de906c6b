"""Several iterations in one call give the bits of iterations one by one."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polymeans import KMeans
from polymeans.engine import plus_plus as seeding
from polymeans.engine import small_descent
from polymeans.engine.plus_plus import plus_plus
from polymeans.engine.runners import LocalRunner

FITTED = ("cluster_centers_", "labels_", "inertia_", "n_iter_")


def history(model):
    return model.history_[["inertia", "n_moved", "shift"]]


def assert_same_fit(model, other):
    for name in FITTED:
        np.testing.assert_array_equal(getattr(model, name), getattr(other, name), err_msg=name)
    np.testing.assert_array_equal(history(model), history(other))


@pytest.fixture
def one_by_one(monkeypatch):
    """Make every iteration, and every centroid of a start, a call of its own."""

    def limit():
        monkeypatch.setattr(small_descent, "_SMALL", 0)
        monkeypatch.setattr(seeding, "_ONE_CALL", 0)

    return limit


def rows_of(kind, rng, n=300, d=7):
    X = rng.standard_normal((n, d)) + 4 * rng.integers(0, 3, (n, 1))
    if kind == "far":
        return X + 1e5
    if kind == "integers":
        return np.round(X)
    if kind == "float32":
        return X.astype(np.float32)
    if kind == "one value":
        return np.ones((n, d))
    if kind == "few values":
        return np.repeat(X[:4], n // 4, axis=0)
    if kind == "tiny":
        return 1e-12 * X
    return X


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize(
    "kind", ["plain", "far", "integers", "float32", "one value", "few values", "tiny"]
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_same_bits_as_one_by_one(kind, metric, weighted, one_by_one):
    rng = np.random.default_rng(0)
    X = rows_of(kind, rng)
    weights = rng.integers(0, 3, len(X)) + 0.1 if weighted else None
    models = [KMeans(5, metric=metric, random_state=seed, tol=tol) for seed, tol in CASES]
    at_once = [model.fit(X, sample_weight=weights) for model in models]
    one_by_one()
    for model, (seed, tol) in zip(at_once, CASES):
        other = KMeans(5, metric=metric, random_state=seed, tol=tol).fit(X, sample_weight=weights)
        assert_same_fit(model, other)
        np.testing.assert_array_equal(model.predict(X), other.labels_)


CASES = [(0, 1e-4), (1, 0.0), (2, 0.1)]


@settings(max_examples=30, deadline=None)
@given(
    n=st.integers(1, 70),
    d=st.integers(1, 20),
    k=st.integers(1, 12),
    max_iter=st.integers(1, 40),
    seed=st.integers(0, 2**20),
    scale=st.sampled_from([1e-9, 1.0, 1e9]),
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_watched_fits_are_the_same(n, d, k, max_iter, seed, scale):
    """A fit that is logged step by step runs through the other loop."""
    rng = np.random.default_rng(seed)
    X = scale * rng.integers(-2, 3, (n, d)).astype(float)
    parameters = {"n_clusters": min(k, n), "random_state": seed, "max_iter": max_iter, "tol": 0}
    quiet = KMeans(**parameters).fit(X)
    seen = KMeans(**parameters, verbose=2).fit(X)
    assert_same_fit(quiet, seen)


def test_the_small_path_is_taken(monkeypatch):
    n_calls = []
    iterate = small_descent.SmallDescent.iterate

    def counted(self, *arguments):
        found = iterate(self, *arguments)
        n_calls.append(len(found.steps))
        return found

    monkeypatch.setattr(small_descent.SmallDescent, "iterate", counted)
    X = rows_of("plain", np.random.default_rng(0))
    model = KMeans(3, random_state=0).fit(X)
    assert n_calls == [model.n_iter_]


def test_ties_are_decided_on_the_way(monkeypatch, one_by_one):
    """Rows as far from two centroids need exact comparisons, in the midst of a stretch."""
    decided, stretches = [], []
    label_exactly = small_descent.label_exactly
    iterate = small_descent.SmallDescent.iterate

    def noted(block, codebook, labels, chosen):
        decided.append(len(chosen))
        label_exactly(block, codebook, labels, chosen)

    def counted(self, *arguments):
        stretches.append(iterate(self, *arguments))
        return stretches[-1]

    monkeypatch.setattr(small_descent, "label_exactly", noted)
    monkeypatch.setattr(small_descent.SmallDescent, "iterate", counted)
    rng = np.random.default_rng(0)
    X = np.vstack([rng.standard_normal((400, 2)), [[0.0, 0.3]]])
    start = np.array([[-0.7, 0.1], [0.7, 0.1]])
    model = KMeans(2, init=start).fit(X)
    assert decided
    assert len(stretches) == 1
    assert len(stretches[0].steps) == model.n_iter_ > 1
    one_by_one()
    assert_same_fit(model, KMeans(2, init=start).fit(X))


def test_a_cluster_that_loses_its_rows_is_filled(one_by_one):
    X = np.random.default_rng(0).standard_normal((200, 3))
    start = np.vstack([X[:4], np.full((1, 3), 100.0)])  # nothing is near the last one
    model = KMeans(5, init=start).fit(X)
    assert len(np.unique(model.labels_)) == 5
    one_by_one()
    assert_same_fit(model, KMeans(5, init=start).fit(X))


@settings(max_examples=60, deadline=None)
@given(
    n=st.integers(1, 200),
    d=st.integers(1, 33),
    k=st.integers(1, 20),
    seed=st.integers(0, 2**20),
    kind=st.sampled_from(["plain", "integers", "equal", "far"]),
    narrow=st.booleans(),
    weighted=st.booleans(),
)
def test_same_rows_as_one_centroid_after_the_other(n, d, k, seed, kind, narrow, weighted):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    X = {"plain": X, "integers": np.round(X), "equal": np.ones((n, d)), "far": X + 1e4}[kind]
    weights = rng.integers(0, 3, n).astype(float) if weighted else np.ones(n)
    weights[0] += 1
    runner = LocalRunner(X.astype(np.float32 if narrow else np.float64), weights)
    found = plus_plus(runner, min(k, n), np.random.RandomState(seed))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(seeding, "_ONE_CALL", 0)
        expected = plus_plus(runner, min(k, n), np.random.RandomState(seed))
    np.testing.assert_array_equal(found, expected)


@settings(max_examples=200, deadline=None)
@given(draw=st.floats(0, 1, exclude_max=True), total=st.integers(0, 2**62 - 1))
def test_shares_are_those_of_whole_numbers(draw, total):
    from polymeans.kernels.small_seeding import share_of

    assert share_of(draw, total) == int(draw * 2**53) * total >> 53
