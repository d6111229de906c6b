"""Whitening of rows near the largest number, whose spread rounding hides."""

import numpy as np
import pytest

from polymeans import NonRedundantKMeans


@pytest.mark.filterwarnings("ignore:Fewer distinct clusters")
def test_rows_of_next_to_no_weight_far_from_the_others():
    X = np.array([[-3e38], [0.0], [0.0], [2e38]], dtype=np.float32)
    weights = np.array([6e-28, 2e-43, 3e-52, 1e-80])
    model = NonRedundantKMeans((4,), whiten=True, random_state=77).fit(X, sample_weight=weights)
    assert np.isfinite(model.inertia_)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
