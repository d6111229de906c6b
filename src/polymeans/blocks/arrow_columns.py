"""Columns of an Arrow table as features: which ones, of which type, and their values as rows."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymeans._validation import shown
from polymeans.blocks.extras import load
from polymeans.blocks.pages import array_of_own_pages

#: Rows that are filled in at a time, at least, and bytes of as many as a cache holds. Values of one
#: column go to distant places, which stay in cache until the last column is done. With 32 columns,
#: 1024 rows took a fifth longer than 4096, by what each of many assignments costs.
_TILE, _TILE_BYTES = 1024, 2**19

#: What Dask calls an index without a name.
_DASK_INDEX = "__null_dask_index__"


@dataclass(frozen=True)
class Column:
    """A column, and the features it makes: one, or as many as its lists of fixed size are long."""

    name: str
    first: int
    width: int
    is_list: bool


@dataclass(frozen=True)
class Columns:
    """All columns that are read."""

    features: tuple[Column, ...]
    weight: str | None
    dtype: np.dtype[Any]

    @property
    def n_features(self) -> int:
        return self.features[-1].first + self.features[-1].width

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """Names of the features, if each is a column of its own."""
        if any(column.is_list for column in self.features):
            return None
        return tuple(column.name for column in self.features)

    @property
    def names(self) -> list[str]:
        names = [column.name for column in self.features]
        return names if self.weight is None else [*names, self.weight]

    def read(
        self, batches: Iterable[Any], n_rows: int, first: int
    ) -> NDArray[Any] | tuple[NDArray[Any], NDArray[Any]]:
        """Rows of some batches, and their weights, if there are any.

        Parameters
        ----------
        batches : iterable of pyarrow.RecordBatch
            Each is let go of before the next one is asked for.
        n_rows : int
            How many rows they should have; fewer are returned if they have fewer.
        first : int
            Global number of the first row.

        Returns
        -------
        rows, or (rows, weights)
        """
        rows = array_of_own_pages((n_rows, self.n_features), self.dtype)
        weights = np.empty(n_rows)
        start = 0
        for batch in batches:
            self._fill(batch, rows[start:], weights[start:], first + start)
            start += batch.num_rows
            del batch
        return rows[:start] if self.weight is None else (rows[:start], weights[:start])

    def _fill(
        self, batch: Any, rows: NDArray[Any], weights: NDArray[np.float64], first: int
    ) -> None:
        """Write the rows of a batch."""
        values = [
            _values(batch.column(column.name), column.name, column.is_list, first)
            for column in self.features
        ]
        height = max(_TILE, _TILE_BYTES // rows.strides[0])
        for lo in range(0, batch.num_rows, height):
            tile = rows[lo : min(lo + height, batch.num_rows)]
            for column, array in zip(self.features, values):
                tile[:, column.first : column.first + column.width] = array[lo : lo + height]
        if self.weight is not None:
            found = _values(batch.column(self.weight), self.weight, False, first)
            weights[: batch.num_rows] = found[:, 0]


def columns_of(schema: Any, columns: Iterable[str] | None, weight_column: str | None) -> Columns:
    """The columns to read from tables of this schema.

    Parameters
    ----------
    schema : pyarrow.Schema
    columns : iterable of str or None
        None: all of them but the weights and the index of a frame.
    weight_column : str or None

    Returns
    -------
    Columns
    """
    types = load("pyarrow.types")
    if isinstance(columns, str):
        raise TypeError(f"columns must be a list of names, got {columns!r}. Write [{columns!r}].")
    index = index_columns(schema)
    names = [name for name in schema.names if name != weight_column and name not in index]
    if columns is not None:
        names = list(columns)
    for name in names if weight_column is None else [*names, weight_column]:
        if schema.names.count(name) != 1:
            found = "is no column" if name not in schema.names else "are several columns"
            raise ValueError(f"There {found} {name!r}. Columns are {shown(schema.names)}.")
    if not names:
        aside = f", only the index {shown(sorted(index))}" if index else ""
        raise ValueError(f"There are no columns to cluster by{aside}. At least one is needed.")
    if len(set(names)) < len(names):
        raise ValueError(f"columns must name each column once, got {shown(names)}.")
    features, first, narrow = [], 0, True
    for name in names:
        kind = schema.field(name).type
        is_list = types.is_fixed_size_list(kind)
        value = kind.value_type if is_list else kind
        _check_is_number(name, value, types)
        features.append(Column(name, first, kind.list_size if is_list else 1, is_list))
        first += features[-1].width
        narrow &= types.is_float32(value)
    if weight_column is not None:
        _check_is_number(weight_column, schema.field(weight_column).type, types)
    if first == 0:
        raise ValueError(
            f"The lists of column {names[0]!r} are empty: there is no feature. Name other columns."
        )
    return Columns(tuple(features), weight_column, np.dtype(np.float32 if narrow else np.float64))


def index_columns(schema: Any) -> set[str]:
    """Columns that number or name the rows of a pandas or Dask frame."""
    found = {_DASK_INDEX}
    try:
        said = json.loads((schema.metadata or {})[b"pandas"])["index_columns"]
    except (KeyError, TypeError, ValueError):  # not written from a frame, or by another program
        said = []
    # Entries that are no text describe a range, which has no column.
    found.update(name for name in said if isinstance(name, str))
    return found & set(schema.names)


def _check_is_number(name: str, kind: Any, types: Any) -> None:
    if types.is_floating(kind) or types.is_integer(kind) or types.is_boolean(kind):
        return
    remedy = "Cast it to float64"
    if types.is_dictionary(kind) or types.is_string(kind) or types.is_large_string(kind):
        remedy = "Encode it as numbers, for example with sklearn.preprocessing.OneHotEncoder"
    elif types.is_list(kind) or types.is_large_list(kind):
        remedy = "Cast it to lists of a fixed size, pyarrow.list_(pyarrow.float32(), size)"
    raise TypeError(
        f"Column {name!r} has values of type {kind}, which are no numbers. {remedy}, or leave it "
        "out: columns=[...] names those to read."
    )


def _values(column: Any, name: str, is_list: bool, first: int) -> NDArray[Any]:
    """Values of a column as an array of shape (n_rows, width)."""
    n = len(column)
    _check_no_nulls(column, name, first, 1)
    if is_list:
        width = column.type.list_size
        column = column.flatten()
        _check_no_nulls(column, name, first, width)
    return column.to_numpy(zero_copy_only=False).reshape(n, -1)


def _check_no_nulls(column: Any, name: str, first: int, width: int) -> None:
    if column.null_count:
        nulls = np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))
        raise ValueError(
            f"Column {name!r} has no value (null) in row {first + int(nulls[0]) // width}. Fill in "
            f"the value, or leave such rows out: filters=~pyarrow.compute.field({name!r}).is_null()"
        )
