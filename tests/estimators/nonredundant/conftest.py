"""Rows with two clusterings for the tests of NonRedundantKMeans."""

import pytest

from polymeans.datasets import make_nonredundant


@pytest.fixture(scope="session")
def easy():
    """Rows with views of three and four clusters, and their labels."""
    X, labels, _ = make_nonredundant(300, (3, 4), random_state=0)
    return X, labels
