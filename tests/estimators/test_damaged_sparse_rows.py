"""Sparse rows whose indices lead out of the matrix are refused before compiled code sees them."""

import numpy as np
import pytest
import scipy.sparse as sp

import polymeans
from polymeans import (
    KhatriRaoKMeans,
    KMeans,
    L1KMeans,
    NonRedundantKMeans,
    QuickKMeans,
    TransformedKMeans,
    label_features,
)
from polymeans.factorization import FastOperator
from polymeans.kernel_approximation import ClusterNystroem
from polymeans.metrics import centroid_quality
from polymeans.neighbors import ClusterNeighbors

N, D = 60, 30

MODELS = {
    "KMeans": KMeans(3, random_state=0),
    "cosine": KMeans(3, metric="cosine", random_state=0),
    "KhatriRao": KhatriRaoKMeans((2, 2), effort=0.1, random_state=0),
    "product": KhatriRaoKMeans((2, 2), aggregator="product", effort=0.1, random_state=0),
    "Quick": QuickKMeans(4, random_state=0),
    "L1": L1KMeans(3, random_state=0),
    "Transformed": TransformedKMeans(3, random_state=0),
    "NonRedundant": NonRedundantKMeans((2, 2), init="random", n_init=1, random_state=0),
}


def _index_too_large(X):
    X.indices[3] = 10**6


def _index_negative(X):
    X.indices[3] = -1


def _begins_late(X):
    X.indptr[0] = 2


def _decreases(X):
    X.indptr[5] = X.indptr[4] - 1


def _ends_too_late(X):
    X.indptr[-1] += 100


DAMAGES = [_index_too_large, _index_negative, _begins_late, _decreases, _ends_too_late]


def rows(kind="csr"):
    """Positive sparse rows."""
    return sp.random_array((N, D), density=0.3, format=kind, random_state=np.random.default_rng(0))


@pytest.fixture(scope="module")
def fitted():
    return {name: model.fit(rows()) for name, model in MODELS.items()}


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
@pytest.mark.parametrize("name", MODELS)
def test_every_method_of_every_estimator(name, damage, fitted):
    model, X = fitted[name], rows()
    before = model.predict(X)
    damage(X)
    for method in ("predict", "transform", "distances", "score", "fit", "partial_fit"):
        if hasattr(model, method):
            with pytest.raises(ValueError, match=r"indptr of the CSR rows|has the column index"):
                getattr(model, method)(X)
    np.testing.assert_array_equal(model.predict(rows()), before)


@pytest.mark.parametrize("damage", DAMAGES[1:], ids=lambda damage: damage.__name__)
def test_other_formats(damage, fitted):
    X = rows("csc")
    damage(X)
    with pytest.raises(ValueError, match=r"indptr of the CSC columns|has the row index"):
        fitted["KMeans"].predict(X)


@pytest.mark.parametrize("axis", [0, 1])
def test_triples(axis, fitted):
    X = rows("coo")
    X.coords[axis][7] = 1000
    with pytest.raises(ValueError, match=r"has the (row|column) index 1000, outside of"):
        fitted["KMeans"].predict(X)


def test_blocks_of_compressed_rows(fitted):
    X = sp.bsr_array(rows().toarray(), blocksize=(2, 3))
    np.testing.assert_array_equal(fitted["KMeans"].predict(X), fitted["KMeans"].predict(rows()))
    X.indices[2] = 10
    with pytest.raises(ValueError, match="has the column index 10, outside of the 10 columns"):
        fitted["KMeans"].predict(X)


FUNCTIONS = {
    "describe": lambda model, X: polymeans.describe(model, X),
    "report": lambda model, X: polymeans.report(model, X),
    "nearest_samples": lambda model, X: polymeans.nearest_samples(model, X, 2),
    "choose_n_clusters": lambda model, X: polymeans.choose_n_clusters(X, range(2, 4)),
    "compare": lambda model, X: polymeans.compare(X, 3, budget=1),
    "stability": lambda model, X: polymeans.stability(model, X, 2),
    "diagnose_structure": lambda model, X: polymeans.diagnose_structure(X, (2, 2)),
    "centroid_quality": lambda model, X: centroid_quality(X, model.cluster_centers_),
    "label_features": lambda model, X: label_features(rows(), X),
    "neighbors": lambda model, X: ClusterNeighbors(2).fit(X),
    "Nystroem": lambda model, X: ClusterNystroem(n_components=3).fit(X),
    "operator": lambda model, X: FastOperator([sp.csr_array(np.eye(D))]).nearest(X, np.zeros(D)),
    "factors": lambda model, X: FastOperator([X]),
}


@pytest.mark.parametrize("damage", DAMAGES[:2], ids=lambda damage: damage.__name__)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_that_take_rows(name, damage, fitted):
    X = rows()
    damage(X)
    with pytest.raises(ValueError, match="has the column index"):
        FUNCTIONS[name](fitted["KMeans"], X)
