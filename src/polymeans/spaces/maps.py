"""Maps of rows, also new ones, into a space: by directions, or by a kernel with known rows."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.preprocessing import normalize

from polymeans.core.rows import Rows, is_csr
from polymeans.core.threads import product_blocks, running_threads

#: A name, or a function of two sets of rows.
Kernel: TypeAlias = str | Callable[..., Any]

#: Kernel values computed at a time: 32 MiB of float64, small beside those of all pairs of rows,
#: large enough for matrix products at full speed.
_BLOCK = 2**22


@dataclass(frozen=True)
class LinearMap:
    """``x -> x @ directions - offset``, brought to length one if ``normalized``."""

    directions: NDArray[np.float64]  #: (d, r)
    offset: NDArray[np.float64]  #: (r,)
    normalized: bool

    def __call__(self, X: Rows) -> NDArray[np.float64]:
        """Rows in the space."""
        out = np.empty((X.shape[0], self.directions.shape[1]))

        def fill(block: tuple[int, int]) -> None:
            lo, hi = block
            part = X[lo:hi].astype(np.float64, copy=False) @ self.directions - self.offset
            out[lo:hi] = normalize(part, copy=False) if self.normalized else part

        running_threads().map(fill, product_blocks(len(out)))
        return out


@dataclass(frozen=True)
class KernelMap:
    """Kernel values with the known rows, centered, times coefficients."""

    kernel: Kernel
    params: dict[str, Any]
    known: Rows | None  #: None where kernel values are given instead of rows
    coefficients: NDArray[np.float64]  #: (n, r)
    shares: NDArray[np.float64] | None  #: (n,) of the known rows in the mean; None: not centered
    means: NDArray[np.float64] | None  #: (n,) mean kernel value with each of them
    normalized: bool

    def __call__(self, X: Rows) -> NDArray[np.float64]:
        """Rows in the space."""
        n, r = X.shape[0], self.coefficients.shape[1]
        out = np.empty((n, r))
        step = max(1, _BLOCK // len(self.coefficients))
        for lo in range(0, n, step):
            values = kernel_values(self.kernel, self.params, X[lo : lo + step], self.known)
            if not np.isfinite(values).all():
                raise ValueError(
                    f"kernel={self.kernel!r} gives values that are not finite numbers for rows of "
                    "X, which may be too large to be squared beside those of the fit. Scale them "
                    "as the rows of the fit, or drop rows that are far larger."
                )
            if self.shares is not None:
                assert self.means is not None
                values = values - (values @ self.shares)[:, None] - self.means
                values += self.means @ self.shares
            part = values @ self.coefficients
            out[lo : lo + step] = normalize(part, copy=False) if self.normalized else part
        return out


def kernel_values(
    kernel: Kernel, params: dict[str, Any], X: Rows, Y: Rows | None
) -> NDArray[np.float64]:
    """Values of a kernel between two sets of rows; ``X`` itself where it is precomputed."""
    if callable(kernel):
        try:
            return np.asarray(kernel(X, Y, **params), dtype=np.float64)
        except TypeError as error:
            raise TypeError(
                f"kernel={kernel!r} cannot be called with two sets of rows: {error}."
            ) from error
    if kernel == "precomputed":
        return np.asarray(X.toarray() if is_csr(X) else X, dtype=np.float64)
    assert Y is not None
    # In float32 a kernel's smallest eigenvalues would be rounding.
    X, Y = X.astype(np.float64, copy=False), Y.astype(np.float64, copy=False)
    return np.asarray(pairwise_kernels(X, Y, metric=kernel, **params))
