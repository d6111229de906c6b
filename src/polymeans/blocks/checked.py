"""The one place where blocks are checked as they are read."""

from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass
from itertools import accumulate
from numbers import Integral
from typing import Any, NoReturn

import numpy as np

from polymeans._not_rows import refuse_masked
from polymeans._validation import shown
from polymeans.blocks.files import Stamp
from polymeans.blocks.protocol import Block, Blocks
from polymeans.blocks.rows import check_csr, check_dense, check_weights, kind_of, working_dtype
from polymeans.blocks.weights import RowWeights
from polymeans.blocks.witness import witness_of

#: What to pass instead of an object that can be read only once.
INSTEAD = (
    "Rows are read several times. Pass an array, a memory map or another object with a length and "
    "slices to polymeans.blocks.from_sequence, an object with the attributes of "
    "polymeans.blocks.Blocks, or write the rows to files and open these with "
    "polymeans.blocks.from_npy or from_parquet."
)


@dataclass(frozen=True)
class Announcement:
    """What a source says about its blocks before any of them is read."""

    sizes: tuple[int, ...]  #: rows of each block
    n_features: int
    stored: np.dtype[Any]  #: type of the values as they are read, before they are converted
    is_sparse: bool
    name: str  #: of the source, for errors
    places: tuple[str, ...] = ()  #: where each block lies, for errors
    stamps: tuple[tuple[Stamp, ...], ...] = ()  #: files that each block is read from
    feature_names: tuple[str, ...] | None = None  #: where columns have names


class CheckedBlocks(Blocks):
    """Blocks that are compared, whenever they are read, with what was announced.

    Parameters
    ----------
    read : callable
        Returns block ``i``: rows, or rows and weights.
    announced : Announcement
    weights : RowWeights or None, default=None
        Weights of all rows, where they do not come with the blocks.
    """

    def __init__(
        self,
        read: Callable[[int], Block],
        announced: Announcement,
        weights: RowWeights | None = None,
    ) -> None:
        name = announced.name
        if not announced.sizes or not sum(announced.sizes):
            raise ValueError(f"{name} has no rows. At least one is needed.")
        if announced.n_features < 1:
            raise ValueError(f"{name} has no columns. At least one feature is needed.")
        self._read, self._announced, self._weights = read, announced, weights
        self._dtype = working_dtype(announced.stored, name)
        self._firsts = tuple(accumulate(announced.sizes, initial=0))
        for i, size in enumerate(announced.sizes):
            if size < 1:
                raise ValueError(f"{self._where(i)} has no rows. Leave it out.")
        if weights is not None:
            weights.check_length(self.n_samples)
        #: Whether blocks come with weights; unknown until one was read.
        self._brings_weights: bool | None = None if weights is None else False
        #: What each block was like when it was read first; None: nothing is compared.
        self._witnesses: dict[int, bytes] | None = None

    @property
    def n_samples(self) -> int:
        return self._firsts[-1]

    @property
    def n_features(self) -> int:
        return self._announced.n_features

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._dtype

    @property
    def is_sparse(self) -> bool:
        return self._announced.is_sparse

    @property
    def sizes(self) -> tuple[int, ...]:
        return self._announced.sizes

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """Names of the columns, where they have some."""
        return self._announced.feature_names

    @property
    def brings_weights(self) -> bool | None:
        """Whether blocks come with weights; None: unknown, because none was read yet."""
        return self._weights is not None or self._brings_weights

    def __len__(self) -> int:
        return len(self.sizes)

    def __iter__(self) -> Iterator[Block]:
        return (self[i] for i in range(len(self)))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NoReturn:
        """Blocks are no array: libraries that want one would get all rows at once."""
        raise TypeError(
            f"{self!r} is no array: its rows are read block by block. Pass it to estimators of "
            "polymeans, or make an array of the rows of all blocks if they fit into memory: "
            "numpy.concatenate(list(blocks)), scipy.sparse.vstack for CSR rows, and of rows[0] "
            "where blocks are pairs of rows and weights."
        )

    def __repr__(self) -> str:
        kind = "CSR" if self.is_sparse else "dense"
        return (
            f"<{self.n_samples} x {self.n_features} {kind} rows of {self.dtype} in {len(self)} "
            f"blocks, from {self._announced.name}>"
        )

    def __getitem__(self, i: int, /) -> Block:
        if not isinstance(i, Integral) or not -len(self) <= i < len(self):
            raise IndexError(f"There is no block {shown(i)}: blocks are 0 to {len(self) - 1}.")
        i = int(i) % len(self)
        first, where = self._firsts[i], self._where(i)
        rows, weights = _apart(self._read_unchanged(i))
        rows, total = self._checked_rows(rows, i, where)
        self._check_brings_weights(weights is not None, where)
        if self._weights is not None:
            weights = self._weights[first : first + self.sizes[i]]
        if weights is not None:
            weights = check_weights(weights, self.sizes[i], first, where)
        if self._witnesses is not None:
            witness = witness_of(rows, total, weights)
            if self._witnesses.setdefault(i, witness) != witness:
                raise ValueError(
                    f"{where} has other values than when it was read before. Every pass has to "
                    "read the same rows: let the source return the same ones each time, without "
                    "drawing random numbers, or write them to files first."
                )
        return rows if weights is None else (rows, weights)

    def watched(self) -> "CheckedBlocks":
        """The same blocks, each of which has to be the same one whenever it is read from now on.

        What is compared costs next to nothing, see :func:`~polymeans.blocks.witness.witness_of`.
        """
        watched = copy(self)
        watched._witnesses = {}
        return watched

    def _read_unchanged(self, i: int) -> Block:
        stamps = self._announced.stamps[i] if self._announced.stamps else ()
        for stamp in stamps:
            stamp.check()
        try:
            return self._read(i)
        finally:  # a file that changed is the better explanation of whatever went wrong
            for stamp in stamps:
                stamp.check()

    def _checked_rows(self, rows: Any, i: int, where: str) -> tuple[Any, np.floating[Any]]:
        announced = self._announced
        wanted, found = "CSR" if announced.is_sparse else "dense", kind_of(rows)
        if found != wanted:
            remedy = "Convert it with tocsr()." if hasattr(rows, "tocsr") else "All must be alike."
            raise TypeError(f"{where} is {found}, but {wanted} rows were announced. {remedy}")
        refuse_masked(rows, where)
        if rows.ndim != 2:
            raise ValueError(f"{where} has the shape {rows.shape}. Blocks must be 2-D.")
        shape = self.sizes[i], announced.n_features
        if rows.shape[1] != shape[1]:
            raise ValueError(
                f"{where} has {rows.shape[1]} columns, but {shape[1]} were announced. All blocks "
                "must have the same width."
            )
        if rows.shape[0] != shape[0]:
            raise ValueError(
                f"{where} has {rows.shape[0]} rows, but {shape[0]} were announced. Every pass has "
                "to read the same rows."
            )
        if rows.dtype.newbyteorder("=") != announced.stored.newbyteorder("="):
            raise TypeError(
                f"{where} has values of type {rows.dtype}, but {announced.stored} was announced. "
                "All blocks must have the same dtype."
            )
        check = check_csr if announced.is_sparse else check_dense
        return check(rows, self.dtype, self._firsts[i], where)

    def _check_brings_weights(self, brings: bool, where: str) -> None:
        if self._brings_weights is None:
            self._brings_weights = brings
        elif self._brings_weights and not brings:
            raise ValueError(f"{where} has no weights, but other blocks have. Give all or none.")
        elif brings and not self._brings_weights:
            raise ValueError(f"{where} has weights, but other blocks have none. Give all or none.")

    def _where(self, i: int) -> str:
        places = self._announced.places
        return f"Block {i} of {self._announced.name}" if not places else f"Block {i} ({places[i]})"


