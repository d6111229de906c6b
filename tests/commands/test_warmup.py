"""warmup: small fits of every estimator and container."""

from collections import Counter

import numpy as np
import scipy.sparse as sp

from polymeans.commands import warmup
from polymeans.commands.estimators import STRUCTURES


def test_every_estimator_container_and_type_is_exercised():
    found = Counter(
        (type(estimator).__name__, sp.issparse(rows), np.dtype(rows.dtype).name)
        for _, estimator, rows in warmup.problems()
    )
    for kind in STRUCTURES.values():
        for is_sparse in (False, True):
            for dtype in ("float32", "float64"):
                assert found[kind, is_sparse, dtype]


def test_a_problem_can_be_solved():
    name, estimator, rows = next(warmup.problems())
    assert "KMeans" in name
    warmup.exercise(estimator, rows)
    assert not hasattr(estimator, "labels_")  # a copy was fitted
