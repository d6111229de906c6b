"""Features whose inner products approximate a kernel, by way of landmarks (Nyström's method)."""

import warnings
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_array, check_is_fitted

from polymeans._base import is_name
from polymeans._validation import (
    check_choice,
    check_integer,
    check_n_threads,
    check_positive,
    check_real,
    check_rows,
)
from polymeans.core.threads import Threads
from polymeans.landmarks.landmarks import (
    HadamardLandmarks,
    Landmarks,
    fitted_clusterer,
    squared_norms,
)

#: Kernels that depend on two rows through their inner product and their norms alone.
KERNELS = ("rbf", "linear", "polynomial", "poly", "sigmoid", "cosine")

SEEDS = ("uniform", "k-means")

#: Rows whose kernel values are held at a time, and those one thread multiplies at a time.
_BLOCK, _PIECE = 4096, 512

#: Squared norms whose inner products float32 holds for certain.
_SMALLEST, _LARGEST = 1e-24, 1e30

#: Error of an exponent that rounding may cause.
_BLUR = 1e-4


class LandmarkFeatures(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Base of the transformers here: kernels, and what follows once there are landmarks.

    Subclasses give ``_find_landmarks(X)``, with ``centers``, ``squares`` and ``products(X)``.
    """

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find landmarks and what makes features of the kernel values with them.

        Parameters
        ----------
        X : {array-like, CSR matrix or array} of shape (n_samples, n_features)
            Rows like those to be transformed.
        y : Ignored
            Present by convention.

        Returns
        -------
        self : estimator
            Fitted estimator.
        """
        self._check_parameters()
        X = check_rows(self, X, reset=True)
        if self.n_components > X.shape[0] and self._limited_by_rows():
            warnings.warn(
                f"n_components={self.n_components} is more than n_samples={X.shape[0]}, which is "
                "not possible. It was set to n_samples.",
                UserWarning,
                stacklevel=2,
            )
        self.gamma_ = self._find_gamma(X)
        self._landmarks = self._find_landmarks(X)
        self.components_ = self._landmarks.centers
        exact = self.components_.astype(np.float64)
        roots = _inverse_root(self.kernel_values(exact), np.finfo(X.dtype).eps)
        self.normalization_ = roots.astype(X.dtype)
        return self

    def transform(self, X: Any) -> NDArray[Any]:
        """Features of rows: their kernel values with the landmarks, times ``normalization_``.

        Parameters
        ----------
        X : {array-like, CSR matrix or array} of shape (n_samples, n_features)
            Rows to transform.

        Returns
        -------
        features : ndarray of shape (n_samples, n_landmarks)
            Their inner products approximate the kernel.
        """
        check_is_fitted(self)
        X = check_rows(self, X, reset=False)
        out = np.empty((X.shape[0], len(self.components_)), dtype=X.dtype)
        normalization = self.normalization_.astype(X.dtype, copy=False)
        # BLAS with one thread for each piece: the same bits for any number of threads.
        with Threads(self.n_threads, one_blas_thread=True) as threads:
            for lo in range(0, X.shape[0], _BLOCK):
                block = out[lo : lo + _BLOCK]
                with np.errstate(over="ignore"):
                    values = self._values_with_landmarks(X[lo : lo + _BLOCK])
                    values = self._finite(values.astype(X.dtype, copy=False))
                pieces = [slice(i, i + _PIECE) for i in range(0, len(values), _PIECE)]
                _multiply(threads, pieces, values, normalization, block)
        return out

    def kernel_values(self, X: Any, Y: Any = None) -> NDArray[np.float64]:
        """The kernel itself between all rows of two sets, in float64.

        Parameters
        ----------
        X : {ndarray, CSR matrix or array} of shape (n, n_features)
            Rows.
        Y : {ndarray, CSR matrix or array} of shape (m, n_features), default=None
            Rows; None: X.

        Returns
        -------
        values : ndarray of shape (n, m)
            One for each pair of rows.
        """
        Y = X if Y is None else Y
        if callable(self.kernel):
            return self._called(X, Y)
        X, Y = X.astype(np.float64, copy=False), Y.astype(np.float64, copy=False)
        with np.errstate(over="ignore", invalid="ignore"):
            products = X @ Y.T
            if sp.issparse(products):
                products = products.toarray()
            values = self._kernel(np.asarray(products), squared_norms(X), squared_norms(Y))
        return self._finite(values)

    def _finite(self, values: NDArray[Any]) -> NDArray[Any]:
        if np.isfinite(values).all():
            return values
        raise ValueError(
            f"Values of kernel={self.kernel!r} with gamma={self.gamma_:g} are beyond the range of "
            f"{values.dtype} for these rows X. Divide all rows by a number, or give a smaller "
            "gamma or degree."
        )

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def __sklearn_tags__(self) -> Any:
        """Tags: sparse rows are welcome."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    # --- kernels -----------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        if not callable(self.kernel):
            remedy = (
                "Other kernels are no functions of inner products, which is what makes landmarks "
                "fast; give a function of two sets of rows to use one all the same."
            )
            check_choice("kernel", self.kernel, KERNELS, remedy)
        if self.gamma is not None and not is_name(self.gamma, "mean"):
            check_positive("gamma", self.gamma, 'Or use "mean", or None for 1 / n_features.')
        if self.coef0 is not None:
            check_real("coef0", self.coef0, -np.inf)
        if self.degree is not None:
            check_integer("degree", self.degree, 1)
        if self.kernel_params is not None and not callable(self.kernel):
            raise ValueError(
                f"kernel_params={self.kernel_params!r} is for kernels that are functions, but "
                f"kernel={self.kernel!r}. Use gamma, coef0 and degree."
            )
        check_integer("n_components", self.n_components, 1)
        check_n_threads(self.n_threads)

    def _find_gamma(self, X: Any) -> float:
        if self.gamma is None:
            return 1.0 / X.shape[1]
        if not is_name(self.gamma, "mean"):
            return float(self.gamma)
        # Over all pairs, |x - y|² has mean 2 (E|x|² - |Ex|²).
        mean = np.asarray(X.mean(axis=0, dtype=np.float64)).ravel()
        if sp.issparse(X):
            spread = float(squared_norms(X).mean() - mean @ mean)
        else:
            spread = float(np.square(X - mean).sum(axis=1).mean())
        return 1.0 / (2.0 * spread) if spread > 0 else 1.0

    def _values_with_landmarks(self, X: Any) -> NDArray[np.float64]:
        if callable(self.kernel):
            return self._called(X, self.components_)
        squares = squared_norms(X)
        largest = squares.max(initial=0.0)
        if not np.isfinite(largest):
            raise ValueError(
                "X has rows whose squared norm is beyond float64. Divide all rows by a number."
            )
        # float32 would lose the products, or what is left of distances far from the origin.
        blur = self.gamma_ * largest * np.finfo(X.dtype).eps if self.kernel == "rbf" else 0.0
        if not _SMALLEST <= largest <= _LARGEST or blur > _BLUR:
            X = X.astype(np.float64, copy=False)
        products = self._landmarks.products(X, self.n_threads).astype(np.float64, copy=False)
        return self._kernel(products, squares, self._landmarks.squares)

    def _called(self, X: Any, Y: Any) -> NDArray[np.float64]:
        shape = (X.shape[0], Y.shape[0])
        values = np.asarray(self.kernel(X, Y, **(self.kernel_params or {})), dtype=np.float64)
        if values.shape != shape or not np.isfinite(values).all():
            raise ValueError(
                f"kernel must return finite values for all pairs of rows, shape {shape}, got shape "
                f"{values.shape}{'' if values.shape != shape else ' with NaN or infinity'}."
            )
        return values

    def _kernel(
        self,
        products: NDArray[np.float64],
        x_squares: NDArray[np.float64],
        y_squares: NDArray[np.float64],
    ) -> NDArray[np.float64]:
        """Kernel values from inner products, which they may overwrite."""
        if self.kernel == "linear":
            return products
        if self.kernel == "rbf":
            products *= -2.0
            products += x_squares[:, None] + y_squares
            np.maximum(products, 0.0, out=products)
            products *= -self.gamma_
            return np.exp(products, out=products)
        if self.kernel == "cosine":
            lengths = np.sqrt(x_squares)[:, None] * np.sqrt(y_squares)
            return np.divide(products, lengths, out=np.zeros_like(products), where=lengths > 0)
        products *= self.gamma_
        products += 1.0 if self.coef0 is None else self.coef0
        if self.kernel == "sigmoid":
            return np.tanh(products, out=products)
        return products ** (3 if self.degree is None else self.degree)


class ClusterNystroem(LandmarkFeatures):
    """Kernel features by Nyström's method, with centroids as landmarks.

    **Idea.** A kernel matrix is approximated from the kernel values of all rows with few landmarks,
    ``K ~ C W⁺ C'``, W being the values among the landmarks. Centroids are better landmarks than
    rows drawn at random. For kernels ``f(x) f(y) g(x'y)`` all that is needed of the landmarks are
    inner products with them, so a clusterer with a fast operator, as
    :class:`polymeans.QuickKMeans`, makes features at its number of multiplications.

    **Use when** a kernel method is too slow for the number of rows: a linear model on these
    features is close to a kernel machine.

    **Do not use when** there are few rows (use the kernel itself), or when rows have few features:
    the features then cost little to begin with.

    **Cost.** Fitting: the clustering, and ``n_components³`` for a decomposition of W. A row: its
    inner products with the landmarks, and ``n_components²``.

    Parameters
    ----------
    kernel : {"rbf", "linear", "polynomial", "poly", "sigmoid", "cosine"} or callable, default="rbf"
        As in :func:`sklearn.metrics.pairwise.pairwise_kernels`. A function of two sets of rows that
        returns the values of all pairs works too, without the fast operator.
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
        Landmarks the default clusterer finds.
    clusterer : estimator or None, default=None
        With ``predict`` and ``cluster_centers_``; brings its own number of landmarks. One that is
        fitted is used as it is, one that is not is cloned and fitted. None: a
        :class:`polymeans.QuickKMeans` with ``n_components`` clusters.
    random_state : int, RandomState instance or None, default=None
        Of the default clusterer.
    n_threads : int or None, default=None
        Threads to use; resolved anew in each call. None: all cores, or one inside a joblib worker.
        -1: all cores.

    Attributes
    ----------
    components_ : ndarray of shape (n_landmarks, n_features)
        Landmarks: what the clusterer's operator stands for, or its centroids.
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
    left out: they would be rounding errors, blown up. (The paper sets singular values below 1e-12
    to that.) "sigmoid" is no kernel in the strict sense; its negative part is left out as well.

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
            # Landmarks that are there twice do no harm.
            warnings.simplefilter("ignore", ConvergenceWarning)
            self.clusterer_ = fitted_clusterer(self.clusterer, lambda: self._default(X), X)
        return Landmarks(self.clusterer_)

    def _default(self, X: Any) -> Any:
        from polymeans.quick import QuickKMeans

        n_clusters = min(int(self.n_components), X.shape[0])
        return QuickKMeans(n_clusters, random_state=self.random_state, n_threads=self.n_threads)


class HadamardNystroem(LandmarkFeatures):
    """Kernel features by Nyström's method, with landmarks that a Hadamard transform makes.

    **Idea.** Si, Hsieh and Dhillon's: landmarks are blocks ``H D_v``, a Hadamard matrix times a
    seed ``v`` on a diagonal, i.e. the seed with all sign patterns that the rows of H have. Inner
    products of a row with a whole block take one fast transform. Rows are padded with zeros to a
    power of two.

    **Use when** you want to compare :class:`ClusterNystroem` with a transform that is not learned.

    **Do not use when** you want good features: data seldom are symmetric under changes of sign,
    so most landmarks lie where no rows are, and the approximation is poor.

    **Cost.** A row: ``D log2 D`` additions for each block of D landmarks, D being the padded number
    of features, and ``n_components²`` multiplications.

    Parameters
    ----------
    kernel : {"rbf", "linear", "polynomial", "poly", "sigmoid", "cosine"} or callable, default="rbf"
        See :class:`ClusterNystroem`.
    gamma : float, "mean" or None, default=None
        See :class:`ClusterNystroem`.
    coef0 : float or None, default=None
        Of "polynomial" and "sigmoid". None: 1.
    degree : int or None, default=None
        Of "polynomial". None: 3.
    kernel_params : dict or None, default=None
        Further arguments of a kernel that is a function.
    n_components : int, default=100
        Number of landmarks. One seed makes a block of D; of the last block, the seed itself and
        others drawn at random are used until there are enough.
    seeds : {"uniform", "k-means"} or array-like of shape (n_seeds, n_features), default="uniform"
        Rows drawn at random, or centroids; "Un. F-Nys" and "K. F-Nys" in the paper on QuicK-means.
    random_state : int, RandomState instance or None, default=None
        Determines seeds and the rows of the last block.
    n_threads : int or None, default=None
        Threads to use; resolved anew in each call.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Landmarks.
    seeds_ : ndarray of shape (n_blocks, n_features)
        The seeds.
    normalization_ : ndarray of shape (n_components, n_components)
        ``W`` to the power of -1/2 where W is clearly above zero, zero elsewhere.
    gamma_ : float
        Coefficient of the kernel.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during fit, where X has string names.

    References
    ----------
    S. Si, C.-J. Hsieh, I. Dhillon, "Computationally efficient Nyström approximation using fast
    transforms", ICML 2016; equation (14) in the paper on QuicK-means.

    Examples
    --------
    >>> import numpy as np
    >>> from polymeans.kernel_approximation import HadamardNystroem
    >>> X = np.array([[1.0, 2.0, 3.0], [0.0, 1.0, 1.0]])
    >>> model = HadamardNystroem(n_components=4, seeds=X[:1]).fit(X)
    >>> model.components_
    array([[ 1.,  2.,  3.],
           [ 1., -2.,  3.],
           [ 1.,  2., -3.],
           [ 1., -2., -3.]])
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
        seeds: Any = "uniform",
        random_state: Any = None,
        n_threads: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.coef0 = coef0
        self.degree = degree
        self.kernel_params = kernel_params
        self.n_components = n_components
        self.seeds = seeds
        self.random_state = random_state
        self.n_threads = n_threads

    def _limited_by_rows(self) -> bool:
        return False

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if isinstance(self.seeds, str):
            check_choice("seeds", self.seeds, SEEDS, "Or give an array.")

    def _find_landmarks(self, X: Any) -> HadamardLandmarks:
        rng = check_random_state(self.random_state)
        size = 1 << (X.shape[1] - 1).bit_length()
        n_blocks = -(-int(self.n_components) // size)
        self.seeds_ = self._find_seeds(X, n_blocks, rng)
        n_last = int(self.n_components) - (n_blocks - 1) * size
        last = np.sort(rng.permutation(size - 1)[: n_last - 1] + 1)
        picks = [np.arange(size)] * (n_blocks - 1) + [np.concatenate([[0], last])]
        return HadamardLandmarks(self.seeds_, picks, size)

    def _find_seeds(self, X: Any, n_blocks: int, rng: Any) -> NDArray[Any]:
        if is_name(self.seeds, "uniform"):
            drawn = rng.choice(X.shape[0], n_blocks, replace=n_blocks > X.shape[0])
            return X[drawn].toarray() if sp.issparse(X) else X[drawn]
        if is_name(self.seeds, "k-means"):
            from polymeans.kmeans import KMeans

            n_clusters = min(n_blocks, X.shape[0])
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                model = KMeans(n_clusters, random_state=rng, n_threads=self.n_threads).fit(X)
            return model.cluster_centers_[np.arange(n_blocks) % n_clusters]
        seeds = check_array(self.seeds, dtype=X.dtype, input_name="seeds")
        if seeds.shape[0] < n_blocks or seeds.shape[1] != X.shape[1]:
            raise ValueError(
                f"seeds must have {X.shape[1]} columns, one for each feature, and at least "
                f"{n_blocks} rows for n_components={self.n_components}, got shape {seeds.shape}."
            )
        return seeds[:n_blocks]


def nystroem_error(
    X: ArrayLike, transformer: Any, *, n_samples: int | None = None, random_state: Any = None
) -> float:
    """Relative error of the kernel matrix that features stand for: ``|K - ZZ'| / |K|``.

    Parameters
    ----------
    X : {array-like, CSR matrix or array} of shape (n, n_features)
        Rows.
    transformer : estimator
        Fitted :class:`ClusterNystroem`, :class:`HadamardNystroem` or
        :class:`sklearn.kernel_approximation.Nystroem`.
    n_samples : int or None, default=None
        Rows to draw, because all pairs are compared; None: all of them. The paper draws 5000.
    random_state : int, RandomState instance or None, default=None
        Determines the draw.

    Returns
    -------
    error : float
        In Frobenius norm; 0 where K is zero.

    Examples
    --------
    >>> import numpy as np
    >>> from polymeans.kernel_approximation import nystroem_error
    >>> from sklearn.kernel_approximation import Nystroem
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> round(nystroem_error(X, Nystroem(n_components=50, random_state=0).fit(X)), 6)
    0.0
    """
    X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32])
    if n_samples is not None:
        check_integer("n_samples", n_samples, 1)
        if n_samples < X.shape[0]:
            rng = check_random_state(random_state)
            X = X[np.sort(rng.choice(X.shape[0], n_samples, replace=False))]
    if hasattr(transformer, "kernel_values"):
        kernel = transformer.kernel_values
    else:

        def kernel(A: Any, B: Any) -> NDArray[np.float64]:
            parameters = transformer._get_kernel_params()
            metric = transformer.kernel
            return pairwise_kernels(A, B, metric=metric, filter_params=True, **parameters)

    Z = np.asarray(transformer.transform(X), dtype=np.float64)
    X = X.astype(np.float64, copy=False)
    wrong = total = 0.0
    for lo in range(0, X.shape[0], _BLOCK):
        K = kernel(X[lo : lo + _BLOCK], X)
        total += float(np.sum(K * K))
        wrong += float(np.sum((K - Z[lo : lo + _BLOCK] @ Z.T) ** 2))
    return float(np.sqrt(wrong / total)) if total > 0 else 0.0


def _multiply(threads: Threads, pieces: list[slice], A: Any, B: Any, out: NDArray[Any]) -> None:
    threads.map(lambda piece: np.matmul(A[piece], B, out=out[piece]), pieces)


def _inverse_root(W: NDArray[np.float64], precision: float) -> NDArray[np.float64]:
    """``W`` to the power of -1/2, directions without a clearly positive eigenvalue left out."""
    values, vectors = np.linalg.eigh((W + W.T) / 2)
    # W itself is float64: what remains are the errors of the values it will be multiplied with.
    rounding = len(W) * np.finfo(np.float64).eps
    clear = values > max(precision, rounding) * np.abs(values).max()
    scale = np.where(clear, 1.0 / np.sqrt(np.where(clear, values, 1.0)), 0.0)
    return (vectors * scale) @ vectors.T
