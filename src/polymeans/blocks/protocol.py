"""What a source of rows that are not in memory looks like to the estimators."""

from typing import Any, Protocol, runtime_checkable

import numpy as np

from polymeans.core.rows import Rows

#: A block as it is read: rows, or rows with one weight for each.
Block = Rows | tuple[Rows, Any]


@runtime_checkable
class Blocks(Protocol):
    """Rows in blocks that can be read one at a time, and again.

    **Idea.** A fit needs the rows only one block at a time, but several times over. An object with
    a length that returns block ``i`` for ``[i]``, and that knows beforehand how many rows there
    are and of which kind, is all it takes.

    **Use when** your rows are in a form that no reader of this module knows: derive from this
    class, or write a class with the same attributes. **Do not use** for rows that fit into memory;
    pass these as an array. A generator cannot be a source: it can be read only once.

    **Cost.** Whatever ``[i]`` does, once for each block and pass over the rows. Blocks of about
    32 MiB are a good size.

    Attributes
    ----------
    n_samples : int
        Rows of all blocks together.
    n_features : int
        Columns of every block.
    dtype : dtype
        Type of the values, of every block.
    is_sparse : bool
        Whether blocks are CSR matrices or arrays; else they are 2-D arrays.
    sizes : sequence of int
        Rows of each block.

    See Also
    --------
    from_npy, from_parquet, from_arrow, from_hdf5, from_zarr, from_csr_files : Blocks of files.
    from_sequence : Blocks of what you have.

    Examples
    --------
    >>> import numpy as np
    >>> from polymeans.blocks import Blocks
    >>> class Squares:
    ...     n_samples, n_features, dtype, is_sparse, sizes = 6, 2, np.float64, False, (3, 3)
    ...     def __len__(self):
    ...         return 2
    ...     def __getitem__(self, i):
    ...         return np.arange(6.0).reshape(3, 2) ** 2 + i
    >>> isinstance(Squares(), Blocks)
    True
    """

    @property
    def n_samples(self) -> int: ...

    @property
    def n_features(self) -> int: ...

    @property
    def dtype(self) -> np.dtype[Any]: ...

    @property
    def is_sparse(self) -> bool: ...

    @property
    def sizes(self) -> tuple[int, ...]: ...

    def __len__(self) -> int: ...

    def __getitem__(self, i: int, /) -> Block: ...
