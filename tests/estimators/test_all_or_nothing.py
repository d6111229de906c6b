"""A fit that fails or is interrupted leaves the estimator exactly as it was."""

import numpy as np
import pytest
import scipy.sparse as sp

from polymeans import (
    KhatriRaoKMeans,
    KMeans,
    L1KMeans,
    NonRedundantKMeans,
    QuickKMeans,
    TransformedKMeans,
)

MODELS = [
    KMeans(3, random_state=0),
    KhatriRaoKMeans((2, 2), random_state=0, effort=0.1),
    QuickKMeans(4, random_state=0),
    L1KMeans(3, random_state=0),
    NonRedundantKMeans((2, 2), random_state=0, effort=0.1),
    TransformedKMeans(3, random_state=0, n_init=1),
]


def rows(n_features):
    return np.random.default_rng(0).normal(size=(60, n_features)) + 3.0


def snapshot(model):
    return {name: (id(value), repr(value)) for name, value in vars(model).items()}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
@pytest.mark.parametrize("failure", ["weights", "nan", "interrupt"])
def test_a_failed_refit_changes_nothing(model, failure, monkeypatch):
    model.fit(rows(6))
    before, expected = snapshot(model), model.predict(rows(6))
    other, weights, error = rows(4), None, ValueError
    if failure == "weights":
        weights = -np.ones(60)
    elif failure == "nan":
        other[3, 1] = np.nan
    else:
        error = KeyboardInterrupt

        def interrupt(*arguments, **options):
            raise KeyboardInterrupt

        monkeypatch.setattr("polymeans._base.descend", interrupt)
    with pytest.raises(error):
        model.fit(other, sample_weight=weights)
    assert snapshot(model) == before
    np.testing.assert_array_equal(model.predict(rows(6)), expected)
    with pytest.raises(ValueError, match="features"):
        model.predict(other[:2] if failure != "nan" else rows(4)[:2])


def test_a_failed_first_fit_leaves_it_unfitted():
    model = KMeans(3)
    before = snapshot(model)
    with pytest.raises(ValueError, match="Negative"):
        model.fit(rows(4), sample_weight=-np.ones(60))
    assert snapshot(model) == before


def test_widths_never_disagree_after_a_failed_refit():
    wide = sp.random(40, 20000, 0.001, "csr", random_state=0)
    narrow = sp.random(60, 5, 0.5, "csr", random_state=1)
    model = KMeans(3, random_state=0).fit(wide)
    with pytest.raises(ValueError, match="Negative"):
        model.fit(narrow[:40], sample_weight=-np.ones(40))
    with pytest.raises(ValueError, match="features"):
        model.predict(narrow)
