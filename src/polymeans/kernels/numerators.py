"""Sums of sparse rows that are kept as they are used: rounded, with what rounding took beside them.

A sum S + E with ``S = round(S + E)`` is exact where its bits span no more than two rungs of a
ladder (:mod:`polymeans.core.exact_sums`): |E| is at most half a unit of the upper rung and a
multiple of the lower one's, so no operation below rounds but the one that makes S. The pair is the
only one of its total: it does not depend on which rows came and left in which order.

S are the centroids' numerators themselves, E a float32 for most data and nothing at all where one
rung is enough, which is what makes this cheap: k x d numbers are written once, not three times.
"""

from typing import NamedTuple

import numpy as np

from polymeans.kernels.compile import kernel
from polymeans.kernels.exact import add_sparse, rounded


class Numerators(NamedTuple):
    """Sums of all clusters, and their squared norms by blocks of features."""

    sums: np.ndarray  #: (k, d)
    remainders: np.ndarray  #: (k, d), or (0, 0) where sums do not round
    partials: np.ndarray  #: (k, n_feature_blocks) squared norms
    filled: np.ndarray  #: (k, n_feature_blocks) where sums may differ from zero


class Groups(NamedTuple):
    """Items by cluster: those of cluster j are ``items[starts[j] : starts[j + 1]]``."""

    starts: np.ndarray
    items: np.ndarray


#: Features whose squared norm is kept as one number: what changes in a few of them costs that much.
FEATURE_BLOCK = 64


