"""Summaries of rows that searches work on."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from polymeans.search.summary import principal_axes


@pytest.mark.parametrize("shape", [(150, 400), (400, 150), (100, 1000)])
def test_principal_axes_are_axes(shape):
    rng = np.random.default_rng(0)
    for rank in (3, 60):
        rows = rng.normal(size=(shape[0], rank)) @ rng.normal(size=(rank, shape[1]))
        rows -= rows.mean(axis=0)
        basis = principal_axes(rows, rng)
        assert_allclose(basis @ basis.T, np.eye(len(basis)), atol=1e-8)
        assert_allclose(rows @ basis.T @ basis, rows, atol=1e-6 * np.abs(rows).max())
