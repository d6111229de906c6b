"""Rows of any object that has a length and can be sliced."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from polymeans._validation import check_integer, shown
from polymeans.blocks.checked import INSTEAD, Announcement, CheckedBlocks, refuse_one_shot
from polymeans.blocks.frames import FrameRows, is_frame, names_of
from polymeans.blocks.protocol import Blocks
from polymeans.blocks.rows import working_dtype
from polymeans.blocks.sizes import BLOCK_BYTES, cut, place
from polymeans.blocks.sliced import Slices
from polymeans.blocks.weights import row_weights
from polymeans.core.rows import Rows, is_csr

#: Rows that are read first, to see of which kind they are.
_PROBED = 256


def from_sequence(obj: Any, *, block_rows: int | None = None, weights: Any = None) -> CheckedBlocks:
    """Rows of any object that has a length and can be sliced.

    **Idea.** ``obj[start:stop]`` is a block. This is what ``lightgbm.Sequence`` asks for, and what
    arrays, memory maps and AnnData in backed mode have.

    **Use when** you have such an object, or can write ``__len__`` and ``__getitem__`` for your own
    format in a few lines. **Do not use** for generators, which can be read only once.

    **Cost.** One slice for each block and pass. Slices of float32 or float64 arrays in C order are
    not copied. The first rows are read once more, when this function is called.

    Parameters
    ----------
    obj : object
        It has ``len(obj)``, or ``obj.shape``, and ``obj[start:stop]`` returns rows: something that
        ``numpy.asarray`` takes, or a scipy sparse matrix. Of an object with ``X`` and ``n_obs``
        (AnnData) ``X`` is taken; pandas frames keep the names of their columns.
    block_rows : int or None, default=None
        Rows of a block, at most. None: about 32 MiB, for sparse rows judged by the first ones.
    weights : array-like of shape (n_samples,), path or None, default=None
        Weight of each row; or a ``.npy`` file of them.

    Returns
    -------
    blocks : Blocks
        Rows of float32 or float64; other numbers become float64.

    See Also
    --------
    from_csr_files : CSR matrices in files.
    Blocks : What a class of your own has to have.

    Examples
    --------
    >>> import numpy as np
    >>> from polymeans.blocks import from_sequence
    >>> class Images:
    ...     def __len__(self):
    ...         return 1000
    ...     def __getitem__(self, rows):
    ...         numbers = np.arange(len(self))[rows]
    ...         return np.sin(np.outer(numbers, np.arange(8)))
    >>> blocks = from_sequence(Images(), block_rows=300)
    >>> blocks.n_samples, blocks.n_features, blocks.sizes
    (1000, 8, (250, 250, 250, 250))
    """
    if block_rows is not None:
        check_integer("block_rows", block_rows, 1)
    refuse_one_shot(obj, "obj")
    if isinstance(obj, Blocks):
        raise TypeError(f"obj is in blocks already: {shown(obj)}. Pass it as it is.")
    if isinstance(obj, list | tuple) and len(obj) and getattr(obj[0], "ndim", 1) == 2:
        join = "scipy.sparse.vstack(obj)" if sp.issparse(obj[0]) else "numpy.concatenate(obj)"
        raise TypeError(
            f"obj is a {type(obj).__name__} of {len(obj)} matrices, but its slices must be rows. "
            f"Pass {join}, or write a class with the attributes of polymeans.blocks.Blocks, of "
            "which each matrix is a block."
        )
    if hasattr(obj, "X") and hasattr(obj, "n_obs"):
        obj = obj.X
    name, names = f"the {type(obj).__name__}", None
    if is_frame(obj):
        names, obj = names_of(obj), FrameRows(obj)
    n_samples = _length(obj, name)
    if n_samples == 0:
        raise ValueError(f"{name} has no rows. At least one is needed.")
    probe = _probe(obj, min(n_samples, _PROBED), name)
    working = working_dtype(probe.dtype, name)
    if block_rows is None:
        row_bytes = max(1, _bytes(probe, working) // probe.shape[0])
        pieces = cut(0, n_samples, row_bytes, BLOCK_BYTES)
    else:
        pieces = cut(0, n_samples, 1, int(block_rows))
    announced = Announcement(
        sizes=tuple(piece.n_rows for piece in pieces),
        n_features=probe.shape[1],
        stored=probe.dtype,
        is_sparse=sp.issparse(probe),
        name=name,
        feature_names=names,
        places=tuple(place([piece], [name]) for piece in pieces),
    )
    return CheckedBlocks(Slices(partial(_rows, obj), pieces), announced, row_weights(weights))


def _length(obj: Any, name: str) -> int:
    is_sliceable = hasattr(obj, "__getitem__") and not isinstance(obj, Mapping | str | bytes)
    shape = getattr(obj, "shape", None)
    if is_sliceable and isinstance(shape, tuple) and shape:  # sparse matrices have no len()
        return int(shape[0])
    if not is_sliceable or not hasattr(obj, "__len__"):
        raise TypeError(f"{name} has no length and slices of rows: {shown(obj)}. {INSTEAD}")
    return len(obj)


def _probe(obj: Any, n_rows: int, name: str) -> Rows:
    try:
        rows = _rows(obj, 0, n_rows)
    except TypeError as error:
        raise TypeError(f"{name} cannot be sliced by rows, obj[0:{n_rows}]: {error}") from error
    if rows.ndim != 2:
        raise ValueError(
            f"{name} has slices of shape {rows.shape}. They must be 2-D: rows, features."
        )
    if rows.shape[0] != n_rows:
        raise ValueError(
            f"{name} has {rows.shape[0]} rows in the slice [0:{n_rows}]. A slice must have as many "
            "rows as it asks for."
        )
    return rows


def _rows(obj: Any, start: int, stop: int) -> Rows:
    rows = obj[start:stop]
    return rows.tocsr() if sp.issparse(rows) else np.asanyarray(rows)


def _bytes(rows: Rows, dtype: np.dtype[Any]) -> int:
    if not is_csr(rows):
        return rows.size * dtype.itemsize
    return rows.nnz * (dtype.itemsize + rows.indices.itemsize) + rows.indptr.nbytes
