"""What a recorded fit is known by: equal for equal values, in any process."""

from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.preprocessing import StandardScaler

from polymeans.engine.digests import digest


class Plain:
    """Writes its address."""

    def __call__(self):
        return None


@pytest.mark.parametrize(
    ("one", "same"),
    [
        (np.random.RandomState(0), np.random.RandomState(1)),
        (Plain(), Plain()),
        (partial(max, 1), partial(max, 1)),
        (partial(Plain(), 1), partial(Plain(), 1)),
        (np.int64(3), 3),
        ([np.arange(3), None], [np.arange(3), None]),
        ({"b": 1, "a": Plain()}, {"a": Plain(), "b": 1}),
        (sp.csr_array(np.eye(3)), sp.csc_array(np.eye(3))),
        (StandardScaler(), StandardScaler()),
    ],
)
def test_what_counts_as_the_same(one, same):
    assert digest(one) == digest(same)
    assert "0x" not in digest(one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (max, min),
        (partial(max, 1), partial(max, 2)),
        (np.arange(3), np.arange(3.0)),
        ((3, 2), (2, 3)),
        ([np.arange(3)], [np.arange(1, 4)]),
        (True, 1),
        ("3", 3.0),
        (sp.csr_array(np.eye(3)), sp.csr_array(2 * np.eye(3))),
        ({"a": 1}, {"a": 2}),
        (StandardScaler(), StandardScaler(with_mean=False)),
    ],
)
def test_what_counts_as_different(one, other):
    assert digest(one) != digest(other)
