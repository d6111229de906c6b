"""Arrays and CSR matrices are told apart, and put together without leaving their kind."""

import numpy as np
import pytest
import scipy.sparse as sp

from polymeans.core.norms import largest_of_rows, rows_over
from polymeans.core.rows import is_csr, stacked

X = np.random.default_rng(0).normal(size=(12, 5)).round(1)
KINDS = [np.asarray, sp.csr_array, sp.csr_matrix]


@pytest.mark.parametrize("kind", KINDS)
def test_parts_are_stacked_in_their_own_container(kind):
    rows = kind(X)
    joined = stacked([rows[:4], rows[4:5], rows[5:]])
    assert type(joined) is type(rows)
    assert is_csr(joined) == (kind is not np.asarray)
    np.testing.assert_array_equal(joined.toarray() if is_csr(joined) else joined, X)
    assert stacked([rows]) is rows


@pytest.mark.parametrize("kind", KINDS)
def test_rows_are_divided_in_their_own_container(kind):
    rows = kind(X)
    largest = largest_of_rows(rows)
    np.testing.assert_array_equal(largest, np.abs(X).max(axis=1))
    divided = rows_over(rows, largest)
    assert type(divided) is type(rows)
    np.testing.assert_allclose(largest_of_rows(divided), 1.0)
