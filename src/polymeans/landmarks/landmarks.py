"""Landmarks: points that all rows form inner products with, by the fastest way there is."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from polymeans.codebooks.metric import squared_norms
from polymeans.core.threads import Threads, product_blocks


def fitted_clusterer(clusterer: Any, default: Any, X: Any) -> Any:
    """The clusterer if it is fitted, else a fitted copy of it; ``default()`` makes one for None."""
    if clusterer is None:
        return default().fit(X)
    for name in ("fit", "predict"):
        if not hasattr(clusterer, name):
            raise TypeError(
                f"clusterer must be None or an estimator with fit, predict and cluster_centers_, "
                f"got {clusterer!r}, which has no {name}."
            )
    try:
        check_is_fitted(clusterer)
    except NotFittedError:
        clusterer = clone(clusterer).fit(X)
    if getattr(clusterer, "cluster_centers_", None) is None:
        raise TypeError(f"clusterer={clusterer!r} has no cluster_centers_ when it is fitted.")
    if clusterer.cluster_centers_.shape[1] != X.shape[1]:
        raise ValueError(
            f"clusterer was fitted on {clusterer.cluster_centers_.shape[1]} features, but X has "
            f"{X.shape[1]}. Fit it on rows like these, or give it unfitted."
        )
    return clusterer


class Landmarks:
    """What scores and kernels need to know of a fitted clusterer's centroids.

    A clusterer with a fast operator (``operator_``, and ``offset_`` where centroids are measured
    from one) is asked through it, and its landmarks are what the operator stands for.

    Parameters
    ----------
    clusterer : estimator
        Fitted.
    """

    def __init__(self, clusterer: Any) -> None:
        self.operator = getattr(clusterer, "operator_", None)
        if self.operator is None:
            self.centers = np.ascontiguousarray(clusterer.cluster_centers_)
        else:
            self.offset = np.asarray(getattr(clusterer, "offset_", np.zeros(1)))
            self.centers = np.ascontiguousarray(self.operator.toarray() + self.offset)
        self.squares = squared_norms(self.centers)

    def products(self, X: Any, n_threads: int | None = None) -> NDArray[Any]:
        """Inner products of rows with all landmarks, the same bits for any number of threads."""
        with Threads(n_threads, one_blas_thread=True) as threads:
            if self.operator is not None:
                out = self.operator.products(X, n_threads=n_threads)
                if self.offset.any():
                    out += np.asarray(X @ self.offset.astype(X.dtype, copy=False))[:, None]
                return out
            centers = self.centers.astype(X.dtype, copy=False).T
            out = np.empty((X.shape[0], centers.shape[1]), dtype=X.dtype)

            def multiply(block: tuple[int, int]) -> None:
                # What overflows is the caller's business; threads do not inherit its settings.
                with np.errstate(over="ignore", invalid="ignore"):
                    out[slice(*block)] = X[slice(*block)] @ centers

            threads.map(multiply, product_blocks(X.shape[0]))
        return out


class HadamardLandmarks:
    """Landmarks ``H D_v``, block by block: a seed ``v`` with the signs of a Hadamard matrix's rows.

    Parameters
    ----------
    seeds : ndarray of shape (n_blocks, n_features)
    picks : list of ndarray
        Rows of H that each block has.
    size : int
        Of H, a power of two of at least n_features.
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
            work = np.empty((self.size, hadamard.LANES), dtype=X.dtype)
            start = 0
            for seed, rows in zip(self.seeds.astype(X.dtype, copy=False), self.picks):
                wanted = out[slice(*block), start : start + len(rows)]
                hadamard.signed_sums(part, seed, rows, 0, len(part), wanted, work)
                start += len(rows)

        with Threads(n_threads) as threads:
            threads.map(transform, product_blocks(X.shape[0]))
        return out
