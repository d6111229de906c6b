"""What a fit of a Dask collection works on: blocks on workers, or computed in each pass."""

import logging
import uuid
from collections.abc import Sequence
from typing import Any

import dask.array as da
import numpy as np
from dask.delayed import delayed
from numpy.typing import NDArray

from polymeans._validation import match_features
from polymeans.blocks.checked import Announcement, CheckedBlocks
from polymeans.distributed.collection import DaskRows, ambient_client, dask_rows, dask_weights
from polymeans.distributed.cutting import Cut, cut_into_blocks, smallest_block
from polymeans.distributed.placed_block import (
    BlockSpec,
    joined_rows,
    joined_weights,
    make_block,
)
from polymeans.distributed.placement import RETRIES, OnWorkers
from polymeans.engine.streamed import Streamed


def rows_to_fit(estimator: Any, X: Any, sample_weight: Any) -> "RowsOnWorkers | RowsInPasses":
    """A Dask collection as blocks, where the current scheduler would compute it.

    With a client, blocks are computed once and stay with the workers. Without one, each pass
    computes chunk after chunk in this process, one ahead of the one worked on.
    """
    rows = dask_rows(X)
    match_features(estimator, rows.n_features, rows.names, reset=True)
    client = ambient_client()
    if client is not None and not rows.has_lengths:
        # Lengths of chunks that are not known are found by computing the chunks, which stay.
        rows = DaskRows(client.persist(rows.array), rows.names)
    rows = rows.with_lengths()
    weights = dask_weights(sample_weight, rows)
    n_rows, multiple = sum(rows.lengths), estimator._block_multiple
    if n_rows < 1:
        raise ValueError("Found array with 0 sample(s): X has no rows. At least one is needed.")
    if client is None:
        return RowsInPasses(rows, weights, cut_into_blocks(rows.lengths, multiple), estimator)
    n_threads = max(1, sum(client.nthreads().values()))
    smallest = smallest_block(
        n_rows, rows.n_features, rows.dtype.itemsize, rows.is_sparse, n_threads
    )
    return RowsOnWorkers(
        client, rows, weights, cut_into_blocks(rows.lengths, multiple, smallest), estimator
    )


class _ChunkedLabels:
    """Hands out labels as they are wanted for rows that came in chunks."""

    chunk_lengths: tuple[int, ...]

    def as_collections(self, attributes: dict[str, Any]) -> dict[str, Any]:
        """Attributes with labels of all rows as Dask arrays in the chunks of the input."""
        return {
            name: self._chunked(value) if "labels" in name else value
            for name, value in attributes.items()
        }

    def _chunked(self, labels: NDArray[Any]) -> Any:
        chunks = (self.chunk_lengths, *((width,) for width in labels.shape[1:]))
        return da.from_array(labels, chunks=chunks, name=f"polymeans-labels-{uuid.uuid4().hex}")


class RowsOnWorkers(_ChunkedLabels, OnWorkers):
    """Rows of a Dask array, persisted as blocks by the workers of a cluster.

    Parameters
    ----------
    client : distributed.Client
    rows : DaskRows
    weights : dask array or None
    cuts : list of Cut
    estimator : estimator
        Whose ``n_threads`` each task has; one by default, because workers run several tasks.
    """

    def __init__(
        self, client: Any, rows: DaskRows, weights: Any, cuts: list[Cut], estimator: Any
    ) -> None:
        self.chunk_lengths = rows.lengths
        specs, chunks = _specs(rows, cuts), _Chunks(rows, weights)
        name = uuid.uuid4().hex
        made = [
            delayed(make_block)(
                spec, *chunks.of(cut), dask_key_name=f"polymeans-rows-{name}-{number}"
            )
            for number, (spec, cut) in enumerate(zip(specs, cuts))
        ]
        super().__init__(
            client,
            client.persist(made, retries=RETRIES),
            (sum(rows.lengths), rows.n_features),
            rows.dtype,
            rows.is_sparse,
            [cut.n_rows for cut in cuts],
            1 if estimator.n_threads is None else estimator.n_threads,
            estimator._uses_blas,
        )


class RowsInPasses(_ChunkedLabels, Streamed):
    """Rows of a Dask array that are computed in each pass, one block at a time.

    Parameters
    ----------
    rows : DaskRows
    weights : dask array or None
    cuts : list of Cut
    estimator : estimator
        Whose ``verbose`` decides about messages.
    """

    def __init__(self, rows: DaskRows, weights: Any, cuts: list[Cut], estimator: Any) -> None:
        self.chunk_lengths = rows.lengths
        specs, chunks = _specs(rows, cuts), _Chunks(rows, weights)
        tasks = [
            delayed(_read)(spec, *chunks.of(cut), dask_key_name=f"polymeans-read-{number}")
            for number, (spec, cut) in enumerate(zip(specs, cuts))
        ]
        announced = Announcement(
            sizes=tuple(cut.n_rows for cut in cuts),
            n_features=rows.n_features,
            stored=rows.stored,
            is_sparse=rows.is_sparse,
            name="X, a Dask collection",
            places=tuple(spec.where for spec in specs),
        )
        source = CheckedBlocks(lambda i: tasks[i].compute(), announced)
        verbose = int(estimator.verbose) > 1
        super().__init__(source, log_level=logging.INFO if verbose else logging.DEBUG)

    def close(self) -> None:
        """Nothing is held."""


class _Chunks:
    """The chunks of rows and weights, each of them to be computed later."""

    def __init__(self, rows: DaskRows, weights: Any) -> None:
        self._rows = rows.array.to_delayed()
        self._weights = None if weights is None else weights.to_delayed()

    def of(self, cut: Cut) -> tuple[list[list[Any]], list[Any] | None]:
        """Those of a block."""
        numbers = [number for number, _, _ in cut.pieces]
        weights = None
        if self._weights is not None:
            weights = [self._weights[number] for number in numbers]
        return [list(self._rows[number]) for number in numbers], weights


def _specs(rows: DaskRows, cuts: Sequence[Cut]) -> list[BlockSpec]:
    lengths = rows.lengths
    return [
        BlockSpec(
            cut.first,
            cut.n_rows,
            rows.n_features,
            rows.stored,
            rows.dtype,
            rows.is_sparse,
            tuple((lo, hi) for _, lo, hi in cut.pieces),
            tuple(lengths[number] for number, _, _ in cut.pieces),
        )
        for cut in cuts
    ]


def _read(spec: BlockSpec, chunks: list[list[Any]], weights: list[Any] | None) -> Any:
    """Rows of a block, and weights if there are any; they are checked where they arrive."""
    rows = joined_rows(spec, chunks)
    return rows if weights is None else (rows, np.asarray(joined_weights(spec, weights)))
