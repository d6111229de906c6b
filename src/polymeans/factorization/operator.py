"""A product of sparse factors as a linear operator, applied factor by factor."""

from collections.abc import Callable, Sequence
from functools import cached_property, reduce
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from scipy.sparse.linalg import LinearOperator

from polymeans._validation import check_n_threads
from polymeans.core.sparse_structure import check_structure
from polymeans.core.threads import Threads

#: Multiplications below which a second thread costs more than it saves: a fraction of a millisecond
#: of work, about the time it takes to start a pool.
_WORTH_THREADS = 2**20


class FastOperator(LinearOperator):
    """A matrix that is a product of sparse factors, kept as these factors.

    **Idea.** The matrix is ``V = S_1 S_2 ... S_Q``. A row meets the last factor first and the first
    one last; that takes as many multiplications as the factors have non-zeros, where the
    multiplied-out matrix needs one for each of its entries. Rows are worked on side by side, one in
    each lane of the processor's vectors, so factors may have any structure.

    **Use when** the same matrix is applied to many rows, or to single rows with little delay, and
    the factors have far fewer non-zeros than the matrix has entries. **Do not use** for factors
    that are nearly full: a dense product is faster then. **Cost:** ``nnz`` multiplications for each
    row; at high compression, most of the time is spent on reading the rows.

    Parameters
    ----------
    factors : sequence of sparse matrices, sparse arrays or ndarrays
        From left to right: S_1 has as many rows as V, S_Q as many columns. Copied.

    Attributes
    ----------
    factors : tuple of csr_array
        With sorted indices and without stored zeros, all of one dtype: float32 if all of them
        were, otherwise float64.
    shape : tuple of int
        ``(n_rows, n_columns)`` of V.
    dtype : dtype

    See Also
    --------
    scipy.sparse.linalg.LinearOperator : What else can be done with it.
    polymeans.inspection.plot_factors : Draws the factors.

    Examples
    --------
    >>> import numpy as np
    >>> from polymeans.factorization import FastOperator
    >>> butterfly = np.kron(np.eye(2), [[1.0, 1.0], [1.0, -1.0]])
    >>> shuffle = np.eye(4)[[0, 2, 1, 3]]
    >>> hadamard = FastOperator([butterfly, shuffle @ butterfly @ shuffle.T])
    >>> hadamard.toarray()
    array([[ 1.,  1.,  1.,  1.],
           [ 1., -1.,  1., -1.],
           [ 1.,  1., -1., -1.],
           [ 1., -1., -1.,  1.]])
    >>> hadamard.nnz, hadamard.compression
    (16, 1.0)
    >>> hadamard @ np.array([1.0, 0.0, 0.0, 2.0])
    array([ 3., -1., -1.,  3.])
    """

    def __init__(self, factors: Sequence[Any]) -> None:
        self.factors = _as_csr_factors(factors)
        self._chains: dict[Any, Any] = {}
        #: What others prepared from the factors; not pickled.
        self.kept: dict[str, Any] = {}
        first, last = self.factors[0], self.factors[-1]
        super().__init__(first.dtype, (first.shape[0], last.shape[1]))

    def __repr__(self) -> str:
        return (
            f"<{self.shape[0]}x{self.shape[1]} FastOperator of {len(self.factors)} factors with "
            f"{self.nnz} non-zeros, dtype={self.dtype}>"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        # Arrays packed for the kernels depend on the machine and are not pickled.
        return type(self), (self.factors,)

    @property
    def nnz(self) -> int:
        """Stored entries of all factors."""
        return sum(factor.nnz for factor in self.factors)

    @property
    def n_multiplications(self) -> int:
        """Multiplications it takes to apply the operator to one row."""
        return self.nnz

    @property
    def compression(self) -> float:
        """Entries of the multiplied-out matrix for each stored entry."""
        return self.shape[0] * self.shape[1] / max(1, self.nnz)

    def toarray(self) -> NDArray[Any]:
        """The matrix, multiplied out in float64 and rounded to the operator's dtype.

        Returns
        -------
        ndarray of shape (n_rows, n_columns)
            Dense.
        """
        # From the side that keeps what is being multiplied small.
        factors = [factor.astype(np.float64) for factor in self.factors]
        if self.shape[0] <= self.shape[1]:
            product = reduce(lambda left, right: left @ right, factors)
        else:
            product = reduce(lambda right, left: left @ right, reversed(factors))
        return np.ascontiguousarray(product.toarray(), dtype=self.dtype)

    # --- the interface of LinearOperator ------------------------------------------------------

    def _matvec(self, x: NDArray[Any]) -> NDArray[Any]:
        from polymeans.kernels.factored_row import row_product

        if x.dtype != self.dtype:
            return _apply(self.factors, x)
        return row_product(*self._flat, np.ascontiguousarray(x).ravel())

    def _matmat(self, X: NDArray[Any]) -> NDArray[Any]:
        if X.dtype.kind != "f" or X.dtype.itemsize > 8:
            return _apply(self.factors, X)
        return self.products(X.T).T

    def _rmatvec(self, x: NDArray[Any]) -> NDArray[Any]:
        return self._reversed._matvec(x)

    def _rmatmat(self, X: NDArray[Any]) -> NDArray[Any]:
        return self._reversed._matmat(X)

    @cached_property
    def _reversed(self) -> "FastOperator":
        return FastOperator([factor.T for factor in reversed(self.factors)])

    def _adjoint(self) -> "FastOperator":
        return self._reversed

    def _transpose(self) -> "FastOperator":
        return self._reversed

    # --- rows --------------------------------------------------------------------------------

    def products(self, X: Any, n_threads: int | None = None) -> NDArray[Any]:
        """Inner products of rows with the rows of V.

        Parameters
        ----------
        X : ndarray or CSR matrix or array of shape (n_samples, n_columns)
            Rows, of any real dtype.
        n_threads : int or None, default=None
            None: all cores this process may use.

        Returns
        -------
        ndarray of shape (n_samples, n_rows)
            ``X @ V.T``, float32 if both the rows and the operator are.
        """
        from polymeans.kernels.factored_layout import make_buffers
        from polymeans.kernels.factored_products import dense_products, sparse_products

        X = self._check_rows(X)
        chain = self._chain(X.dtype)
        out = np.empty((X.shape[0], self.shape[0]), dtype=X.dtype)
        arrays = _arrays(X)
        kernel = sparse_products if len(arrays) > 1 else dense_products

        def multiply(block: tuple[int, int]) -> None:
            kernel(*arrays, chain, *block, out, make_buffers(chain, products=True))

        self._each(multiply, X, n_threads)
        return out

    def nearest(
        self, X: Any, offsets: ArrayLike, n_threads: int | None = None
    ) -> NDArray[np.int32]:
        """For each row x, the c with the smallest ``offsets[c] - 2 (V x)_c``.

        With squared norms ``|v_c|²`` as offsets this is the nearest row of V. Computed in the rows'
        and the operator's common precision: rows that are equally near to two candidates, as far as
        rounding can tell, get either.

        Parameters
        ----------
        X : ndarray or CSR matrix or array of shape (n_samples, n_columns)
            Rows, of any real dtype.
        offsets : array-like of shape (n_rows,)
            One for each row of V.
        n_threads : int or None, default=None
            None: all cores this process may use.

        Returns
        -------
        ndarray of shape (n_samples,), int32
            The lowest index among equals.
        """
        from polymeans.kernels.factored_layout import make_buffers
        from polymeans.kernels.factored_products import dense_nearest, sparse_nearest

        offsets = _check_offsets(offsets, self.shape[0])
        X = self._check_rows(X)
        chain = self._chain(X.dtype)
        halves = (0.5 * offsets).astype(X.dtype)
        slopes = np.zeros_like(halves)
        labels = np.empty(X.shape[0], dtype=np.int32)
        arrays = _arrays(X)
        kernel = sparse_nearest if len(arrays) > 1 else dense_nearest

        def label(block: tuple[int, int]) -> bool:
            return kernel(*arrays, chain, halves, slopes, *block, labels, make_buffers(chain))

        if not all(self._each(label, X, n_threads)):
            raise ValueError("X contains NaN or infinity; drop or impute such rows first.")
        return labels

    def nearest_one(self, x: NDArray[Any], offsets: NDArray[Any]) -> int:
        """:meth:`nearest` of one dense row, without checks.

        Parameters
        ----------
        x : ndarray of shape (n_columns,)
            Contiguous. Its shape is not checked: others give wrong results. Numbers of another
            dtype than the operator's are rounded to it.
        offsets : ndarray of shape (n_rows,)
            Contiguous; rounded as well.

        Returns
        -------
        label : int
            Which row of V.
        """
        if x.dtype != self.dtype or offsets.dtype != self.dtype:
            x, offsets = x.astype(self.dtype), offsets.astype(self.dtype)
        return self._nearest_one(*self._flat, x, offsets)

    @cached_property
    def _nearest_one(self) -> Callable[..., int]:
        from polymeans.kernels.factored_row import row_nearest

        return row_nearest

    @cached_property
    def _flat(self) -> Any:
        from polymeans.kernels.factored_layout import balance, pack_flat

        return pack_flat(balance(self.factors), self.dtype)

    def _chain(self, dtype: Any) -> Any:
        from polymeans.kernels.factored_layout import balance, pack_chain

        if dtype not in self._chains:
            self._chains[dtype] = pack_chain(balance(self.factors), dtype)
        return self._chains[dtype]

    def _each(self, work: Callable[[Any], Any], X: Any, n_threads: int | None) -> list[Any]:
        """Call a function for all rows, in blocks."""
        check_n_threads(n_threads)
        n_samples = X.shape[0]
        small = n_samples * (self.nnz + self.shape[1]) < _WORTH_THREADS
        with Threads(1 if small else n_threads) as threads:
            return threads.map(work, threads.ranges(n_samples, smallest=64))

    def _check_rows(self, X: Any) -> Any:
        if not sp.issparse(X):
            X = np.asarray(X)
        if X.ndim != 2 or X.shape[1] != self.shape[1]:
            raise ValueError(
                f"X must have shape (n_samples, {self.shape[1]}), one column for each column of "
                f"the operator, got shape {X.shape}."
            )
        if X.dtype.kind not in "biuf":
            raise TypeError(f"X must have real numbers, got dtype {X.dtype}.")
        dtype = np.result_type(_working_dtype(X.dtype), self.dtype)
        if sp.issparse(X):
            check_structure(X, "X")
            X = X.tocsr().astype(dtype, copy=False)
            if not np.isfinite(X.data).all():
                raise ValueError("X contains NaN or infinity; drop or impute such rows first.")
            return X
        return np.ascontiguousarray(X, dtype=dtype)


def _apply(factors: Sequence[sp.csr_array], X: NDArray[Any]) -> NDArray[Any]:
    """The product with columns of any kind of number."""
    return reduce(lambda right, left: left @ right, reversed(factors), X)


def _arrays(X: Any) -> tuple[NDArray[Any], ...]:
    """Rows as kernels take them; one array if they are dense."""
    if not sp.issparse(X):
        return (X,)
    return X.indptr.astype(np.int64), X.indices.astype(np.int32, copy=False), X.data


def _as_csr_factors(factors: Sequence[Any]) -> tuple[sp.csr_array, ...]:
    if sp.issparse(factors) or isinstance(factors, np.ndarray) or not hasattr(factors, "__len__"):
        raise TypeError(
            f"factors must be a list of matrices, S_1 first, got {type(factors).__name__}. "
            "Put a single matrix into a list."
        )
    if len(factors) == 0:
        raise ValueError("factors must hold at least one matrix, got none.")
    arrays = [_as_csr(number, factor) for number, factor in enumerate(factors)]
    for number, (left, right) in enumerate(pairwise(arrays)):
        if left.shape[1] != right.shape[0]:
            raise ValueError(
                f"factors must chain: factors[{number}] has shape {left.shape} and "
                f"factors[{number + 1}] {right.shape}. Each needs as many rows as the one before "
                "it has columns."
            )
    single = all(array.dtype == np.float32 for array in arrays)
    dtype = np.float32 if single else np.float64
    return tuple(array.astype(dtype, copy=False) for array in arrays)


def _working_dtype(dtype: Any) -> Any:
    """float32 for floats that fit into it, else float64."""
    return np.float32 if dtype.kind == "f" and dtype.itemsize <= 4 else np.float64


def _as_csr(number: int, factor: Any) -> sp.csr_array:
    if not sp.issparse(factor):
        factor = np.asarray(factor)
    if factor.ndim != 2 or 0 in factor.shape:
        raise ValueError(
            f"factors[{number}] must be a matrix with at least one row and column, got shape "
            f"{factor.shape}."
        )
    if factor.dtype.kind not in "biuf":
        raise TypeError(f"factors[{number}] must have real numbers, got dtype {factor.dtype}.")
    if sp.issparse(factor):
        check_structure(factor, f"factors[{number}]")
    array = sp.csr_array(factor, dtype=_working_dtype(factor.dtype), copy=True)
    if not np.isfinite(array.data).all():
        raise ValueError(f"factors[{number}] must have finite entries, got NaN or infinity.")
    array.sum_duplicates()
    array.eliminate_zeros()
    array.sort_indices()
    return array


def _check_offsets(offsets: ArrayLike, n_rows: int) -> NDArray[Any]:
    offsets = np.asarray(offsets)
    if offsets.shape != (n_rows,):
        raise ValueError(
            f"offsets must have shape ({n_rows},), one for each row of the operator, got "
            f"{offsets.shape}."
        )
    if not np.isfinite(offsets).all():
        raise ValueError("offsets must be finite, got NaN or infinity.")
    return offsets
