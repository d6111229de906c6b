"""Bytes rule out centroids: labels, gaps and skipped rows against slow versions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polymeans import KMeans
from polymeans.core.threads import Threads
from polymeans.engine.assignment import make_codebook
from polymeans.engine.byte_assigners import ByteLloyd
from polymeans.engine.dense_assigners import DenseLloyd
from polymeans.engine.nearest import decide_contested
from polymeans.engine.plain_assigners import BytesOrScores, plain_assigner
from polymeans.engine.runners import LocalRunner
from polymeans.kernels.byte_scores import MOST_CANDIDATES, BytePanels, pack_byte_panels
from polymeans.kernels.byte_tiles import BIAS
from tests.engine.looking import check, distances, labels_and_gaps


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@settings(max_examples=60, deadline=None)
@given(
    n=st.integers(1, 70),
    d=st.integers(1, 70),
    k=st.integers(1, 50),
    offset=st.sampled_from([0.0, 1.0, 1e3, 1e6]),
    scale=st.sampled_from([1e-14, 1e-12, 1.0, 1e9, 1e14]),
    known=st.booleans(),
    seed=st.integers(0, 10**6),
)
def test_every_row_gets_its_nearest_centroid(dtype, n, d, k, offset, scale, known, seed):
    rng = np.random.default_rng(seed)
    X = (scale * (offset + rng.normal(size=(n, d)))).astype(dtype)
    C = (scale * (offset + rng.normal(size=(k, d)))).astype(dtype)
    likely = rng.integers(-1, k, size=n).astype(np.int32) if known else None
    check(ByteLloyd, X, C, likely)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@settings(max_examples=60, deadline=None)
@given(d=st.integers(1, 40), spread=st.integers(1, 6), seed=st.integers(0, 10**6))
def test_features_rows_and_centroids_of_different_size(dtype, d, spread, seed):
    rng = np.random.default_rng(seed)
    sizes = [10.0 ** rng.integers(-spread, spread + 1, size=shape) for shape in ((30, 1), (1, d))]
    X = (rng.normal(size=(30, d)) * sizes[0] * sizes[1]).astype(dtype)
    X[rng.random(X.shape) < 0.2] = 0
    C = np.concatenate([X[:5], (X[:9] * rng.choice([0, 1, 1e-9, 1e3], size=(9, 1)))]).astype(dtype)
    labels, gaps, unit = labels_and_gaps(ByteLloyd, X, C)
    tiles, _, _ = labels_and_gaps(DenseLloyd, X, C)
    assert (labels == tiles).all()
    two = np.sort(distances(X, C), axis=1)[:, :2]
    assert (gaps * unit <= two[:, 1] - two[:, 0]).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_gaps_are_not_far_from_the_distances(dtype):
    rng = np.random.default_rng(0)
    X, C = rng.normal(size=(500, 48)).astype(dtype), rng.normal(size=(90, 48)).astype(dtype)
    _, gaps, _ = labels_and_gaps(ByteLloyd, X, C)
    two = np.sort(distances(X, C), axis=1)[:, :2]
    short = two[:, 1] - two[:, 0] - gaps
    assert short.min() >= 0
    assert np.median(short) < 0.1  # gaps of these rows are around .4


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_ties_of_whole_numbers_go_to_the_lowest_index(dtype):
    rng = np.random.default_rng(1)
    X = rng.integers(-1, 2, size=(3000, 6)).astype(dtype)
    C = np.unique(X[:400], axis=0)
    assert len(C) > MOST_CANDIDATES
    rng.shuffle(C)
    labels, _, _ = labels_and_gaps(ByteLloyd, X, C)
    squares = ((X[:, None] - C[None]) ** 2).sum(axis=2)
    assert (labels == squares.argmin(axis=1)).all()


@pytest.mark.parametrize("n_equal", [MOST_CANDIDATES - 1, MOST_CANDIDATES, 3 * MOST_CANDIDATES])
def test_more_equal_centroids_than_a_row_keeps_in_mind(n_equal):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(60, 33)).astype(np.float32)
    C = np.concatenate([10 + X[:20], np.repeat(X[:1], n_equal, axis=0), X[1:4]])
    labels, gaps, _ = labels_and_gaps(ByteLloyd, X, C)
    assert (labels == distances(X, C).argmin(axis=1)).all()
    assert gaps[0] == 0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_one_giant_row_and_centroid(dtype):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(400, 40)).astype(dtype)
    X[7] = 1e9
    X[8] = 0
    # Other rows are as near to 0 as to 1e-20 but for what forty digits would show.
    C = np.concatenate([X[:7], X[7:9], 1e-20 * X[10:12]]).astype(dtype)
    labels, _, _ = labels_and_gaps(ByteLloyd, X, C)
    tiles, _, _ = labels_and_gaps(DenseLloyd, X, C)
    assert (labels == tiles).all()
    check(ByteLloyd, X, C[:9])


def test_centroids_too_long_for_float32_scores_are_always_compared():
    X = np.random.default_rng(10).normal(size=(300, 20))
    C = np.concatenate([X[:30], 1e30 * X[30:40], 1e20 * X[40:45]])
    check(ByteLloyd, X, C)


def test_centroids_are_rounded_to_bytes_and_what_is_lost_is_known():
    rng = np.random.default_rng(4)
    C = rng.normal(size=(21, 10)) * 10.0 ** rng.integers(-3, 4, size=(21, 1))
    C[3] = 0
    shift = rng.normal(size=10)
    panels = BytePanels(np.empty((2, 3, 16), np.int32), np.empty((2, 4, 16), np.float32))
    pack_byte_panels(C, shift, 0, 2, panels, np.zeros(16, np.float32), np.empty(4, np.int32))
    numbers = panels.values.view(np.uint8).reshape(2, 3, 16, 4)
    numbers = numbers.transpose(0, 2, 1, 3).reshape(32, 12)[:21].astype(int) - BIAS
    start, minus_scale, minus_norm, minus_off = panels.lines.transpose(1, 0, 2).reshape(4, 32)
    assert np.abs(numbers).max() < BIAS
    assert (numbers[:, 10:] == 0).all()
    shifted = C - shift
    rounded = -minus_scale[:21, None].astype(float) * numbers[:, :10]
    assert (np.linalg.norm(shifted - rounded, axis=1) <= -minus_off[:21]).all()
    assert (-minus_off[:21] < 0.1 * np.linalg.norm(shifted, axis=1)).all()
    assert (np.linalg.norm(shifted, axis=1) <= -minus_norm[:21]).all()
    half = 0.5 * (shifted**2).sum(axis=1)
    assert (start[:21] <= half).all()
    np.testing.assert_allclose(start[:21], half, rtol=1e-5)
    assert np.isinf(start[21:]).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("algorithm", ["auto", "lloyd"])
def test_fits_and_predictions_are_the_same_without_bytes(dtype, algorithm, monkeypatch):
    rng = np.random.default_rng(5)
    k, d = 600, 110
    groups = 2 * rng.normal(size=(k, d))
    X, new = (
        (groups[rng.integers(0, k, n)] + rng.normal(size=(n, d))).astype(dtype)
        for n in (6000, 5000)
    )
    n_calls = []
    original = ByteLloyd.assign_with_gaps

    def counting(*arguments):
        n_calls.append(arguments[0].rows.n_samples)
        return original(*arguments)

    monkeypatch.setattr(ByteLloyd, "assign_with_gaps", counting)
    model = KMeans(k, init=X[:k], algorithm=algorithm, max_iter=12, tol=0).fit(X)
    labels = model.predict(new)
    assert len(X) in n_calls
    assert len(new) in n_calls
    monkeypatch.setattr(ByteLloyd, "serves", staticmethod(lambda rows, n_clusters: False))
    n_calls.clear()
    other = KMeans(k, init=X[:k], algorithm=algorithm, max_iter=12, tol=0).fit(X)
    assert (other.predict(new) == labels).all()
    assert not n_calls
    assert (other.labels_ == model.labels_).all()
    assert (other.cluster_centers_ == model.cluster_centers_).all()
    assert other.inertia_ == model.inertia_


def test_scores_look_where_bytes_do_not_decide(monkeypatch):
    rng = np.random.default_rng(7)
    # Centroids and rows on a sphere, all about equally far from each other.
    X = rng.normal(size=(5000, 300)).astype(np.float32)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    C = np.concatenate([X[:200], X[:200], X[:200]])
    with Threads(1):
        block = LocalRunner(X, np.ones(len(X))).block
        book = make_codebook(block.frame, C)
        unknown = np.full(len(X), -1, dtype=np.int32)
        looker = plain_assigner(block, len(C))
        assert isinstance(looker, BytesOrScores)
        assert isinstance(looker.chosen(book, unknown), DenseLloyd)
        labels = unknown.copy()
        looker.assign(book, unknown, labels)
        decide_contested(block, book, labels)
    assert (labels == (X @ X[:200].T).argmax(axis=1)).mean() > 0.999
    assert (labels < 200).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_that_are_not_finite_are_refused(dtype):
    X = np.random.default_rng(8).normal(size=(5000, 128)).astype(dtype)
    model = KMeans(600, init=X[:600], max_iter=2).fit(X)
    for place, value in ((4999, np.nan), (0, np.inf), (2500, np.nan)):
        bad = X.copy()
        bad[place, 3] = value
        with pytest.raises(ValueError, match="contains"):
            model.predict(bad)


@pytest.mark.parametrize(("dtype", "length"), [(np.float32, 1e25), (np.float64, 1e200)])
def test_one_very_long_row_is_labeled_too(dtype, length):
    X = np.random.default_rng(9).normal(size=(5000, 128)).astype(dtype)
    model = KMeans(600, init=X[:600], max_iter=2).fit(X)
    far = X.copy()
    far[17] *= dtype(length)
    labels = model.predict(far)
    assert (np.delete(labels, 17) == np.delete(model.predict(X), 17)).all()
    assert labels[17] == model.predict(far[17:18])[0]


def test_labels_from_elsewhere_are_not_trusted():
    rng = np.random.default_rng(6)
    X = rng.normal(size=(200, 36)).astype(np.float32)
    C = X[:50].copy()
    wrong = rng.choice([-7, -1, 49, 50, 10**6], size=200).astype(np.int32)
    check(ByteLloyd, X, C, wrong)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_labels_are_those_of_centroids_even_where_no_score_is_a_number(dtype):
    X = np.random.default_rng(0).normal(size=(70, 4)).astype(dtype)
    with Threads(1):
        block = LocalRunner(X, np.ones(len(X))).block
        book = make_codebook(block.frame, np.full((5, 4), np.nan, dtype=dtype))
        labels = np.full(len(X), -1, dtype=np.int32)
        with np.errstate(invalid="ignore"):
            gaps = np.empty(len(X), dtype=np.float32)
            ByteLloyd(block, 5).assign_with_gaps(book, labels, labels, gaps)
    named = np.where(labels < -1, -2 - labels, labels)
    assert named.min() >= -1
    assert named.max() < 5
