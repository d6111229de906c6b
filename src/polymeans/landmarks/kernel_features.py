"""Kernel features from landmarks: the kernels, and the steps that all such transformers share."""

import warnings
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from polymeans._validation import (
    check_choice,
    check_integer,
    check_n_threads,
    check_positive,
    check_real,
    check_rows,
    check_seed,
    is_name,
    shown,
)
from polymeans.core.norms import squared_norms
from polymeans.core.threads import Threads

#: Kernels that depend on two rows through their inner product and their norms alone.
KERNELS = ("rbf", "linear", "polynomial", "poly", "sigmoid", "cosine")

#: Rows whose kernel values are held at a time: 32 KiB of float64 for each landmark.
_BLOCK = 4096

#: Rows that one thread multiplies at a time. The height is fixed, so that BLAS rounds in the same
#: way for any number of threads; 8 pieces of a block are enough to keep several threads busy.
_PIECE = 512

#: Squared norms whose inner products are computed in float32. Its normal range is 1e-38 to 3e38:
#: 1e30 leaves a factor of 1e8 for landmarks that are longer than the rows, and at 1e-24 terms that
#: are 1e-14 of the product are still normal numbers.
_SMALLEST, _LARGEST = 1e-24, 1e30

#: Largest error of an exponent ``gamma |x - y|²`` by rounding of products in float32. It is the
#: relative error of a kernel value; above it products are computed in float64.
_LARGEST_EXPONENT_ERROR = 1e-4


class LandmarkFeatures(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Base of the Nyström transformers: kernels, and features from kernel values with landmarks.

    Subclasses define ``_find_landmarks(X)``, which returns an object with ``centers``, ``squares``
    and ``products(X)``, ``_landmarks_again()``, which makes it from the attributes of a fitted
    estimator, and ``_limited_by_rows()``: whether there can be no more landmarks than rows.
    """

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find landmarks and the matrix that turns kernel values with them into features.

        Parameters
        ----------
        X : {array-like, CSR matrix or array} of shape (n_samples, n_features)
            Rows. float32 stays float32; anything else becomes float64.
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
            Rows. float32 stays float32; anything else becomes float64.

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
        X, Y = _as_float64(X), _as_float64(Y)
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
        """Tags: sparse rows are accepted."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        return {name: part for name, part in state.items() if name != "_landmarks"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if "components_" in vars(self):
            self._landmarks = self._landmarks_again()

    # --- kernels -----------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        if not callable(self.kernel):
            remedy = (
                "Other kernels are no functions of inner products, for which landmarks are fast; "
                "give a function of two sets of rows to use one of them."
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
                f"kernel_params={shown(self.kernel_params)} is for kernels that are functions, but "
                f"kernel={self.kernel!r}. Use gamma, coef0 and degree."
            )
        check_integer("n_components", self.n_components, 1)
        check_seed(self.random_state)
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
        # In float32 products would leave its range, or distances far from the origin cancel.
        error = self.gamma_ * largest * np.finfo(X.dtype).eps if self.kernel == "rbf" else 0.0
        if not _SMALLEST <= largest <= _LARGEST or error > _LARGEST_EXPONENT_ERROR:
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
        """Kernel values from inner products, which may be overwritten."""
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
        products += 1.0 if self.coef0 is None else float(self.coef0)
        if self.kernel == "sigmoid":
            return np.tanh(products, out=products)
        return products ** (3 if self.degree is None else self.degree)


def _multiply(threads: Threads, pieces: list[slice], A: Any, B: Any, out: NDArray[Any]) -> None:
    threads.map(lambda piece: np.matmul(A[piece], B, out=out[piece]), pieces)


def _inverse_root(W: NDArray[np.float64], precision: float) -> NDArray[np.float64]:
    """``W`` to the power of -1/2 in directions of clearly positive eigenvalues, zero in others."""
    values, vectors = np.linalg.eigh((W + W.T) / 2)
    # W is float64, but will be multiplied with values of the data's precision.
    rounding = len(W) * np.finfo(np.float64).eps
    clear = values > max(precision, rounding) * np.abs(values).max()
    scale = np.where(clear, 1.0 / np.sqrt(np.where(clear, values, 1.0)), 0.0)
    return (vectors * scale) @ vectors.T


def _as_float64(X: Any) -> Any:
    """Rows as an array, or as CSR if they are sparse in any format."""
    return X.tocsr().astype(np.float64) if sp.issparse(X) else np.asarray(X, dtype=np.float64)
