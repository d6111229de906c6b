"""Projections onto few non-zeros, and the limits that follow from a level of sparsity."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from polymeans.factorization import (
    guaranteed_n_nonzeros,
    hierarchical_palm4msa,
    project_rows_and_columns,
    published_n_factors,
)
from polymeans.factorization.budget import chain_limits, chain_shapes
from tests.factorization.checks import matrices
from tests.oracles_factorization import (
    largest_of_rows_and_columns,
)


@settings(max_examples=150, deadline=None)
@given(matrices, st.integers(0, 10), st.integers(0, 10))
def test_projection_keeps_the_largest_of_each_row_and_column(matrix, per_row, per_column):
    before = matrix.copy()
    found = project_rows_and_columns(matrix, per_row, per_column)
    assert_array_equal(found, largest_of_rows_and_columns(matrix, per_row, per_column))
    assert_array_equal(matrix, before)


@pytest.mark.parametrize(("per_row", "per_column"), [(1, 1), (3, 2), (7, 5), (20, 20), (2, 0)])
def test_projection_leaves_as_many_as_it_says(per_row, per_column):
    m, n = 9, 13
    matrix = np.random.default_rng(0).normal(size=(m, n))
    nnz = np.count_nonzero(project_rows_and_columns(matrix, per_row, per_column))
    rows, columns = m * min(per_row, n), n * min(per_column, m)
    assert max(rows, columns) <= nnz <= min(rows + columns, m * n)


def test_projection_takes_the_first_among_equals():
    found = project_rows_and_columns(np.ones((3, 4)), 2, 0)
    assert_array_equal(found, [[1, 1, 0, 0]] * 3)


@pytest.mark.parametrize(
    ("shape", "n"), [((64, 784), 9), ((256, 54), 8), ((64, 1024), 10), ((1, 1), 2), ((3, 5), 2)]
)
def test_number_of_factors_is_the_papers(shape, n):
    assert published_n_factors(shape) == n


def test_limits_of_a_chain_are_the_papers():
    assert chain_limits(chain_shapes((64, 784), 4), 5) == [(5, 5), (5, 5), (5, 5), (61, 5)]
    assert chain_limits(chain_shapes((256, 54), 3), 3) == [(3, 14), (3, 3), (3, 3)]
    assert chain_limits([(4, 9), (9, 6), (6, 30)], 2) == [(2, 1), (1, 2), (10, 2)]


def test_guaranteed_nonzeros_are_what_projections_leave_at_least():
    target = np.random.default_rng(0).normal(size=(10, 40))
    assert guaranteed_n_nonzeros((10, 40), 2, 4) == 2 * (10 + 2 * 10 + 40)
    assert guaranteed_n_nonzeros(target, 2, 4) == 140
    target[:, ::2] = 0
    assert guaranteed_n_nonzeros(target, 2, 4) == 100
    assert guaranteed_n_nonzeros(target, 99, 4) == 400
    found = hierarchical_palm4msa(target, n_factors=4, sparsity_level=2)
    assert found.nnz >= 100
