"""Shapes and numbers of non-zeros of the chains in the QuicK-means paper."""

from typing import Any

import numpy as np

from polymeans._validation import check_integer
from polymeans.factorization._checks import check_matrix, check_n_factors


def published_n_factors(shape: tuple[int, int]) -> int:
    """Number of factors the paper takes: ``int(log2(max(k, d)))``, at least 2.

    Parameters
    ----------
    shape : tuple (k, d)
        Of the matrix.

    Returns
    -------
    int
        Number of factors.

    See Also
    --------
    guaranteed_n_nonzeros : The published number of entries.
    hierarchical_palm4msa : Finds so many factors.

    Examples
    --------
    >>> from polymeans.factorization import published_n_factors
    >>> published_n_factors((64, 784))
    9
    """
    return max(2, int(max(shape)).bit_length() - 1)


def chain_shapes(shape: tuple[int, int], n_factors: int) -> list[tuple[int, int]]:
    """Shapes of factors of a k x d matrix: k x a, then a x a, and a x d, with a = min(k, d)."""
    k, d = shape
    inner = min(k, d)
    return [(k, inner), *[(inner, inner)] * (n_factors - 2), (inner, d)]


def chain_limits(shapes: list[tuple[int, int]], sparsity_level: int) -> list[tuple[int, int]]:
    """Entries to keep per row and per column of each factor in a chain.

    The left factor has s per row and as many per column as that makes on average, the right one s
    per column, inner ones s of each: at least 1 everywhere.
    """
    last = len(shapes) - 1
    limits = []
    for q, (rows, columns) in enumerate(shapes):
        side = rows if q == 0 else columns if q == last else min(rows, columns)
        limits.append(spread(sparsity_level * side, (rows, columns)))
    return limits


def spread(n_nonzeros: int, shape: tuple[int, int]) -> tuple[int, int]:
    """Entries per row and per column when so many are spread evenly, at least 1 of each."""
    rows, columns = shape
    return max(1, n_nonzeros // rows), max(1, n_nonzeros // columns)


def guaranteed_n_nonzeros(
    target_or_shape: Any, sparsity_level: int, n_factors: int | None = None
) -> int:
    """Fewest non-zeros that the paper's projection leaves in a chain at some sparsity level.

    *Idea.* With sparsity level s and Q factors, the left factor keeps s entries in each of k rows,
    each inner one s in each of its a = min(k, d) rows, and the right one s in each column:
    ``s (k + (Q - 2) a + d')`` entries at the least, and up to twice as many. Columns of zeros in
    the target need no entries, so d' counts the others.

    *Use when* another method is to be given a budget that is not larger than the paper's.

    *Do not use when* the exact number matters: count the entries of the factors.

    *Cost.* One pass over the target.

    Parameters
    ----------
    target_or_shape : array-like of shape (k, d), or tuple (k, d)
        The matrix, or how large it is.
    sparsity_level : int
        Entries of each row or column.
    n_factors : int or None, default=None
        None: as many as in the paper, :func:`published_n_factors`.

    Returns
    -------
    int
        At most k d, the size of the dense matrix.

    See Also
    --------
    project_rows_and_columns : The projection it is about.
    published_n_factors : The published number of factors.

    Examples
    --------
    >>> from polymeans.factorization import guaranteed_n_nonzeros
    >>> guaranteed_n_nonzeros((64, 784), sparsity_level=5)
    6480
    """
    check_integer("sparsity_level", sparsity_level, 1)
    if not hasattr(target_or_shape, "shape") and np.shape(target_or_shape) == (2,):
        k, d = target_or_shape
        check_integer("shape[0]", k, 1)
        check_integer("shape[1]", d, 1)
        used = d
    else:
        target = check_matrix("target", target_or_shape)
        k, d = target.shape
        used = int(target.any(axis=0).sum())
    if n_factors is None:
        n_factors = published_n_factors((k, d))
    check_n_factors(n_factors)
    inner = min(k, d)
    total = min(sparsity_level, inner) * (k + (n_factors - 2) * inner + used)
    return int(min(total, k * d))
