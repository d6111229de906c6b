"""Chains of sparse factors applied to single dense rows."""

import numpy as np

from polymeans.kernels.compile import kernel


@kernel(fastmath={"contract"}, allocates=True)
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


@kernel(fastmath={"contract"}, allocates=True)
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


@kernel(fastmath={"contract", "reassoc"}, allocates=True)
def label_few(
    heights,  # IN  the arrays of a FlatChain, float64
    starts,
    indices,
    values,
    rows,  # IN  (n, d)
    squares,  # IN  (k,) squared norms of the centroids
    slopes,  # IN  (k,) a score is wrong by at most slopes * |x| + floors
    floors,  # IN  (k,)
    longest,  # IN  rows longer than this are left open
    labels,  # OUT (n,) the nearest centroid, or -1 if rounding leaves it open
):
    """Labels of a few dense rows, whatever their dtype; how many are open."""
    one = np.uint64(1)
    n_features = rows.shape[1]
    size = n_features
    for q in range(heights.shape[0]):
        size = max(size, np.int64(heights[q]))
    front, back = np.empty(size), np.empty(size)
    n_open = 0
    for i in range(rows.shape[0]):
        total = 0.0
        for t in range(n_features):
            front[t] = rows[i, t]
            total += front[t] * front[t]
        norm = np.sqrt(total) + 1e-150 * n_features  # squares may vanish where numbers do not
        labels[i] = -1
        if not norm <= longest:
            n_open += 1
            continue
        source, target = front, back
        begin = np.uint64(0)
        for q in range(heights.shape[0]):
            p = starts[begin]
            for h in range(heights[q]):
                begin += one
                end = starts[begin]
                even = odd = 0.0
                while p + one < end:
                    even += values[p] * source[indices[p]]
                    odd += values[p + one] * source[indices[p + one]]
                    p += one + one
                if p < end:
                    even += values[p] * source[indices[p]]
                    p += one
                target[h] = even + odd
            source, target = target, source
        label = 0
        best = second = np.inf
        for c in range(squares.shape[0]):
            low = squares[c] - 2 * source[c] - (slopes[c] * norm + floors[c])
            if low < best:
                second = best
                best = low
                label = c
            elif low < second:
                second = low
        # No score is below its low; that of the best is at most twice its error above.
        if second > best + 2 * (slopes[label] * norm + floors[label]):
            labels[i] = label
        else:
            n_open += 1
    return n_open
