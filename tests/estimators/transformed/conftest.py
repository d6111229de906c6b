"""Rows and documents for the tests of TransformedKMeans."""

import numpy as np
import pytest

from polymeans.datasets import make_documents


@pytest.fixture(scope="session")
def rows():
    """Three clusters that share a covariance, and labels with errors to start from."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 150)
    X = 4 * rng.normal(size=(3, 5))[labels] + rng.normal(size=(150, 5)) @ rng.normal(size=(5, 5))
    return X, np.where(rng.random(150) < 0.15, (labels + 1) % 3, labels)


@pytest.fixture(scope="session")
def text():
    """Documents of three topics, and labels with errors to start from."""
    X, topics = make_documents(120, 300, n_topics=3, length=20, overlap=0.3, random_state=0)
    return X, np.where(np.random.default_rng(0).random(120) < 0.15, (topics + 1) % 3, topics)
