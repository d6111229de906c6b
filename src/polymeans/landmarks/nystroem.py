"""Nyström features with centroids as landmarks."""

import warnings
from typing import Any

from sklearn.exceptions import ConvergenceWarning

from polymeans.landmarks.kernel_features import LandmarkFeatures
from polymeans.landmarks.landmarks import Landmarks, fitted_clusterer


class ClusterNystroem(LandmarkFeatures):
    """Kernel features by Nyström's method, with centroids as landmarks.

    **Idea.** A kernel matrix is approximated from the kernel values of all rows with few landmarks,
    ``K ~ C W⁺ C'``, W being the values among the landmarks. Centroids are better landmarks than
    rows drawn at random. Kernels ``f(x) f(y) g(x'y)`` need only inner products with the landmarks,
    so with a clusterer that has a fast operator, such as :class:`polymeans.QuickKMeans`, a row
    takes as many multiplications as the operator has non-zeros.

    **Use when** a kernel method is too slow for the number of rows: a linear model on these
    features is close to a kernel machine.

    **Do not use when** there are few rows (use the kernel itself). With few features, a fast
    operator saves little.

    **Cost.** Fitting: the clustering, and ``n_components³`` for a decomposition of W. A row: its
    inner products with the landmarks, and ``n_components²``.

    Parameters
    ----------
    kernel : {"rbf", "linear", "polynomial", "poly", "sigmoid", "cosine"} or callable, default="rbf"
        As in :func:`sklearn.metrics.pairwise.pairwise_kernels`. A function of two sets of rows that
        returns the values of all pairs works too, without fast inner products.
    gamma : float, "mean" or None, default=None
        Of "rbf", "polynomial" and "sigmoid". None: ``1 / n_features``, as in
        :class:`sklearn.kernel_approximation.Nystroem`. "mean": one over the mean squared distance
        of all pairs of rows, which suits "rbf" for rows of any scale.
    coef0 : float or None, default=None
        Of "polynomial" and "sigmoid". None: 1.
    degree : int or None, default=None
        Of "polynomial". None: 3.
    kernel_params : dict or None, default=None
        Further arguments of a kernel that is a function.
    n_components : int, default=100
        Number of landmarks.
    clusterer : estimator or None, default=None
        With ``predict`` and ``cluster_centers_``; its number of clusters is that of the landmarks.
        One that is fitted is used as it is, one that is not is cloned and fitted. None: a
        :class:`polymeans.QuickKMeans` with ``n_components`` clusters.
    random_state : int, RandomState instance or None, default=None
        Determines all random draws. An integer makes results repeatable.
    n_threads : int or None, default=None
        Threads to use; the result does not depend on it. Resolved anew in each call. None: all
        cores, or one inside a joblib worker. -1: all cores.

    Attributes
    ----------
    components_ : ndarray of shape (n_landmarks, n_features)
        Landmarks: the matrix that the clusterer's operator represents, or its centroids.
    normalization_ : ndarray of shape (n_landmarks, n_landmarks)
        ``W`` to the power of -1/2 where W is clearly above zero, zero elsewhere.
    gamma_ : float
        Coefficient of the kernel.
    clusterer_ : estimator
        The fitted clusterer.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during fit, where X has string names.

    See Also
    --------
    HadamardNystroem : Landmarks with a fixed fast transform, for comparison.
    sklearn.kernel_approximation.Nystroem : Rows drawn at random as landmarks, all kernels.

    Notes
    -----
    Directions in which W is below ``n_landmarks`` units of rounding of its largest eigenvalue are
    left out: dividing by such values would enlarge rounding errors. (The paper raises singular
    values below 1e-12 to that.) "sigmoid" is not positive definite; its negative part is left out
    as well.

    References
    ----------
    L. Giffon, V. Emiya, H. Kadri, L. Ralaivola, "QuicK-means: accelerating inference for K-means by
    learning fast transforms", Machine Learning 110, 2021.

    S. Si, C.-J. Hsieh, I. Dhillon, "Computationally efficient Nyström approximation using fast
    transforms", ICML 2016.

    Examples
    --------
    >>> from polymeans import KMeans
    >>> from polymeans.kernel_approximation import ClusterNystroem, nystroem_error
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> model = ClusterNystroem(gamma="mean", clusterer=KMeans(64, random_state=0)).fit(X)
    >>> model.transform(X).shape
    (1797, 64)
    >>> nystroem_error(X, model) < 0.1
    True
    """

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        gamma: Any = None,
        coef0: float | None = None,
        degree: int | None = None,
        kernel_params: dict[str, Any] | None = None,
        n_components: int = 100,
        clusterer: Any = None,
        random_state: Any = None,
        n_threads: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.coef0 = coef0
        self.degree = degree
        self.kernel_params = kernel_params
        self.n_components = n_components
        self.clusterer = clusterer
        self.random_state = random_state
        self.n_threads = n_threads

    def _limited_by_rows(self) -> bool:
        return self.clusterer is None

    def _find_landmarks(self, X: Any) -> Landmarks:
        with warnings.catch_warnings():
            # Equal landmarks do no harm.
            warnings.simplefilter("ignore", ConvergenceWarning)
            self.clusterer_ = fitted_clusterer(self.clusterer, lambda: self._default(X), X)
        return Landmarks(self.clusterer_)

    def _landmarks_again(self) -> Landmarks:
        return Landmarks(self.clusterer_)

    def _default(self, X: Any) -> Any:
        from polymeans.quick import QuickKMeans

        n_clusters = min(int(self.n_components), X.shape[0])
        return QuickKMeans(n_clusters, random_state=self.random_state, n_threads=self.n_threads)
