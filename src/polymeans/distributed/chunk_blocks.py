"""A Dask collection as blocks that this process reads one after the other."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from polymeans.blocks.checked import Announcement, CheckedBlocks
from polymeans.distributed.collection import dask_rows


def as_blocks(X: Any) -> CheckedBlocks:
    """Chunks of a Dask collection as blocks; each is computed when it is read.

    For what looks at rows after a fit: they come to this process, one chunk at a time.

    Parameters
    ----------
    X : dask array or dataframe
        Lengths of chunks that are not known yet are computed.

    Returns
    -------
    CheckedBlocks
    """
    rows = dask_rows(X).with_lengths()
    filled = [i for i, length in enumerate(rows.lengths) if length]

    def read(i: int) -> Any:
        # Chunks of features are put together; scipy's matrices by scipy.
        parts = [part.compute() for part in rows.array.blocks[filled[i]].to_delayed().ravel()]
        if len(parts) == 1:
            return parts[0]
        return sp.hstack(parts, format="csr") if rows.is_sparse else np.concatenate(parts, axis=1)

    announced = Announcement(
        sizes=tuple(rows.lengths[i] for i in filled),
        n_features=rows.n_features,
        stored=rows.stored,
        is_sparse=rows.is_sparse,
        name="the Dask collection",
        feature_names=rows.names,
    )
    return CheckedBlocks(read, announced)
