"""scikit-learn's checks of every estimator; of further settings in the long run."""

import pytest
from sklearn.base import ClusterMixin
from sklearn.utils.estimator_checks import parametrize_with_checks

from polymeans import (
    KhatriRaoKMeans,
    KMeans,
    L1KMeans,
    NonRedundantKMeans,
    QuickKMeans,
    TransformedKMeans,
)
from polymeans.kernel_approximation import ClusterNystroem, HadamardNystroem
from polymeans.neighbors import (
    ClusterKNeighborsClassifier,
    ClusterKNeighborsRegressor,
    ClusterNeighbors,
)

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore:sparsity_level:UserWarning"),
    # One check casts NaN among its targets to integers.
    pytest.mark.filterwarnings("ignore:invalid value encountered in cast:RuntimeWarning"),
]


def expected_failures(estimator):
    """Those scikit-learn marks for its own KMeans.

    Rows of weight zero and repeated rows change which random numbers meet which rows.
    """
    if not isinstance(estimator, ClusterMixin):
        return {}
    return {
        f"check_sample_weight_equivalence_on_{kind}_data": "seeding draws rows by position"
        for kind in ("dense", "sparse")
    }


@parametrize_with_checks(
    [
        KMeans(),
        KhatriRaoKMeans(effort=0.05),
        NonRedundantKMeans(effort=0.05),
        TransformedKMeans(n_init=2),
        QuickKMeans(effort=0.2),
        L1KMeans(),
        ClusterNeighbors(clusterer=KMeans(3, random_state=0)),
        ClusterKNeighborsClassifier(),
        ClusterKNeighborsRegressor(),
        ClusterNystroem(n_components=5),
        HadamardNystroem(n_components=5),
    ],
    expected_failed_checks=expected_failures,
)
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


@pytest.mark.long
@parametrize_with_checks(
    [
        KhatriRaoKMeans((2, 2), aggregator="product", effort=0.05),
        NonRedundantKMeans(3, effort=0.05),
        NonRedundantKMeans(whiten=True, effort=0.05),
        TransformedKMeans(embedding=None, refine="exchange"),
        TransformedKMeans(kernel="rbf", init="mixed"),
        QuickKMeans(centers="means"),
        ClusterNeighbors(n_neighbors=2),
        ClusterKNeighborsClassifier(n_probe="exact", weights="distance"),
        ClusterNystroem("poly", clusterer=KMeans(3, random_state=0)),
        HadamardNystroem("cosine", n_components=9, seeds="k-means"),
    ],
    expected_failed_checks=expected_failures,
)
def test_scikit_learn_conventions_of_further_settings(estimator, check):
    check(estimator)
