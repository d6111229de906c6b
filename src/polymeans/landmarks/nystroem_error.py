"""Relative error of the kernel matrix that features approximate."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics.pairwise import pairwise_kernels

from polymeans._validation import check_integer, check_seed
from polymeans.core.sparse_structure import checked_matrix

#: Rows whose kernel values with all rows are held at a time: 32 KiB of float64 for each row.
_BLOCK = 4096


def nystroem_error(
    X: ArrayLike, transformer: Any, *, n_samples: int | None = None, random_state: Any = None
) -> float:
    """Relative error of the kernel matrix that features approximate: ``|K - ZZ'| / |K|``.

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

    See Also
    --------
    ClusterNystroem : Features whose products approximate a kernel.
    HadamardNystroem : The same with fast landmarks.

    Examples
    --------
    >>> import numpy as np
    >>> from polymeans.kernel_approximation import nystroem_error
    >>> from sklearn.kernel_approximation import Nystroem
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> round(nystroem_error(X, Nystroem(n_components=50, random_state=0).fit(X)), 6)
    0.0
    """
    rows = checked_matrix(X)
    if n_samples is not None:
        check_integer("n_samples", n_samples, 1)
        if n_samples < rows.shape[0]:
            rng = check_seed(random_state)
            rows = rows[np.sort(rng.choice(rows.shape[0], n_samples, replace=False))]
    if hasattr(transformer, "kernel_values"):
        kernel = transformer.kernel_values
    else:

        def kernel(A: Any, B: Any) -> NDArray[np.float64]:
            parameters = transformer._get_kernel_params()
            metric = transformer.kernel
            return pairwise_kernels(A, B, metric=metric, filter_params=True, **parameters)

    Z = np.asarray(transformer.transform(rows), dtype=np.float64)
    rows = rows.astype(np.float64, copy=False)
    wrong = total = 0.0
    for lo in range(0, rows.shape[0], _BLOCK):
        K = kernel(rows[lo : lo + _BLOCK], rows)
        total += float(np.sum(K * K))
        wrong += float(np.sum((K - Z[lo : lo + _BLOCK] @ Z.T) ** 2))
    return float(np.sqrt(wrong / total)) if total > 0 else 0.0
