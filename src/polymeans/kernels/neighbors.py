"""Nearest rows: inner products exclude rows that are too far, exact distances decide.

Distances are sums of squared differences in float64, in one order: equal rows are at distance
exactly zero, and neighbours and their order depend neither on how the products were rounded nor on
the order in which rows are compared. Among equal distances the lowest row number comes first.
"""

import numpy as np

from polymeans.kernels.compile import kernel
from polymeans.kernels.distances import exact_squared_distance


@kernel(inner=True)
def insert(
    distance,  # IN  squared
    index,  # IN  row number
    distances,  # INOUT (k,) ascending
    indices,  # INOUT (k,)
):
    """Put a row in its place among the nearest so far, if it is one of them."""
    k = distances.shape[0]
    p = k - 1
    if distance > distances[p] or (distance == distances[p] and index > indices[p]):
        return
    while p > 0 and (
        distance < distances[p - 1] or (distance == distances[p - 1] and index < indices[p - 1])
    ):
        distances[p] = distances[p - 1]
        indices[p] = indices[p - 1]
        p -= 1
    distances[p] = distance
    indices[p] = index


@kernel
def compare_dense(
    queries,  # IN  (m, d)
    query_squares,  # IN  (m,) squared norms
    chosen,  # IN  (a,) queries to compare
    products,  # IN  (a, b) their inner products with the rows, as BLAS rounds them
    rows,  # IN  (n, d)
    row_squares,  # IN  (n,) squared norms
    first,  # IN  row of the products' first column
    numbers,  # IN  (n,) the user's number of each row
    own,  # IN  (m,) row that a query is, -1: none
    relative,  # IN  largest error of a squared distance, relative to the squared norms
    absolute,  # IN  and on top of it
    distances,  # INOUT (m, k) squared distances of the nearest so far, ascending
    indices,  # INOUT (m, k)
):
    """Compare some dense queries with the rows that products are given for."""
    last = distances.shape[1] - 1
    for a in range(chosen.shape[0]):
        q = chosen[a]
        worst = distances[q, last]
        for b in range(products.shape[1]):
            r = first + b
            squares = query_squares[q] + row_squares[r]
            least = squares - 2.0 * np.float64(products[a, b]) - relative * squares - absolute
            if worst < least < np.inf:  # where products have overflowed, nothing is known
                continue
            if numbers[r] == own[q]:
                continue
            distance = exact_squared_distance(queries, q, rows, r)
            insert(distance, numbers[r], distances[q], indices[q])
            worst = distances[q, last]


@kernel(inner=True)
def sparse_squared_distance(a, i, b, j):
    """Between row i of a and row j of b, CSR rows with sorted indices."""
    p, p_end = a.indptr[i], a.indptr[i + 1]
    r, r_end = b.indptr[j], b.indptr[j + 1]
    total = 0.0
    while p < p_end and r < r_end:
        if a.indices[p] == b.indices[r]:
            delta = np.float64(a.values[p]) - np.float64(b.values[r])
            p += 1
            r += 1
        elif a.indices[p] < b.indices[r]:
            delta = np.float64(a.values[p])
            p += 1
        else:
            delta = np.float64(b.values[r])
            r += 1
        total += delta * delta
    while p < p_end:
        delta = np.float64(a.values[p])
        total += delta * delta
        p += 1
    while r < r_end:
        delta = np.float64(b.values[r])
        total += delta * delta
        r += 1
    return total


@kernel
def compare_sparse(
    queries,  # IN  CSR rows
    query_squares,  # IN  (m,) squared norms
    chosen,  # IN  (a,) queries to compare
    rows,  # IN  CSR rows
    row_squares,  # IN  (n,) squared norms
    first,  # IN  rows to look at
    end,
    numbers,  # IN  (n,) the user's number of each row
    own,  # IN  (m,) row that a query is, -1: none
    relative,  # IN  largest error of a squared distance, relative to the squared norms
    absolute,  # IN  and on top of it
    distances,  # INOUT (m, k) squared distances of the nearest so far, ascending
    indices,  # INOUT (m, k)
    dense_query,  # BUFFER (d,) zeros, and zeros again in the end
):
    """Compare some CSR queries with rows first:end."""
    last = distances.shape[1] - 1
    for q in chosen:
        for p in range(queries.indptr[q], queries.indptr[q + 1]):
            dense_query[queries.indices[p]] = queries.values[p]
        worst = distances[q, last]
        for r in range(first, end):
            product = 0.0
            for p in range(rows.indptr[r], rows.indptr[r + 1]):
                product += np.float64(rows.values[p]) * dense_query[rows.indices[p]]
            squares = query_squares[q] + row_squares[r]
            least = squares - 2.0 * product - relative * squares - absolute
            if worst < least < np.inf:
                continue
            if numbers[r] == own[q]:
                continue
            distance = sparse_squared_distance(queries, q, rows, r)
            insert(distance, numbers[r], distances[q], indices[q])
            worst = distances[q, last]
        for p in range(queries.indptr[q], queries.indptr[q + 1]):
            dense_query[queries.indices[p]] = 0.0
