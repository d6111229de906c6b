"""Dask arrays and dataframes as rows: what they are, and what cannot be clustered."""

import math
from dataclasses import dataclass
from typing import Any

import dask
import dask.array as da
import numpy as np
import scipy.sparse as sp

from polymeans._validation import shown
from polymeans.blocks.frames import array_dtype, as_array, is_plain, names_of
from polymeans.blocks.rows import working_dtype


@dataclass(frozen=True)
class DaskRows:
    """A Dask array of rows.

    Its chunks along features are put together when blocks are made; along rows they may have
    lengths that are not known yet.
    """

    array: Any
    names: tuple[str, ...] | None  #: of columns, where all are strings

    @property
    def n_features(self) -> int:
        """Columns."""
        return int(self.array.shape[1])

    @property
    def stored(self) -> np.dtype[Any]:
        """Type of the values before they are converted."""
        return np.dtype(self.array.dtype)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type in which they are clustered."""
        return working_dtype(self.stored, "X, a Dask collection")

    @property
    def is_sparse(self) -> bool:
        """Whether chunks are CSR matrices."""
        return sp.issparse(self.array._meta)

    @property
    def has_lengths(self) -> bool:
        """Whether the number of rows of each chunk is known."""
        return not any(math.isnan(length) for length in self.array.chunks[0])

    @property
    def lengths(self) -> tuple[int, ...]:
        """Rows of each chunk."""
        return tuple(int(length) for length in self.array.chunks[0])

    def with_lengths(self) -> "DaskRows":
        """The same with chunks of known length; computes them where they are not."""
        if self.has_lengths:
            return self
        # In a copy: the method changes the array that it is called on.
        return DaskRows(self.array.copy().compute_chunk_sizes(), self.names)


def dask_rows(X: Any) -> DaskRows:
    """A Dask collection as rows; an error that names the remedy if it cannot be."""
    names = None
    # Asked of the type: a Delayed object has attributes of any name.
    if hasattr(type(X), "to_dask_array"):  # a dataframe
        if getattr(X, "ndim", 2) == 2:
            names = names_of(X)
            X = _in_plain_columns(X)
        X = X.to_dask_array()
    if not isinstance(X, da.Array):
        raise TypeError(
            f"X must be a Dask array or dataframe, got {shown(X)}. Make an array of other "
            "collections, with dask.array.from_delayed for example."
        )
    if X.ndim != 2:
        raise ValueError(
            f"Expected 2D array, got {X.ndim}D array instead: X has the shape {X.shape}. Reshape "
            "it with X.reshape(-1, 1) if it has a single feature."
        )
    if any(math.isnan(width) for width in X.chunks[1]):
        raise ValueError(
            "The number of columns of X is not known. Call X.compute_chunk_sizes() first."
        )
    if X.shape[1] < 1:
        raise ValueError("X has no columns. At least one feature is needed.")
    if sp.issparse(X._meta) and X._meta.format != "csr":
        raise TypeError(
            f"Chunks of X are {X._meta.format.upper()} matrices. Convert them with "
            "X.map_blocks(scipy.sparse.csr_matrix)."
        )
    rows = DaskRows(X, names)
    if rows.stored.kind == "O":
        raise TypeError(
            "X has values of type object. Convert it to numbers first, with X.astype(float) for "
            "example; of a dataframe, leave out columns that are not numbers."
        )
    _ = rows.dtype  # other types that cannot be clustered
    return rows


def _in_plain_columns(X: Any) -> Any:
    """A dataframe whose columns make an array of numbers, as they would in memory."""
    if is_plain(X._meta):
        return X
    dtype = array_dtype(X._meta)
    return X.map_partitions(_converted, dtype, meta=_converted(X._meta, dtype))


def _converted(frame: Any, dtype: np.dtype[Any]) -> Any:
    """A part of a dataframe with all columns of one type."""
    return type(frame)(as_array(frame, dtype), index=frame.index, columns=frame.columns)


def dask_weights(sample_weight: Any, rows: DaskRows) -> Any:
    """Weights as a Dask array with the row chunks of the rows, or None.

    Lengths of the weights are compared with those of the rows where both are known; else when
    blocks are made.
    """
    if sample_weight is None:
        return None
    if hasattr(type(sample_weight), "to_dask_array"):
        if not isinstance(getattr(sample_weight, "dtype", None), np.dtype):
            sample_weight = sample_weight.astype(np.float64)  # of pandas or pyarrow
        sample_weight = sample_weight.to_dask_array()
    if not isinstance(sample_weight, da.Array):
        if not rows.has_lengths:
            raise ValueError(
                "sample_weight is in memory, but chunks of X have unknown lengths. Call "
                "X.compute_chunk_sizes() first."
            )
        weights = np.asarray(sample_weight)
        if weights.ndim == 0 and weights.dtype.kind in "biuf":
            weights = np.full(sum(rows.lengths), float(weights))
        sample_weight = da.from_array(weights, chunks=-1)
    if sample_weight.ndim != 1:
        raise ValueError(
            f"Sample weights must be 1D array or scalar, got {sample_weight.ndim}D array."
        )
    known = not any(math.isnan(length) for length in sample_weight.chunks[0])
    if known and rows.has_lengths:
        if sample_weight.shape[0] != sum(rows.lengths):
            raise ValueError(
                f"sample_weight.shape == {sample_weight.shape}, expected ({sum(rows.lengths)},)!"
            )
        return sample_weight.rechunk((rows.lengths,))
    if sample_weight.npartitions != len(rows.array.chunks[0]):
        raise ValueError(
            f"sample_weight has {sample_weight.npartitions} chunks and X has "
            f"{len(rows.array.chunks[0])}, of unknown lengths. Call compute_chunk_sizes() of both."
        )
    return sample_weight


def ambient_client() -> Any:
    """The ``distributed`` client that Dask would compute with now; None if there is none."""
    scheduler = dask.base.get_scheduler()
    client = getattr(scheduler, "__self__", None)
    if client is None or not hasattr(client, "scheduler_info"):
        return None
    if client.asynchronous:
        raise ValueError(
            "The current Dask client is asynchronous, and fit waits for results. Use a client with "
            "asynchronous=False."
        )
    return client
