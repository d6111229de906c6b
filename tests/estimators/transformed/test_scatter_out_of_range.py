"""Rows whose scatter float64 cannot hold are refused before anything is computed from it."""

import numpy as np
import pytest

from polymeans import TransformedKMeans


def test_large_rows_of_little_weight():
    rng = np.random.default_rng(0)
    X = 1e151 * rng.uniform(-1, 1, size=(18, 5))
    weights = 10.0 ** np.linspace(-46, -14, 18)
    model = TransformedKMeans(5, kernel="linear", embedding=None, random_state=0)
    with pytest.raises(ValueError, match="too large"):
        model.fit(X, sample_weight=weights)
    assert not hasattr(model, "labels_")