def check_blocks(blocks: Any) -> CheckedBlocks:
    """Any blocks, checked whenever one of them is read.

    Parameters
    ----------
    blocks : Blocks
        A source of one of the readers, which is returned as it is, or any other object that has
        what :class:`Blocks` describes.

    Returns
    -------
    CheckedBlocks
    """
    if isinstance(blocks, CheckedBlocks):
        return blocks
    refuse_one_shot(blocks, "blocks")
    if not isinstance(blocks, Blocks):
        wanted = ("n_samples", "n_features", "dtype", "is_sparse", "sizes")
        missing = [
            name for name in (*wanted, "__len__", "__getitem__") if not hasattr(blocks, name)
        ]
        raise TypeError(
            f"blocks must be an object as polymeans.blocks.Blocks describes it, got "
            f"{shown(blocks)}, which has no {', '.join(missing)}. Arrays and objects with slices "
            "go to polymeans.blocks.from_sequence."
        )
    name = f"the {type(blocks).__name__}"
    sizes = tuple(int(size) for size in blocks.sizes)
    if len(sizes) != len(blocks) or sum(sizes) != blocks.n_samples:
        raise ValueError(
            f"{name} has {len(blocks)} blocks and {blocks.n_samples} rows, but sizes has "
            f"{len(sizes)} entries that add up to {sum(sizes)}. Let sizes have the rows of "
            "each block."
        )
    announced = Announcement(
        sizes, int(blocks.n_features), np.dtype(blocks.dtype), bool(blocks.is_sparse), name
    )
    return CheckedBlocks(blocks.__getitem__, announced)


def refuse_one_shot(rows: Any, name: str) -> None:
    """Raise if ``rows`` is a generator or another object that can be read only once."""
    if hasattr(rows, "__next__"):
        raise TypeError(f"{name} is {shown(rows)}, which can be read only once. {INSTEAD}")


def _apart(block: Block) -> tuple[Any, Any]:
    """Rows and weights of a block that may or may not have weights."""
    if isinstance(block, tuple):
        if len(block) != 2:
            raise TypeError(
                f"A block must be rows, or a pair of rows and weights, got {len(block)} objects."
            )
        return block
    return block, None
