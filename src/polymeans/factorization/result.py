"""The result of a factorization: sparse factors, and the error of their product."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

if TYPE_CHECKING:
    from polymeans.factorization._checks import Problem
    from polymeans.factorization.operator import FastOperator


@dataclass(frozen=True, eq=False)
class Factorization:
    """Sparse factors whose product approximates a matrix.

    Parameters
    ----------
    factors : tuple of csr_array
        From left to right, float64: their product has the shape of the target. Weights of rows
        never are part of them.
    errors : ndarray
        Squared error ``sum_k w_k |u_k - v_k|^2`` after each iteration. The last entry is that of
        ``factors``, the best ones, also where errors of a method may rise.
    n_iter : int
        Iterations done.
    target_norm : float
        Weighted Frobenius norm of the target.
    error_norm : float or None, default=None
        Root of the last of ``errors``, also where that is too small to be a float. None: computed
        from it.

    See Also
    --------
    factorize : Makes it.
    FastOperator : The product as an operator.

    Examples
    --------
    >>> import numpy as np
    >>> from polymeans.factorization import factorize
    >>> rng = np.random.default_rng(0)
    >>> parts = rng.random((3, 40)) * (rng.random((3, 40)) < 0.3)
    >>> target = rng.integers(0, 2, (20, 3)) @ parts
    >>> found = factorize(target, n_nonzeros=100, random_state=0)
    >>> len(found.factors) > 1, found.operator.shape, found.errors[-1] <= found.errors[0]
    (True, (20, 40), np.True_)
    """

    factors: tuple[sp.csr_array, ...]
    errors: NDArray[np.float64]
    n_iter: int
    target_norm: float
    error_norm: float | None = None

    @classmethod
    def of_problem(
        cls,
        factors: Sequence[sp.csr_array],
        errors: Sequence[float],
        n_iter: int,
        problem: "Problem",
    ) -> "Factorization":
        """Of factors in the user's units, and squared errors in those of the problem."""
        return cls(
            tuple(factors),
            np.array(errors) * problem.unit**2,
            n_iter,
            problem.norm,
            problem.unit * float(np.sqrt(errors[-1])),
        )

    @property
    def shape(self) -> tuple[int, int]:
        """Of the product."""
        return self.factors[0].shape[0], self.factors[-1].shape[1]

    @property
    def nnz(self) -> int:
        """Stored entries of all factors."""
        return int(sum(factor.nnz for factor in self.factors))

    @property
    def relative_error(self) -> float:
        """Root of the squared error over the norm of the target; 0 for a target of zeros."""
        if self.target_norm == 0.0:
            return 0.0
        if self.error_norm is not None:
            return self.error_norm / self.target_norm
        return float(np.sqrt(self.errors[-1]) / self.target_norm)

    @cached_property
    def operator(self) -> "FastOperator":
        """The product as a linear operator that is applied factor by factor."""
        from polymeans.factorization.operator import FastOperator

        return FastOperator(self.factors)

    def toarray(self) -> NDArray[np.float64]:
        """The product as a dense matrix.

        Returns
        -------
        ndarray of shape (k, d)
            In float64.
        """
        return multiply(self.factors)

    def __repr__(self) -> str:
        return (
            f"Factorization(shape={self.shape}, n_factors={len(self.factors)}, nnz={self.nnz}, "
            f"relative_error={self.relative_error:.4g}, n_iter={self.n_iter})"
        )


def multiply(factors: Sequence[Any]) -> NDArray[np.float64]:
    """Dense product of dense or sparse factors."""
    product = factors[-1].toarray() if sp.issparse(factors[-1]) else np.asarray(factors[-1])
    for factor in reversed(factors[:-1]):
        product = factor @ product
    return product


def to_csr(matrix: NDArray[np.float64], keep: NDArray[np.bool_] | None = None) -> sp.csr_array:
    """Entries to keep (by default those that are not zero) in CSR form with sorted indices."""
    rows, columns = np.nonzero(matrix if keep is None else keep)
    indptr = np.zeros(len(matrix) + 1, np.int32)
    np.cumsum(np.bincount(rows, minlength=len(matrix)), out=indptr[1:])
    return sp.csr_array((matrix[rows, columns], columns.astype(np.int32), indptr), matrix.shape)
