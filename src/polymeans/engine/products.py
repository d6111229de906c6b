"""Products with the scatter of all rows, ``v -> X' D X v``, without forming it.

What conjugate gradients need the rows for in the middle of a refit.
"""

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from polymeans.core.norms import squared_norms
from polymeans.core.rows import Rows, is_csr
from polymeans.core.threads import running_threads


class ScatterProducts:
    """The scatter ``X' D X`` of weighted rows as something to multiply with.

    Parameters
    ----------
    X : ndarray or CSR of shape (n_samples, n_features)
    weights : ndarray of shape (n_samples,)
        The diagonal of D.
    """

    def __init__(self, X: Rows, weights: NDArray[np.float64]) -> None:
        roots = np.sqrt(weights)
        if is_csr(X):
            scaled = sp.csr_array(sp.diags_array(roots) @ X)
            self._forward, self._backward = scaled, sp.csr_array(scaled.T)
        else:
            self._forward = X * roots[:, None]
            self._backward = np.ascontiguousarray(self._forward.T)
        #: Dimensions the scatter can have at most.
        self.rank = min(X.shape)
        #: Its trace, ``Σ w |x|²``.
        self.trace = float(weights @ squared_norms(X))

    def __call__(self, v: NDArray[np.float64]) -> NDArray[np.float64]:
        """``X' D X v`` for the columns of v."""
        return _product(self._backward, _product(self._forward, v))


def _product(matrix: Rows, v: NDArray[np.float64]) -> NDArray[np.float64]:
    if not is_csr(matrix):
        return matrix @ v
    from polymeans.kernels.products import multiply

    out = np.empty((matrix.shape[0], v.shape[1]))
    threads = running_threads()
    threads.map(
        lambda r: multiply(matrix.indptr, matrix.indices, matrix.data, v, *r, out),
        threads.shares(np.diff(matrix.indptr) + 1),
    )
    return out
