"""What every fit of TransformedKMeans must fulfil."""

import numpy as np
from numpy.testing import assert_array_equal

EMBEDDINGS = ["cut", "svd", None]


def same_bits(one, other):
    for name in ("labels_", "cluster_centers_", "centroids_in_space_"):
        assert_array_equal(getattr(one, name), getattr(other, name))
    for name in ("objective_", "log_det_", "inertia_", "rho_", "n_iter_"):
        assert getattr(one, name) == getattr(other, name)
    assert_array_equal(one.history_["inertia"], other.history_["inertia"])


def assert_sound(model, X, k):
    """Shapes agree, and everything is a number."""
    n, d = X.shape
    assert model.labels_.shape == (n,)
    assert model.labels_.dtype == np.int32
    assert model.labels_.min() >= 0
    assert model.labels_.max() < k
    assert model.cluster_centers_.shape == (k, d)
    for name in ("objective_", "log_det_", "inertia_", "rho_", "lam_", "mu_", "discarded_"):
        assert np.isfinite(getattr(model, name)), name
    for value in (model.cluster_centers_, model.history_["inertia"]):
        assert np.isfinite(value).all()
    assert -1e-12 <= model.discarded_ <= 1 + 1e-12
    assert model.rho_ > 0
    if len(np.unique(model.labels_)) == k:
        assert_array_equal(model.predict(X), model.labels_)
    if model.solver != "cg":
        Z = model.transform(X)
        assert Z.shape == (n, model.n_components_)
        assert model.centroids_in_space_.shape == (k, model.n_components_)
        assert np.isfinite(Z).all()
        assert np.isfinite(model.centroids_in_space_).all()
