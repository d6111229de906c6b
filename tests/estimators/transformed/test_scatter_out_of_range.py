"""Rows whose scatter float64 cannot hold are refused before anything is computed from it."""

import numpy as np
import pytest
import scipy.sparse as sp

from polymeans import TransformedKMeans


def test_large_rows_of_little_weight():
    rng = np.random.default_rng(0)
    X = 1e151 * rng.uniform(-1, 1, size=(18, 5))
    weights = 10.0 ** np.linspace(-46, -14, 18)
    model = TransformedKMeans(5, kernel="linear", embedding=None, random_state=0)
    with pytest.raises(ValueError, match="too large"):
        model.fit(X, sample_weight=weights)
    assert not hasattr(model, "labels_")


def test_a_huge_row_beside_tiny_rows_that_were_fitted():
    X = sp.csr_array(np.float32(1e-26) * np.eye(3, 6, dtype=np.float32))
    model = TransformedKMeans(2, metric="auto", random_state=0).fit(X)
    far = sp.csr_array(np.full((1, 6), 1e37, dtype=np.float32))
    labels = model.predict(sp.vstack([X, far], format="csr"))
    np.testing.assert_array_equal(labels[:-1], model.labels_)
