"""Rows that margins leave alone have the labels that a look at all centroids gives them."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from polymeans.codebooks.dense import DenseCodebook
from polymeans.core.statistics import CellStatistics
from polymeans.engine.assignment import make_codebook
from polymeans.engine.in_turn import InTurn
from polymeans.engine.margins import label_open_rows, nearest_labels
from polymeans.engine.placement import Held, Kept
from polymeans.engine.survey import measure
from polymeans.engine.visits import assign_and_add_up, change_labels


def block_of(X):
    held = Held([(X, np.ones(len(X)))])
    measure(held, spherical=False)
    return held.block()


def true_gaps(X, centers):
    """How much farther the second nearest centroid is, in extended precision."""
    apart = X.astype(np.longdouble)[:, None] - centers.astype(np.longdouble)
    distances = np.sort(np.sqrt((apart**2).sum(axis=2)), axis=1)
    return distances[:, 1] - distances[:, 0]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("offset", [0.0, 1e3, 1e6])
def test_gaps_are_never_overstated(dtype, offset):
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(500, 6)) + offset).astype(dtype)
    centers = np.concatenate([X[:20], X[:3] * dtype(1.5)])
    block, kept = block_of(X), Kept(0, len(X))
    labels = label_open_rows(block, kept, DenseCodebook(centers), None)
    np.testing.assert_array_equal(labels, nearest_labels(block, DenseCodebook(centers), labels))
    gaps = true_gaps(X, centers)
    assert (kept.gaps <= gaps).all()
    if offset == 0:  # and they are of use
        assert np.median(kept.gaps / np.maximum(gaps, 1e-9).astype(float)) > 0.9


@given(st.integers(0, 2**32 - 1), st.sampled_from([1e-6, 1e-3, 0.1, 3.0]))
def test_labels_follow_centroids_that_move(seed, speed):
    rng = np.random.default_rng(seed)
    dtype = rng.choice([np.float32, np.float64])
    X = (
        rng.integers(-4, 5, size=(80, 3)).astype(dtype)
        if rng.random() < 0.3
        else (rng.normal(size=(80, 3)).astype(dtype))
    )
    centers = X[rng.integers(0, 80, int(rng.integers(1, 12)))]  # some of them equal
    block, kept, drift = block_of(X), Kept(0, len(X)), None
    for _ in range(5):
        codebook = DenseCodebook(centers)
        kept.labels = label_open_rows(block, kept, codebook, drift)
        np.testing.assert_array_equal(kept.labels, nearest_labels(block, codebook, kept.labels))
        if len(centers) > 1:
            assert (kept.gaps <= true_gaps(X, centers)).all()
        moves = rng.random((len(centers), 1)) < 0.5
        after = (centers + speed * moves * rng.normal(size=centers.shape)).astype(dtype)
        step = after.astype(np.float64) - centers.astype(np.float64)
        drift = np.sqrt((step**2).sum(axis=1)) * (1 + 1e-12)
        centers = after


def documents_and_centroids(seed):
    rng = np.random.default_rng(seed)
    X = sp.random(120, 30, density=0.2, format="csr", dtype=np.float32, rng=rng)
    held = Held([(X, np.ones(120))])
    frame = measure(held, spherical=False)
    return rng, held.block(), frame, X[:10].toarray()


@given(st.integers(0, 2**32 - 1))
def test_labels_of_csr_rows_follow_centroids_that_move(seed):
    rng, block, frame, centers = documents_and_centroids(seed)
    kept, drift = Kept(0, 120), None
    for _ in range(4):
        codebook = make_codebook(frame, centers)
        kept.labels = label_open_rows(block, kept, codebook, drift)
        np.testing.assert_array_equal(kept.labels, nearest_labels(block, codebook, kept.labels))
        moves = rng.random((10, 1)) < 0.4
        centers = (centers + moves * 0.1 * rng.random(centers.shape)).astype(np.float32)
        drift = moves[:, 0].astype(np.float64)
        changed = rng.integers(0, 120, 5)  # as rows that an empty cluster was given
        change_labels(kept, changed, rng.integers(0, 10, 5).astype(np.int32))


def test_visits_in_turn_come_to_the_same(monkeypatch):
    _, block, frame, centers = documents_and_centroids(0)
    monkeypatch.setattr(block, "weights", np.arange(120) % 3.0)
    codebook = make_codebook(frame, centers)
    alone, shared = Kept(0, 120), Kept(0, 120)
    totals, known = CellStatistics.empty(frame, 10), None
    for number in range(3):
        in_turn, corrected = InTurn(codebook, totals), number > 0
        found = assign_and_add_up(block, alone, codebook, corrected=corrected)
        together = assign_and_add_up(block, shared, codebook, False, corrected, None, in_turn)
        assert together.statistics is None
        known = known + found.statistics if corrected else found.statistics
        for name in ("counts", "mass_rungs", "rungs"):
            np.testing.assert_array_equal(getattr(totals, name), getattr(known, name))
        assert found.changes.n_moved == together.changes.n_moved
        codebook = make_codebook(frame, centers + 0.1 * (number + 1))
