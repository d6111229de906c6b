"""Chains of sparse factors applied to single dense rows."""

import numpy as np

from polymeans.kernels.compile import kernel


@kernel(fastmath={"contract"})
def row_product(
    heights,  # IN  the arrays of a FlatChain; passing them one by one takes less time
    starts,
    indices,
    values,
    x,  # IN  (d,)
):
    """``V @ x`` for one dense row."""
    one, two = np.uint64(1), np.uint64(2)
    source = x
    begin = np.uint64(0)
    for q in range(heights.shape[0]):
        height = heights[q]
        target = np.empty(height, dtype=values.dtype)
        p = starts[begin]
        for i in range(height):
            begin += one
            end = starts[begin]
            # Two sums, so that an addition need not wait for the one before.
            even = odd = values.dtype.type(0)
            while p + two <= end:
                even += values[p] * source[indices[p]]
                odd += values[p + one] * source[indices[p + one]]
                p += two
            if p < end:
                even += values[p] * source[indices[p]]
                p += one
            target[i] = even + odd
        source = target
    return source


@kernel(fastmath={"contract"})
def row_nearest(heights, starts, indices, values, x, offsets):
    """The c with the smallest ``offsets[c] - 2 (V x)_c``, the lowest among equals."""
    products = row_product(heights, starts, indices, values, x)
    label = 0
    best = offsets[0] - 2 * products[0]
    for c in range(1, products.shape[0]):
        score = offsets[c] - 2 * products[c]
        if score < best:
            best = score
            label = c
    return label
