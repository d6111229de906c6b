"""Compiled building blocks against numpy."""

import itertools

import numpy as np
import pytest
from numba import njit

from polymeans.kernels import distances, lane_scan, streams, tiles
from polymeans.kernels.halves import as_half_bits
from polymeans.kernels.lanes import lane_array
from polymeans.kernels.rows import Book, DenseArrays, SparseArrays, exact_score

# Intrinsics exist only inside compiled code: thin wrappers call them one by one.


@njit
def call_tile_scores(X, panel, start, out):
    tiles.tile_scores(X, 0, 2, 1, 3, panel, start, out)


def two_best(monkeypatch, many_registers):
    """``tile_two_best`` as it is compiled for processors with 16 or with 32 registers."""

    @njit
    def call(X, rows, n_rows, panel, start, skip, best, second, lane):
        tiles.tile_two_best(X, rows, n_rows, panel, start, skip, best, second, lane)

    def found(X, rows, panel, start, skip):
        n_rows = len(rows)
        rows = np.resize(rows, tiles.MOST_ROWS).astype(np.int64)
        skip = np.resize(skip, tiles.MOST_ROWS).astype(np.int32)
        best, second = np.full((2, tiles.MOST_ROWS), np.nan, dtype=X.dtype)
        lane = np.full(tiles.MOST_ROWS, -1, dtype=np.int32)
        monkeypatch.setattr(tiles, "has_many_registers", lambda context: many_registers)
        call(X, rows, n_rows, panel, start, skip, best, second, lane)
        return best[:n_rows], second[:n_rows], lane[:n_rows]

    return found


@njit
def call_bracket(slope, half, spread, floor, reach, scores):
    return streams.bracket(slope, half, spread, floor, reach, scores)


@njit
def call_sift(scores, ceiling):
    return streams.sift(scores, ceiling)


@njit
def call_exact(X, C):
    out = np.empty((X.shape[0], C.shape[0]))
    for i in range(X.shape[0]):
        for j in range(C.shape[0]):
            out[i, j] = distances.exact_squared_distance(X, i, C, j)
    return out


@njit
def call_half_bits(values, out):
    for i in range(values.shape[0]):
        out[i] = as_half_bits(values[i])


