"""Rows in batches: from arrays, CSR rows, blocks that are read one at a time, or a DataLoader.

All of them give the same batches of row numbers for the same random numbers, except that blocks
are shuffled as blocks and then inside, so that each is read once in an epoch.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from numpy.random import RandomState
from numpy.typing import NDArray
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, IterableDataset

from polymeans._rows import is_blocks, is_dask
from polymeans._validation import check_rows, match_features, shown
from polymeans.blocks.checked import CheckedBlocks, check_blocks

#: Rows that go through a network at a time where nothing is learned. It is always this many, the
#: last ones filled up with zeros: products of another height could be rounded otherwise, and a row
#: would get another latent vector in another company.
FIXED_ROWS = 256


class RowSource(ABC):
    """Rows that can be read in any order of batches.

    Parameters
    ----------
    n_samples, n_features : int
    dtype : torch.dtype
        Of the batches.
    """

    def __init__(self, n_samples: int, n_features: int, dtype: torch.dtype) -> None:
        self.n_samples, self.n_features, self.dtype = n_samples, n_features, dtype

    @property
    def shape(self) -> tuple[int, int]:
        """Of all rows together."""
        return self.n_samples, self.n_features

    def n_batches(self, batch_size: int) -> int:
        """Batches of an epoch: of about this size, and of equal size among each other."""
        return max(1, round(self.n_samples / batch_size))

    @abstractmethod
    def shuffled(
        self, batch_size: int, rng: RandomState
    ) -> Iterator[tuple[NDArray[np.int64], Tensor]]:
        """Row numbers and rows of the batches of one epoch."""

    @abstractmethod
    def in_order(self) -> Iterator[Tensor]:
        """Rows as they come, in batches of :data:`FIXED_ROWS` but for the last one."""


class ArrayRows(RowSource):
    """Dense rows in memory, converted once.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    dtype : torch.dtype
    """

    def __init__(self, X: NDArray[Any], dtype: torch.dtype) -> None:
        super().__init__(X.shape[0], X.shape[1], dtype)
        wanted = np.float32 if dtype == torch.float32 else np.float64
        with np.errstate(over="ignore"):
            X = np.ascontiguousarray(X, dtype=wanted)
        if not np.isfinite(X).all():
            raise ValueError(
                f"X has values beyond the largest {X.dtype} number. Divide it by its largest "
                'value, or use dtype="float64".'
            )
        # PyTorch warns about arrays that cannot be written to; nothing here writes to them.
        self.rows = torch.from_numpy(X if X.flags.writeable else X.copy())

    def shuffled(
        self, batch_size: int, rng: RandomState
    ) -> Iterator[tuple[NDArray[np.int64], Tensor]]:
        for numbers in np.array_split(rng.permutation(self.n_samples), self.n_batches(batch_size)):
            yield numbers, self.rows[torch.from_numpy(numbers)]

    def in_order(self) -> Iterator[Tensor]:
        yield from self.rows.split(FIXED_ROWS)


class SparseRows(RowSource):
    """CSR rows in memory, made dense batch by batch.

    Parameters
    ----------
    X : CSR matrix or array of shape (n_samples, n_features)
    dtype : torch.dtype
    """

    def __init__(self, X: Any, dtype: torch.dtype) -> None:
        super().__init__(X.shape[0], X.shape[1], dtype)
        self.rows = X

    def _dense(self, rows: Any) -> Tensor:
        return torch.from_numpy(rows.toarray()).to(self.dtype)

    def shuffled(
        self, batch_size: int, rng: RandomState
    ) -> Iterator[tuple[NDArray[np.int64], Tensor]]:
        for numbers in np.array_split(rng.permutation(self.n_samples), self.n_batches(batch_size)):
            yield numbers, self._dense(self.rows[numbers])

    def in_order(self) -> Iterator[Tensor]:
        for first in range(0, self.n_samples, FIXED_ROWS):
            yield self._dense(self.rows[first : first + FIXED_ROWS])


class BlockRows(RowSource):
    """Rows in blocks, which are read again in each epoch.

    Parameters
    ----------
    blocks : CheckedBlocks
    dtype : torch.dtype
    """

    def __init__(self, blocks: CheckedBlocks, dtype: torch.dtype) -> None:
        super().__init__(blocks.n_samples, blocks.n_features, dtype)
        self.blocks = blocks
        self._firsts = np.cumsum((0, *blocks.sizes))

    def n_batches(self, batch_size: int) -> int:
        """Batches of an epoch: none of them spans two blocks."""
        return sum(max(1, round(size / batch_size)) for size in self.blocks.sizes)

    def _block(self, i: int) -> Any:
        block = self.blocks[i]
        if isinstance(block, tuple):
            raise ValueError(
                f"Block {i} of X has weights, but networks count all rows alike. Leave them out."
            )
        return block

    def _dense(self, rows: Any) -> Tensor:
        dense = rows.toarray() if sp.issparse(rows) else np.array(rows)
        return torch.from_numpy(dense).to(self.dtype)

    def shuffled(
        self, batch_size: int, rng: RandomState
    ) -> Iterator[tuple[NDArray[np.int64], Tensor]]:
        for i in rng.permutation(len(self.blocks)):
            rows, size = self._block(int(i)), self.blocks.sizes[i]
            order = rng.permutation(size)
            for numbers in np.array_split(order, max(1, round(size / batch_size))):
                yield self._firsts[i] + numbers, self._dense(rows[numbers])

    def in_order(self) -> Iterator[Tensor]:
        rest: list[Tensor] = []
        for i in range(len(self.blocks)):
            rows = self._block(i)
            for first in range(0, rows.shape[0], FIXED_ROWS):
                rest.append(self._dense(rows[first : first + FIXED_ROWS]))
                joined = torch.cat(rest)
                while len(joined) >= FIXED_ROWS:
                    yield joined[:FIXED_ROWS]
                    joined = joined[FIXED_ROWS:]
                rest = [joined]
        if rest and len(rest[0]):
            yield rest[0]


class LoaderRows(RowSource):
    """Rows of a data set, or of the one behind a ``torch.utils.data.DataLoader``.

    Its data set, its way to put rows together and its worker processes are used. The order is
    chosen here, because each row has a label: sampler and batch size of the loader do not count.

    Parameters
    ----------
    X : DataLoader or Dataset
        What the user gave; errors call it so.
    dtype : torch.dtype
    """

    def __init__(self, X: Any, dtype: torch.dtype) -> None:
        self.what = type(X).__name__
        data = X.dataset if isinstance(X, DataLoader) else X
        n_samples = _length(data, self.what)
        if n_samples == 0:
            raise ValueError(f"X is a {self.what} without rows. At least one is needed.")
        self.loader: Any = X if isinstance(X, DataLoader) else DataLoader(X)
        first = self._rows(self.loader.collate_fn([data[0]]), dtype, 0)
        super().__init__(n_samples, first.shape[1], dtype)

    def _rows(self, batch: Any, dtype: torch.dtype, number: int) -> Tensor:
        rows = batch[0] if isinstance(batch, tuple | list) else batch
        if not isinstance(rows, Tensor):
            raise TypeError(
                f"Rows of the {self.what} must be tensors, or begin with one, got {shown(rows)}."
            )
        if rows.ndim < 2 and isinstance(batch, tuple | list) and len(batch) > 1:
            raise TypeError(
                f"Rows of the {self.what} are {len(batch)} single numbers, which may be features, "
                "or a feature and what belongs to it. Return one tensor or array for each row."
            )
        rows = rows.reshape(len(rows), -1).to(dtype)
        if not torch.isfinite(rows).all():
            raise ValueError(
                f"Input X contains NaN or infinity (in batch {number} of the {self.what}). Drop "
                "these rows or fill them in."
            )
        return rows

    def _batches(self, batches: Any) -> Iterator[tuple[NDArray[np.int64], Tensor]]:
        numbers = [np.asarray(batch, dtype=np.int64) for batch in batches]
        loader: Any = DataLoader(
            self.loader.dataset,
            batch_sampler=[batch.tolist() for batch in numbers],
            collate_fn=self.loader.collate_fn,
            num_workers=self.loader.num_workers,
            worker_init_fn=self.loader.worker_init_fn,
            generator=torch.Generator(),  # its seeds would come from global numbers
        )
        for number, batch in enumerate(loader):
            yield numbers[number], self._rows(batch, self.dtype, number)

    def shuffled(
        self, batch_size: int, rng: RandomState
    ) -> Iterator[tuple[NDArray[np.int64], Tensor]]:
        order = rng.permutation(self.n_samples)
        yield from self._batches(np.array_split(order, self.n_batches(batch_size)))

    def in_order(self) -> Iterator[Tensor]:
        edges = range(FIXED_ROWS, self.n_samples, FIXED_ROWS)
        for _, rows in self._batches(np.split(np.arange(self.n_samples), edges)):
            yield rows


def _length(data: Any, what: str) -> int:
    """Rows of a data set; an error if they have no numbers."""
    why = "must not be an IterableDataset"
    if not isinstance(data, IterableDataset):
        try:
            return len(data)
        except (TypeError, NotImplementedError):
            why = "must have __len__"
    kind = type(data).__name__
    raise TypeError(
        f"X is a {what}, but rows need numbers: the data set, of type {kind}, {why}. Use a data "
        "set with __len__ and __getitem__, or polymeans.blocks."
    )


def rows_for(estimator: Any, X: Any, dtype: torch.dtype, *, reset: bool) -> RowSource:
    """Whatever a user gave as rows, checked against the features that an estimator knows.

    Parameters
    ----------
    estimator : estimator
    X : array-like, CSR rows, Blocks, DataLoader or Dataset
    dtype : torch.dtype
    reset : bool
        Whether the estimator gets to know the features now.
    """
    if isinstance(X, DataLoader | Dataset):
        loader = LoaderRows(X, dtype)
        match_features(estimator, loader.n_features, None, reset)
        return loader
    if is_dask(X):
        raise TypeError(
            f"X is a Dask collection, which {type(estimator).__name__} does not take. Give its "
            "chunks as blocks, polymeans.blocks.from_sequence, or call X.compute()."
        )
    if is_blocks(X):
        blocks = check_blocks(X)
        match_features(estimator, blocks.n_features, getattr(X, "feature_names", None), reset)
        return BlockRows(blocks, dtype)
    return checked_source(check_rows(estimator, X, reset=reset), dtype)


def checked_source(X: Any, dtype: torch.dtype) -> RowSource:
    """Rows in memory that have been checked.

    Parameters
    ----------
    X : ndarray or CSR matrix or array of shape (n_samples, n_features)
    dtype : torch.dtype
        Of the batches.
    """
    return SparseRows(X, dtype) if sp.issparse(X) else ArrayRows(X, dtype)
