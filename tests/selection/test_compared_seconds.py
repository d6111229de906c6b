"""Seconds that a comparison shows are those of the work, not of what a process loads once."""

from types import SimpleNamespace

import numpy as np

from polymeans import KMeans, compare
from polymeans.selection import comparing


def test_what_the_first_prediction_loads_does_not_count(monkeypatch):
    clock, predict = [0.0], KMeans.predict
    loading = [100.0]

    def slow_at_first(self, X):
        clock[0] += loading.pop() if loading else 1.0
        return predict(self, X)

    monkeypatch.setattr(KMeans, "predict", slow_at_first)
    monkeypatch.setattr(comparing, "time", SimpleNamespace(perf_counter=lambda: clock[0]))
    found = compare(np.random.default_rng(0).normal(size=(60, 3)), 4, n_runs=1, random_state=0)
    of_free = found.table_["structure"] == "KMeans"
    assert found.table_["predict_seconds"][of_free].tolist() == [1.0]