@kernel
def replace_sums(
    rows,  # IN  sparse row container
    weights,  # IN  (n,)
    clusters,  # IN  clusters to sum from their rows
    members,  # IN  rows by cluster
    magics,  # IN  ladder of the sums, of one or two rungs
    take,  # IN  whether to replace the earlier sums
    numerators,  # INOUT
    squares,  # OUT (k,) squared norms of the new sums
    cross,  # OUT (k,) their products with the earlier ones
):
    """Sum some clusters from their rows."""
    sums, remainders, partials, filled = numerators
    d = sums.shape[1]
    n_blocks = partials.shape[1]
    total = np.zeros((magics.shape[0] + 1, d))
    present = np.zeros(n_blocks, dtype=np.bool_)
    fresh = np.empty(FEATURE_BLOCK)
    for j in clusters:
        before = sums[j]
        for m in range(members.starts[j], members.starts[j + 1]):
            i = members.items[m]
            w = weights[i]
            if w != 0.0:
                first, last = rows.indptr[i], rows.indptr[i + 1]
                add_sparse(rows.indices, rows.values, first, last, w, magics, total)
                for p in range(first, last):
                    present[rows.indices[p] // FEATURE_BLOCK] = True
        square = product = 0.0
        for b in range(n_blocks):
            lo, hi = b * FEATURE_BLOCK, min(d, (b + 1) * FEATURE_BLOCK)
            if not present[b]:
                if not filled[j, b]:
                    continue
                if not before[lo:hi].any():
                    filled[j, b] = False
                    continue
            _round_block(total, lo, hi, fresh)
            q, c = block_products(fresh[: hi - lo], before[lo:hi])
            square += q
            product += c
            if take:
                partials[j, b] = q
                filled[j, b] = present[b]
                for t in range(lo, hi):
                    before[t] = fresh[t - lo]
                if remainders.shape[0] > 0:
                    own = remainders[j]
                    for t in range(lo, hi):
                        own[t] = _lost(total[0, t], total[1, t])
            for r in range(total.shape[0]):
                for t in range(lo, hi):
                    total[r, t] = 0.0
            present[b] = False
        squares[j] = square
        cross[j] = product


@kernel
def correct_sums(
    rows,  # IN  sparse row container
    weights,  # IN  (n,)
    clusters,  # IN  clusters to correct
    events,  # IN  positions into moved by cluster; those past n_moved are arrivals
    moved,  # IN  (n_moved,) rows that changed cluster
    numerators,  # INOUT
    squares,  # OUT (k,) squared norms of the new sums
    cross,  # OUT (k,) their products with the earlier ones
):
    """The same by subtracting rows that left and adding those that came: no drift."""
    sums, remainders, partials, filled = numerators
    d = sums.shape[1]
    n_moved = moved.shape[0]
    earlier = np.empty(d)
    touched = np.zeros(partials.shape[1], dtype=np.bool_)
    for j in clusters:
        own = sums[j]
        # First what is about to change, block by block: the processor reads ahead then, and the
        # scattered additions find their numbers in cache.
        for e in range(events.starts[j], events.starts[j + 1]):
            i = moved[events.items[e] % n_moved]
            for p in range(rows.indptr[i], rows.indptr[i + 1]):
                touched[rows.indices[p] // FEATURE_BLOCK] = True
        for b in range(touched.shape[0]):
            if touched[b]:
                for t in range(b * FEATURE_BLOCK, min(d, (b + 1) * FEATURE_BLOCK)):
                    earlier[t] = own[t]
        for e in range(events.starts[j], events.starts[j + 1]):
            i = moved[events.items[e] % n_moved]
            w = weights[i] if events.items[e] >= n_moved else -weights[i]
            for p in range(rows.indptr[i], rows.indptr[i + 1]):
                t = rows.indices[p]
                term = w * np.float64(rows.values[p])
                if remainders.shape[0] == 0:
                    own[t] += term
                else:
                    s = own[t] + term
                    rest = np.float64(remainders[j, t]) + _lost(own[t], term)
                    own[t] = s + rest
                    remainders[j, t] = _lost(s, rest)
        square = product = 0.0
        for b in range(touched.shape[0]):
            if touched[b]:
                lo, hi = b * FEATURE_BLOCK, min(d, (b + 1) * FEATURE_BLOCK)
                q, c = block_products(own[lo:hi], earlier[lo:hi])
                square += q
                product += c
                partials[j, b] = q
                filled[j, b] = True
                touched[b] = False
            else:
                square += partials[j, b]
                product += partials[j, b]
        squares[j] = square
        cross[j] = product


@kernel
def _round_block(total, lo, hi, fresh):
    if total.shape[0] == 1:
        for t in range(lo, hi):
            fresh[t - lo] = total[0, t]
    elif total.shape[0] == 2:
        for t in range(lo, hi):
            fresh[t - lo] = total[0, t] + total[1, t]
    else:
        for t in range(lo, hi):
            fresh[t - lo] = rounded(total, t)


@kernel(inline="always")
def _lost(a, b):
    """What ``a + b`` loses by rounding, exactly (Knuth)."""
    s = a + b
    back = s - a
    return (a - (s - back)) + (b - back)


@kernel
def block_products(fresh, before):
    """Squared norm of some sums, and their product with earlier ones, in one fixed order."""
    s0 = s1 = s2 = s3 = 0.0
    c0 = c1 = c2 = c3 = 0.0
    width = fresh.shape[0]
    t = 0
    while t + 4 <= width:
        s0 += fresh[t] * fresh[t]
        s1 += fresh[t + 1] * fresh[t + 1]
        s2 += fresh[t + 2] * fresh[t + 2]
        s3 += fresh[t + 3] * fresh[t + 3]
        c0 += fresh[t] * before[t]
        c1 += fresh[t + 1] * before[t + 1]
        c2 += fresh[t + 2] * before[t + 2]
        c3 += fresh[t + 3] * before[t + 3]
        t += 4
    while t < width:
        s0 += fresh[t] * fresh[t]
        c0 += fresh[t] * before[t]
        t += 1
    return (s0 + s1) + (s2 + s3), (c0 + c1) + (c2 + c3)


@kernel
def compare_sums(
    rungs,  # IN  (k, n_rungs, d) sums on a ladder
    clusters,  # IN  clusters to look at
    take,  # IN  whether to replace the earlier sums
    numerators,  # INOUT
    squares,  # OUT (k,) squared norms of the new sums
    cross,  # OUT (k,) their products with the earlier ones
):
    """The same for sums that somebody else made."""
    d = rungs.shape[2]
    fresh = np.empty(FEATURE_BLOCK)
    for j in clusters:
        square = product = 0.0
        for b in range(numerators.partials.shape[1]):
            lo, hi = b * FEATURE_BLOCK, min(d, (b + 1) * FEATURE_BLOCK)
            _round_block(rungs[j], lo, hi, fresh)
            q, c = block_products(fresh[: hi - lo], numerators.sums[j, lo:hi])
            square += q
            product += c
            if take:
                numerators.partials[j, b] = q
                numerators.filled[j, b] = True
                numerators.sums[j, lo:hi] = fresh[: hi - lo]
        squares[j] = square
        cross[j] = product
