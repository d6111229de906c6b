"""Results of factorizations at any scale, and factors that are none."""

import numpy as np
import pytest
import scipy.sparse as sp

from polymeans.factorization import (
    Factorization,
    factorize,
    hierarchical_palm4msa,
    palm4msa,
    prune_and_grow,
    refit,
)


@pytest.mark.parametrize("scale", [1e-160, 1e-200, 1e-305])
def test_relative_errors_of_tiny_targets(scale):
    target = np.random.default_rng(0).normal(size=(8, 12))
    start = [np.eye(8), np.where(np.abs(target) > 1, target, 0.0) * scale]
    results = [
        lambda matrix: factorize(matrix, n_nonzeros=40, random_state=0),
        lambda matrix: factorize(matrix, n_nonzeros=60, n_factors=3, random_state=0),
        lambda matrix: palm4msa(matrix, n_factors=2, sparsity_level=2, max_iter=20),
        lambda matrix: hierarchical_palm4msa(matrix, n_factors=3, sparsity_level=2, max_iter=20),
        lambda matrix: refit(matrix, start),
        lambda matrix: prune_and_grow(matrix, start, 30, n_rounds=3),
    ]
    for result in results:
        found = result(target * scale)
        left = target - found.toarray() / scale
        expected = np.linalg.norm(left) / np.linalg.norm(target)
        assert expected > 0.01
        assert found.relative_error == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("factors", [5, 2.5, "ab", b"ab", {}, np.eye(3), sp.eye_array(3), None])
def test_factors_that_are_no_list_are_named(factors):
    functions = [lambda: refit(np.eye(3), factors), lambda: prune_and_grow(np.eye(3), factors, 4)]
    if factors is not None:
        functions.append(lambda: palm4msa(np.eye(3), factors=factors))
    for function in functions:
        with pytest.raises(TypeError, match="factors must be a list of two or more matrices"):
            function()


def test_factors_may_be_stacked():
    stacked = np.stack([np.eye(3), np.eye(3)])
    assert refit(2 * np.eye(3), stacked).relative_error == pytest.approx(0.0, abs=1e-9)


def test_a_result_made_by_hand_has_a_relative_error():
    made = Factorization((sp.csr_array(np.eye(2)),), np.array([4.0]), 1, 8.0)
    assert made.relative_error == 0.25
