"""Bounds from products of bytes, as they are compiled for different processors, against numpy."""

import numpy as np
import pytest
from llvmlite.binding import get_host_cpu_features
from numba import njit

from polymeans.kernels import byte_tiles

_VECTORS_OF_BYTES = {"+avx512f", "+avx512vnni"}

#: Features that code is made for; none: the code for all processors.
_PROCESSORS = [frozenset(), frozenset({"+avx2"}), frozenset(_VECTORS_OF_BYTES | {"+avx2"})]


def bounds_on(monkeypatch, features):
    """``byte_tile`` as it is compiled for processors with these features."""
    here = get_host_cpu_features()
    if not all(here.get(name.removeprefix("+")) for name in features):
        pytest.skip("this processor lacks some of them")

    @njit
    def call(rows, factors, sums, panel, lines, limits, low, rest, masks):
        return byte_tiles.byte_tile(rows, 1, factors, sums, panel, lines, limits, low, rest, masks)

    monkeypatch.setattr(byte_tiles, "features_of", lambda context: features)
    return call


@pytest.mark.parametrize("features", _PROCESSORS, ids=["any", "AVX2", "VNNI"])
@pytest.mark.parametrize("n_quarters", [0, 1, 9, 200])
def test_bounds(features, n_quarters, monkeypatch):
    rng = np.random.default_rng(n_quarters)
    extreme = rng.choice([-1, 1], size=(9, 4 * n_quarters))
    rows = (extreme * byte_tiles.ROW_LEVELS).astype(np.int8)
    rows[4:] = rng.integers(-127, 128, size=rows[4:].shape)
    centroids = rng.choice([-1, 1], size=(16, 4 * n_quarters)) * byte_tiles.CENTROID_LEVELS
    centroids[8:] = rng.integers(-63, 64, size=centroids[8:].shape)
    stored = (centroids + byte_tiles.BIAS).astype(np.uint8).reshape(16, n_quarters, 4)
    panel = np.ascontiguousarray(stored.transpose(1, 0, 2)).view(np.int32).reshape(n_quarters, 16)
    sums = (-byte_tiles.BIAS * rows.sum(axis=1, dtype=np.int64)).astype(np.int32)
    factors = rng.random((9, 3)).astype(np.float32)
    lines = rng.normal(size=(4, 16)).astype(np.float32)
    products = rows.astype(np.int64) @ centroids.T
    expected = lines[0] + factors[:, :1] * lines[1] * products
    expected += factors[:, 1:2] * lines[2] + factors[:, 2:] * lines[3]
    limits = np.median(expected, axis=1).astype(np.float32)
    limits[3] = -np.inf
    before = (rng.normal(size=(9, 16)) * abs(expected).max()).astype(np.float32)
    rest, low, masks = before.copy(), np.empty((8, 16), np.float32), np.empty(8, np.int32)
    call = bounds_on(monkeypatch, features)
    found = call(rows, factors, sums, panel, lines, limits, low, rest, masks)
    np.testing.assert_allclose(low, expected[1:], rtol=1e-4, atol=1e-5 * abs(expected).max())
    below = low < limits[1:, None]
    assert (masks == (below << np.arange(16)).sum(axis=1)).all()
    assert found == np.bitwise_or.reduce(masks)
    np.testing.assert_array_equal(rest[1:], np.minimum(before[1:], np.where(below, np.inf, low)))
    np.testing.assert_array_equal(rest[0], before[0])
