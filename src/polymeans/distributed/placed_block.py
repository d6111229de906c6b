"""A block on a worker: checked rows, weights, and what is kept of them from visit to visit."""

import sys
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from polymeans.blocks.rows import check_csr, check_dense, check_weights, kind_of
from polymeans.core.rows import Rows, is_csr, stacked
from polymeans.engine.placement import Kept


@dataclass
class PlacedBlock:
    """Rows, weights and what visits keep of them.

    What is kept is a note on this copy of the block. Where Dask copies or spills the block, the
    note goes along; where Dask computes the block again, because a worker was lost, there is none
    and visits are repeated. Each note has the version that the driver counts: the present one and
    the one before stay, for tasks that are run twice.
    """

    rows: Rows
    weights: NDArray[np.float64] | None
    first: int  #: number of the first row
    notes: dict[int, Kept] = field(default_factory=dict)

    def kept(self, version: int | None) -> Kept | None:
        """What was kept at a version; nothing is kept yet at None. None if it is not there."""
        if version is None:
            return Kept(self.first, self.rows.shape[0])
        return self.notes.get(version)

    def keep(self, kept: Kept, version: int, before: int | None) -> None:
        """Write a note, and forget those that no task of the present visit can ask for."""
        # Replaced as a whole: another thread may be copying the block.
        self.notes = {version: kept, **{v: note for v, note in self.notes.items() if v == before}}

    def __sizeof__(self) -> int:
        # Dask decides by it where tasks run: where the largest of their inputs is.
        size = _size(self.rows) + (0 if self.weights is None else self.weights.nbytes)
        return sys.getsizeof(self.notes) + size


def _size(rows: Rows) -> int:
    if is_csr(rows):
        return int(rows.data.nbytes + rows.indices.nbytes + rows.indptr.nbytes)
    return int(rows.nbytes)


# --- tasks -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class BlockSpec:
    """What a block is expected to be."""

    first: int
    n_rows: int
    n_features: int
    stored: np.dtype[Any]
    dtype: np.dtype[Any]
    is_sparse: bool
    spans: tuple[tuple[int, int], ...]  #: rows of each chunk, from and to
    lengths: tuple[int, ...]  #: that each chunk should have

    @property
    def where(self) -> str:
        """For errors."""
        return f"rows {self.first} to {self.first + self.n_rows - 1} of X, a Dask collection"


def make_block(spec: BlockSpec, chunks: list[list[Any]], weights: list[Any] | None) -> PlacedBlock:
    """Chunks as a checked block; rows are not copied if they are one plain chunk already."""
    rows = joined_rows(spec, chunks)
    expected = spec.dtype, spec.first, spec.where
    rows, _ = check_csr(rows, *expected) if is_csr(rows) else check_dense(rows, *expected)
    if weights is None:
        return PlacedBlock(rows, None, spec.first)
    checked = check_weights(joined_weights(spec, weights), spec.n_rows, spec.first, spec.where)
    return PlacedBlock(rows, checked, spec.first)


def joined_rows(spec: BlockSpec, chunks: list[list[Any]]) -> Rows:
    """Rows of several chunks, each of them in parts side by side."""
    parts = []
    for row_of_chunks, (lo, hi), length in zip(chunks, spec.spans, spec.lengths):
        for chunk in row_of_chunks:
            _check_chunk(chunk, spec, length)
        chunk = _side_by_side(row_of_chunks)
        if chunk.shape[1] != spec.n_features:
            raise ValueError(
                f"A chunk of {spec.where} has {chunk.shape[1]} columns, but X has "
                f"{spec.n_features}. All chunks must have the width that the array says."
            )
        parts.append(chunk if (lo, hi) == (0, length) else chunk[lo:hi])
    return stacked(parts)


def joined_weights(spec: BlockSpec, weights: list[Any]) -> NDArray[Any]:
    """Weights of several chunks."""
    parts = []
    for chunk, (lo, hi), length in zip(weights, spec.spans, spec.lengths):
        chunk = np.asarray(chunk)
        if chunk.shape != (length,):
            raise ValueError(
                f"A chunk of sample_weight has the shape {chunk.shape}, but that of X has {length} "
                f"rows ({spec.where}). Both must have chunks of the same lengths."
            )
        parts.append(chunk[lo:hi])
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _check_chunk(chunk: Any, spec: BlockSpec, length: int) -> None:
    wanted, found = "CSR" if spec.is_sparse else "dense", kind_of(chunk)
    if found != wanted:
        remedy = (
            "Say so when the array is made: X.map_blocks(..., meta=scipy.sparse.csr_matrix((0, 0)))"
            if found == "CSR"
            else "All chunks must be alike."
        )
        raise TypeError(f"A chunk of {spec.where} is {found}, not {wanted} as announced. {remedy}")
    if chunk.ndim != 2 or chunk.shape[0] != length:
        raise ValueError(
            f"A chunk of {spec.where} has the shape {chunk.shape}, but the array says that it has "
            f"{length} rows. Call X.compute_chunk_sizes() first."
        )
    if chunk.dtype.newbyteorder("=") != spec.stored.newbyteorder("="):
        raise TypeError(
            f"A chunk of {spec.where} has values of type {chunk.dtype}, but the array says "
            f"{spec.stored}. Convert all chunks: X.map_blocks(lambda x: x.astype({spec.stored}))."
        )


def _side_by_side(chunks: list[Any]) -> Any:
    if len(chunks) == 1:
        return chunks[0]
    if sp.issparse(chunks[0]):
        return sp.hstack(chunks, format="csr")
    return np.concatenate(chunks, axis=1)