@njit
def call_exact_score(rows, book, out):
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = exact_score(rows, i, book, j)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("d", [0, 1, 7, 64, 129])
def test_tiles(dtype, d):
    rng = np.random.default_rng(d)
    width = tiles.panel_width(np.dtype(dtype).itemsize)
    X = rng.normal(size=(4, d)).astype(dtype)
    panel = rng.normal(size=(d, width)).astype(dtype)
    start = rng.normal(size=width).astype(dtype)
    out = np.empty((4, width), dtype=dtype)
    call_tile_scores(X, panel, start, out)
    expected = start + X @ panel
    np.testing.assert_allclose(out, expected[[0, 2, 1, 3]], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_two_best(dtype, monkeypatch):
    with_few, with_many = two_best(monkeypatch, False), two_best(monkeypatch, True)
    for d, n_rows in itertools.product((0, 1, 7, 129, 600), (1, 4, 5, 8)):
        rng = np.random.default_rng(d)
        width = tiles.panel_width(np.dtype(dtype).itemsize)
        X, rows = rng.normal(size=(20, d)).astype(dtype), rng.permutation(20)[:n_rows]
        panel, start = rng.normal(size=(d, width)).astype(dtype), rng.normal(size=width)
        start, skip = start.astype(dtype), np.array([-1, 0, 3, 99, -7])
        few, many = (found(X, rows, panel, start, skip) for found in (with_few, with_many))
        for of_few, of_many in zip(few, many):
            np.testing.assert_array_equal(of_few, of_many)
        expected = start + X[rows].astype(float) @ panel
        for r, (best, second, lane) in enumerate(zip(*few)):
            if 0 <= skip[r % 5] < width:
                expected[r, skip[r % 5]] = np.inf
            order = np.argsort(expected[r])
            assert lane == order[0]
            np.testing.assert_allclose([best, second], expected[r, order[:2]], rtol=1e-4, atol=1e-4)


def test_two_best_of_equal_lanes_takes_the_first(monkeypatch):
    X, panel = np.zeros((4, 2), np.float32), np.zeros((2, 16), np.float32)
    start = np.full(16, 5.0, np.float32)
    start[[3, 9]] = 1.0
    skip = np.array([-1])
    best, second, lane = two_best(monkeypatch, True)(X, np.arange(4), panel, start, skip)
    np.testing.assert_array_equal(lane, 3)
    np.testing.assert_array_equal(second, best)


def scanned(monkeypatch, many_registers, scan):
    """A scan as it is compiled for processors with 16 or with 32 registers."""

    @njit
    def call(sources, values, starts, best, second, lane):
        last = sources.shape[0] - 1
        for q in range(0, last + 1, 2):
            n_groups = values.shape[0]
            scan(sources, q, last, values, starts, 0, 1, best, second, lane)
            scan(sources, q, last, values, starts, 1, n_groups, best, second, lane)

    def found(sources, values, starts):
        n_lines = len(sources)
        best, second, lane = lane_array(3 * n_lines, np.float32).reshape(3, n_lines, 16)
        best[:], second[:], lane[:] = np.inf, np.inf, np.nan
        lane = lane.view(np.int32)
        monkeypatch.setattr(lane_scan, "has_many_registers", lambda context: many_registers)
        call(sources, values, starts, best, second, lane)
        return best, second, lane

    return found


@pytest.mark.parametrize("width", lane_scan.SCAN_WIDTHS)
def test_scan(width, monkeypatch):
    scan = {3: lane_scan.scan_by_3, 4: lane_scan.scan_by_4, 5: lane_scan.scan_by_5}[width]
    with_few, with_many = scanned(monkeypatch, False, scan), scanned(monkeypatch, True, scan)
    for height, n_lines in itertools.product((1, 6, 40), (1, 2, 5)):
        rng = np.random.default_rng(height)
        sources = lane_array(n_lines * height, np.float32).reshape(n_lines, height, 16)
        sources[:] = rng.normal(size=sources.shape)
        values = rng.normal(size=(3, height, width)).astype(np.float32)
        starts = rng.normal(size=(3, width)).astype(np.float32)
        few, many = (found(sources, values, starts) for found in (with_few, with_many))
        for of_few, of_many in zip(few, many):
            np.testing.assert_array_equal(of_few, of_many)
        scores = np.einsum("qtr,gtc->qrgc", sources.astype(float), values) + starts
        scores = scores.reshape(n_lines, 16, -1)
        np.testing.assert_array_equal(few[2], scores.argmin(axis=2))
        scores.sort()
        for place, found in enumerate(few[:2]):
            np.testing.assert_allclose(found, scores[..., place], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("halves", [True, False])
@pytest.mark.parametrize("columns", [16, 32, 48, 64, 80, 112, 208, 288])
@pytest.mark.parametrize("length", [0, 1, 5, 40])
def test_stream_products(halves, columns, length):
    rng = np.random.default_rng(columns + length)
    table = rng.normal(size=(50, columns)).astype(np.float16 if halves else np.float32)
    indices = rng.integers(0, 50, length + 6).astype(np.int32)
    values = rng.normal(size=length + 6).astype(np.float32)
    out = np.full(columns, np.nan, dtype=np.float32)
    stored = table.view(np.uint16) if halves else table
    streams.stream_products(indices, values, 3, 3 + length, stored, out)
    part = slice(3, 3 + length)
    expected = values[part] @ table[indices[part]].astype(np.float64)
    np.testing.assert_allclose(out, expected, rtol=1e-4, atol=1e-4)


def test_bracket_and_sift():
    rng = np.random.default_rng(0)
    for n in (16, 64, 160):
        slope, half, spread, floor, products = rng.random((5, n)).astype(np.float32)
        scores = products.copy()
        ceiling = call_bracket(slope, half, spread, floor, np.float32(0.1), scores)
        score, error = half - slope * products, np.float32(0.1) * spread + floor
        np.testing.assert_allclose(scores, score - error, rtol=1e-5, atol=1e-6)
        assert ceiling == pytest.approx((score + error).min(), rel=1e-5)
        for limit in (-10.0, float(np.median(scores)), 10.0):
            count, last, others = call_sift(scores, np.float32(limit))
            possible = scores <= np.float32(limit)
            assert count == possible.sum()
            assert last == (np.flatnonzero(possible)[-1] if possible.any() else -1)
            assert others == (scores[~possible].min() if (~possible).any() else np.inf)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("d", [1, 7, 8, 9, 100])
def test_exact_distance(dtype, d):
    rng = np.random.default_rng(d)
    X, C = rng.normal(size=(5, d)).astype(dtype), rng.normal(size=(6, d)).astype(dtype)
    expected = ((X[:, None].astype(float) - C[None].astype(float)) ** 2).sum(axis=2)
    np.testing.assert_allclose(call_exact(X, C), expected, rtol=1e-13)


def test_exact_scores_of_both_containers_order_alike(documents):
    X = documents[:20]
    C = documents[20:30].toarray()
    dense, sparse = np.empty((20, 10)), np.empty((20, 10))
    half = 0.5 * (C**2).sum(axis=1)
    call_exact_score(DenseArrays(X.toarray()), Book(C, np.ones(10), half, C.shape[1]), dense)
    rows = SparseArrays(X.indptr.astype(np.int64), X.indices, X.data)
    call_exact_score(rows, Book(C * 3.0, np.full(10, 3.0), half, C.shape[1]), sparse)
    squares = np.asarray(X.multiply(X).sum(axis=1))
    np.testing.assert_allclose(squares + 2 * sparse, dense, atol=1e-12)


def test_half_bits_round_as_numpy_does():
    values = np.concatenate(
        [np.random.default_rng(0).normal(size=1000) * 10.0**e for e in range(-9, 5)]
    ).astype(np.float32)
    bits = np.empty(len(values), dtype=np.uint16)
    call_half_bits(values, bits)
    np.testing.assert_array_equal(bits, values.astype(np.float16).view(np.uint16))
