"""The rows of other tests as Dask arrays."""

from itertools import pairwise

import dask.array as da
import numpy as np
import scipy.sparse as sp
from dask import delayed

#: Cuts of 300 rows into chunks of very different lengths.
UNEVEN = (1, 1, 88, 1, 159, 50)


def in_chunks(X, lengths=UNEVEN):
    """Rows in chunks of these lengths; CSR chunks for CSR rows."""
    edges = np.cumsum([0, *lengths])
    assert edges[-1] == X.shape[0]
    if not sp.issparse(X):
        return da.from_array(X, chunks=(tuple(lengths), X.shape[1]))
    meta = sp.csr_matrix((0, 0), dtype=X.dtype)
    parts = [
        da.from_delayed(
            delayed(sp.csr_matrix(X[lo:hi])), shape=(hi - lo, X.shape[1]), dtype=X.dtype, meta=meta
        )
        for lo, hi in pairwise(edges)
    ]
    return da.concatenate(parts)


def random_weights(n_rows):
    rng = np.random.default_rng(1)
    return rng.random(n_rows) * rng.integers(0, 4, n_rows)
