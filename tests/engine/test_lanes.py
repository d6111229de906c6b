"""Rows side by side: labels, gaps and skipped rows against slow versions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polymeans import KMeans
from polymeans.core.threads import Threads
from polymeans.engine import assignment
from polymeans.engine.assignment import make_codebook
from polymeans.engine.dense_assigners import DenseLazy, DenseLloyd
from polymeans.engine.lane_assigners import LaneLloyd, LaneMargins
from polymeans.engine.nearest import decide_contested
from polymeans.engine.runners import LocalRunner
from tests.engine.looking import check, distances, labels_and_gaps


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@settings(max_examples=40, deadline=None)
@given(
    n=st.integers(1, 70),
    d=st.integers(1, 40),
    k=st.integers(1, 33),
    offset=st.sampled_from([0.0, 1.0, 1e3, 1e6]),
    scale=st.sampled_from([1e-12, 1.0, 1e9]),
    seed=st.integers(0, 10**6),
)
def test_every_row_gets_its_nearest_centroid(dtype, n, d, k, offset, scale, seed):
    rng = np.random.default_rng(seed)
    X = (scale * (offset + rng.normal(size=(n, d)))).astype(dtype)
    C = (scale * (offset + rng.normal(size=(k, d)))).astype(dtype)
    check(LaneLloyd, X, C)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_gaps_are_not_far_from_the_distances(dtype):
    rng = np.random.default_rng(0)
    X, C = rng.normal(size=(500, 8)).astype(dtype), rng.normal(size=(20, 8)).astype(dtype)
    _, gaps, _ = labels_and_gaps(LaneLloyd, X, C)
    two = np.sort(distances(X, C), axis=1)[:, :2]
    assert np.abs(gaps - (two[:, 1] - two[:, 0])).max() < 1e-3


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_ties_of_whole_numbers_go_to_the_lowest_index(dtype):
    rng = np.random.default_rng(1)
    X = rng.integers(-3, 4, size=(3000, 3)).astype(dtype)
    C = np.unique(X[:60], axis=0)
    labels, _, _ = labels_and_gaps(LaneLloyd, X, C)
    squares = ((X[:, None] - C[None]) ** 2).sum(axis=2)
    assert (labels == squares.argmin(axis=1)).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_one_giant_row_does_not_make_the_others_undecided(dtype):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(2000, 5)).astype(dtype)
    X[7] = 1e9
    C = np.concatenate([X[:6], X[7:8]])
    check(LaneLloyd, X, C)


def test_float64_rows_that_float32_cannot_tell_apart_go_to_tiles():
    rng = np.random.default_rng(3)
    places = rng.normal(size=(4, 6)) * 1e3
    X = places[rng.integers(0, 4, 2000)] + 1e-3 * rng.normal(size=(2000, 6))
    start = np.concatenate([places, places + 1e-3])
    with Threads(1):
        block = LocalRunner(X, np.ones(len(X))).block
        book = make_codebook(block.frame, start)
        for kind, replacement in ((LaneLloyd, DenseLloyd), (LaneMargins, DenseLazy)):
            assigner = kind(block, len(start))
            labels = np.full(len(X), -1, dtype=np.int32)
            assigner.assign(book, labels, labels)
            assert type(assigner._tiles) is replacement
            again = np.full(len(X), -1, dtype=np.int32)
            assigner.assign(book, labels, again)
            decide_contested(block, book, again)
            assert (again == distances(X, start).argmin(axis=1)).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("k", [30, 7])
def test_gaps_spare_rows_and_change_nothing(dtype, k, monkeypatch):
    rng = np.random.default_rng(4)
    X = (3 * rng.normal(size=(k, 4))[rng.integers(0, k, 4000)] + rng.normal(size=(4000, 4))).astype(
        dtype
    )
    looked_at = []
    original = LaneLloyd.assign_open

    def counting(*arguments):
        looked_at.append(original(*arguments))
        return looked_at[-1]

    monkeypatch.setattr(LaneLloyd, "assign_open", counting)
    given = {"n_clusters": k, "init": X[:k], "tol": 0}
    lazy = KMeans(**given, algorithm="lazy").fit(X)
    assert min(looked_at) < 0.5 * len(X)
    plain = KMeans(**given, algorithm="lloyd").fit(X)
    monkeypatch.setattr(assignment, "_ONE_BOUND", 0)
    monkeypatch.setattr(LaneLloyd, "serves", staticmethod(lambda block: False))
    tiles = KMeans(**given, algorithm="lazy").fit(X)
    for other in (plain, tiles):
        assert (lazy.labels_ == other.labels_).all()
        assert (lazy.cluster_centers_ == other.cluster_centers_).all()
        assert lazy.inertia_ == other.inertia_


def test_relocated_rows_lose_their_gaps():
    rng = np.random.default_rng(5)
    X = np.repeat(rng.normal(size=(40, 3)), 30, axis=0)
    start = np.concatenate([X[:1] + 1e-3 * rng.normal(size=(25, 3)), X[-1:]])
    models = [
        KMeans(26, init=start, algorithm=name, tol=0, max_iter=30).fit(X)
        for name in ("lazy", "lloyd", "elkan")
    ]
    for other in models[1:]:
        assert (models[0].labels_ == other.labels_).all()
        assert models[0].inertia_ == other.inertia_


@pytest.mark.parametrize("assigner", [LaneLloyd, DenseLloyd])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_labels_are_those_of_centroids_even_where_no_score_is_a_number(assigner, dtype):
    X = np.random.default_rng(0).normal(size=(70, 4)).astype(dtype)
    with Threads(1):
        block = LocalRunner(X, np.ones(len(X))).block
        book = make_codebook(block.frame, np.full((5, 4), np.nan, dtype=dtype))
        labels = np.full(len(X), -1, dtype=np.int32)
        with np.errstate(invalid="ignore"):
            gaps = np.empty(len(X), dtype=np.float32)
            assigner(block, 5).assign_with_gaps(book, labels, labels, gaps)
    named = np.where(labels < -1, -2 - labels, labels)  # as contested labels are marked
    assert named.min() >= -1  # none yet
    assert named.max() < 5
