"""Products of CSR rows with a few dense columns."""

from polymeans.kernels.compile import kernel


@kernel(fastmath={"contract"})
def multiply(indptr, indices, values, dense, lo, hi, out):
    """``out[lo:hi] = rows[lo:hi] @ dense``; the order of additions is that of the entries."""
    n_columns = dense.shape[1]
    for i in range(lo, hi):
        for c in range(n_columns):
            out[i, c] = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            value = values[p]
            source = dense[indices[p]]
            for c in range(n_columns):
                out[i, c] += value * source[c]
