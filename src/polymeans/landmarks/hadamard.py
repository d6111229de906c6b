"""Landmarks made from few seeds by a Hadamard matrix, and Nyström features with them."""

import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_array

from polymeans._validation import check_choice, check_seed, errors_that_name, is_name
from polymeans.core.norms import squared_norms
from polymeans.core.threads import Threads, product_blocks
from polymeans.landmarks.kernel_features import LandmarkFeatures

SEEDS = ("uniform", "k-means")


def padded(n_features: int) -> int:
    """Size of the Hadamard matrix for rows of so many features: the next power of two."""
    return 1 << (n_features - 1).bit_length()


class HadamardLandmarks:
    """Landmarks ``H D_v``, block by block: a seed ``v`` with the signs of a Hadamard matrix's rows.

    Parameters
    ----------
    seeds : ndarray of shape (n_blocks, n_features)
    picks : list of ndarray
        Rows of H in each block.
    size : int
        Of H, see :func:`padded`.
    """

    def __init__(self, seeds: NDArray[Any], picks: list[NDArray[np.int64]], size: int) -> None:
        from polymeans.kernels import hadamard

        self.seeds, self.picks, self.size = np.ascontiguousarray(seeds), picks, size
        blocks = []
        for seed, rows in zip(self.seeds, picks):
            block = np.empty((len(rows), len(seed)), dtype=seeds.dtype)
            hadamard.signs(rows, block)
            blocks.append(block * seed)
        self.centers = np.concatenate(blocks)
        self.squares = squared_norms(self.centers)

    def products(self, X: Any, n_threads: int | None = None) -> NDArray[Any]:
        """Inner products of rows with all landmarks."""
        from polymeans.kernels import hadamard

        out = np.empty((X.shape[0], len(self.centers)), dtype=X.dtype)

        def transform(block: tuple[int, int]) -> None:
            part = X[slice(*block)]
            part = part.toarray() if sp.issparse(part) else part
            work = np.empty((self.size, hadamard.SIDE_BY_SIDE), dtype=X.dtype)
            start = 0
            for seed, rows in zip(self.seeds.astype(X.dtype, copy=False), self.picks):
                wanted = out[slice(*block), start : start + len(rows)]
                hadamard.signed_sums(part, seed, rows, 0, len(part), wanted, work)
                start += len(rows)

        with Threads(n_threads) as threads:
            threads.map(transform, product_blocks(X.shape[0]))
        return out


class HadamardNystroem(LandmarkFeatures):
    """Kernel features by Nyström's method, with landmarks made by a Hadamard transform.

    **Idea.** After Si, Hsieh and Dhillon, landmarks are blocks ``H D_v``, a Hadamard matrix times a
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
    seeds : {"uniform", "k-means"} or array-like of shape (n_seeds, n_features), default="uniform"
        Rows drawn at random, or centroids; "Un. F-Nys" and "K. F-Nys" in the paper on QuicK-means.
        One seed makes a block of D landmarks; of the last block, the seed itself and others drawn
        at random are used until there are ``n_components``. A single block has the centroid of the
        larger one of two clusters: one cluster's would be the mean of all rows, which is zero for
        centered rows.
    random_state : int, RandomState instance or None, default=None
        Determines all random draws. An integer makes results repeatable.
    n_threads : int or None, default=None
        Threads to use; the result does not depend on it. Resolved anew in each call. None: all
        cores, or one inside a joblib worker. -1: all cores.

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

    See Also
    --------
    ClusterNystroem : Landmarks that are centroids.
    nystroem_error : How far the approximation is from the kernel.

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
        rng = check_seed(self.random_state)
        size = padded(X.shape[1])
        n_blocks = -(-int(self.n_components) // size)
        self.seeds_ = self._find_seeds(X, n_blocks, rng)
        n_last = int(self.n_components) - (n_blocks - 1) * size
        last = np.sort(rng.permutation(size - 1)[: n_last - 1] + 1)
        self._last_picks = np.concatenate([[0], last])
        return self._landmarks_again()

    def _landmarks_again(self) -> HadamardLandmarks:
        n_blocks, n_features = self.seeds_.shape
        size = padded(n_features)
        picks = [np.arange(size)] * (n_blocks - 1) + [self._last_picks]
        return HadamardLandmarks(self.seeds_, picks, size)

    def _find_seeds(self, X: Any, n_blocks: int, rng: Any) -> NDArray[Any]:
        if is_name(self.seeds, "uniform"):
            drawn = rng.choice(X.shape[0], n_blocks, replace=n_blocks > X.shape[0])
            return X[drawn].toarray() if sp.issparse(X) else X[drawn]
        if is_name(self.seeds, "k-means"):
            from polymeans.kmeans import KMeans

            n_clusters = min(max(2, n_blocks), X.shape[0])
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                model = KMeans(n_clusters, random_state=rng, n_threads=self.n_threads).fit(X)
            if n_blocks == 1:
                return model.cluster_centers_[[np.bincount(model.labels_).argmax()]]
            return model.cluster_centers_[np.arange(n_blocks) % n_clusters]
        with errors_that_name("seeds"):
            seeds = check_array(self.seeds, dtype=X.dtype, input_name="seeds")
        if seeds.shape[0] < n_blocks or seeds.shape[1] != X.shape[1]:
            raise ValueError(
                f"seeds must have {X.shape[1]} columns, one for each feature, and at least "
                f"{n_blocks} rows for n_components={self.n_components}, got shape {seeds.shape}."
            )
        return seeds[:n_blocks]
