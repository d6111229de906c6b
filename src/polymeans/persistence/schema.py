"""What the attributes of a model have to be, checked against each other before a model is built.

Lengths have names: ``Array("rows", ("k", "d"))`` says that an array has k rows and d columns, and
all arrays of a model that mention ``"k"`` must agree on it. A kernel therefore never sees arrays
whose widths differ. The type ``"rows"`` stands for float32 or float64, the same for all of them.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from polymeans.persistence.errors import ModelFileError
from polymeans.persistence.plain import Columns

_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))


@dataclass
class Agreed:
    """Lengths and the type of rows that all attributes of one model agree on."""

    lengths: dict[str, int] = field(default_factory=dict)
    dtype: np.dtype[Any] | None = None

    def length(self, symbol: str | int, found: int, name: str) -> None:
        """Raise unless this is the length that the symbol stands for."""
        expected = symbol if isinstance(symbol, int) else self.lengths.setdefault(symbol, found)
        if expected != found:
            raise ModelFileError(f"{name} has length {found} where {expected} is expected.")

    def rows(self, dtype: np.dtype[Any], name: str) -> None:
        """Raise unless this is the type of all rows."""
        if dtype not in _FLOATS:
            raise ModelFileError(f"{name} has type {dtype}; float32 or float64 is expected.")
        if self.dtype is not None and dtype != self.dtype:
            raise ModelFileError(f"{name} has type {dtype} where {self.dtype} is expected.")
        self.dtype = dtype


class Kind(ABC):
    """What a value may be."""

    @abstractmethod
    def check(self, value: Any, name: str, agreed: Agreed) -> Any:
        """The value, or an error."""


@dataclass(frozen=True)
class Array(Kind):
    """Numbers of one type: ``"rows"``, ``"float"`` (of 4 or 8 bytes), or such as ``"i4"``.

    A whole number in an array with ``below`` is at least 0 and less than the length of that name.
    """

    dtype: str
    shape: tuple[str | int, ...]
    below: str | None = None
    finite: bool = True

    def check(self, value: Any, name: str, agreed: Agreed) -> NDArray[Any]:
        """The array, or an error."""
        if not isinstance(value, np.ndarray) or value.ndim != len(self.shape):
            raise ModelFileError(f"{name} must be an array of {len(self.shape)} dimensions.")
        if self.dtype == "rows":
            agreed.rows(value.dtype, name)
        elif self.dtype == "float":
            if value.dtype not in _FLOATS:
                raise ModelFileError(f"{name} has type {value.dtype}; floats are expected.")
        elif value.dtype != np.dtype(self.dtype):
            raise ModelFileError(f"{name} has type {value.dtype} where {self.dtype} is expected.")
        for symbol, length in zip(self.shape, value.shape):
            agreed.length(symbol, length, name)
        if self.finite and value.dtype.kind == "f" and not np.isfinite(value).all():
            raise ModelFileError(f"{name} has NaN or infinity.")
        if self.below is not None and value.size:
            limit = agreed.lengths[self.below]
            if value.min() < 0 or value.max() >= limit:
                raise ModelFileError(f"{name} must have numbers from 0 to {limit - 1}.")
        return value


@dataclass(frozen=True)
class Matrix(Kind):
    """A CSR matrix or array, or rows of either container if ``or_dense``."""

    shape: tuple[str | int, str | int]
    or_dense: bool = False

    def check(self, value: Any, name: str, agreed: Agreed) -> Any:
        """The matrix, or an error."""
        if self.or_dense and not sp.issparse(value):
            return Array("rows", self.shape).check(value, name, agreed)
        if not sp.issparse(value):
            raise ModelFileError(f"{name} must be a CSR matrix.")
        agreed.rows(value.dtype, name)
        for symbol, length in zip(self.shape, value.shape):
            agreed.length(symbol, length, name)
        if not np.isfinite(value.data).all():
            raise ModelFileError(f"{name} has NaN or infinity.")
        return value


@dataclass(frozen=True)
class Whole(Kind):
    """A whole number from ``least`` on; with ``is_length``, the length of that name."""

    least: int = 0
    is_length: str | None = None

    def check(self, value: Any, name: str, agreed: Agreed) -> int:
        """The number, or an error."""
        if type(value) is not int or not self.least <= value < 2**63:
            raise ModelFileError(f"{name} must be a whole number of at least {self.least}.")
        if self.is_length is not None:
            agreed.length(self.is_length, value, name)
        return value


@dataclass(frozen=True)
class Number(Kind):
    """A float; ``positive``: finite and above zero; ``finite``: not NaN, not infinite."""

    positive: bool = False
    finite: bool = False

    def check(self, value: Any, name: str, agreed: Agreed) -> float:
        """The number, or an error."""
        if type(value) not in (float, int):
            raise ModelFileError(f"{name} must be a number.")
        number = float(value) if abs(value) < 2**1000 or type(value) is float else math.inf
        if (self.positive or self.finite) and not math.isfinite(number):
            raise ModelFileError(f"{name} must be finite.")
        if self.positive and not number > 0:
            raise ModelFileError(f"{name} must be larger than 0.")
        return value


@dataclass(frozen=True)
class Flag(Kind):
    """True or False."""

    def check(self, value: Any, name: str, agreed: Agreed) -> bool:
        """The value, or an error."""
        if type(value) is not bool:
            raise ModelFileError(f"{name} must be true or false.")
        return value


@dataclass(frozen=True)
class Choice(Kind):
    """One of some texts."""

    choices: tuple[str, ...]

    def check(self, value: Any, name: str, agreed: Agreed) -> str:
        """The text, or an error."""
        if not isinstance(value, str) or value not in self.choices:
            raise ModelFileError(f"{name} must be one of {', '.join(self.choices)}.")
        return value


@dataclass(frozen=True)
class Texts(Kind):
    """A one-dimensional array of texts of this length."""

    length: str

    def check(self, value: Any, name: str, agreed: Agreed) -> NDArray[np.object_]:
        """The texts, or an error."""
        if not isinstance(value, np.ndarray) or value.dtype != object or value.ndim != 1:
            raise ModelFileError(f"{name} must be an array of texts.")
        agreed.length(self.length, len(value), name)
        return value


@dataclass(frozen=True)
class Records(Kind):
    """A structured array of this type, given by its columns."""

    dtype: Any

    def check(self, value: Any, name: str, agreed: Agreed) -> NDArray[Any]:
        """The array, or an error."""
        dtype = np.dtype(self.dtype)
        assert dtype.names is not None
        if not isinstance(value, Columns) or value.keys() != set(dtype.names):
            raise ModelFileError(f"{name} must have the columns {', '.join(dtype.names)}.")
        for column in dtype.names:
            kind = Array(dtype[column].str, ("#records",), finite=False)
            kind.check(value[column], f"{name}.{column}", agreed)
        array = np.empty(agreed.lengths.pop("#records"), dtype=dtype)
        for column in dtype.names:
            array[column] = value[column]
        return array


@dataclass(frozen=True)
class ListOf(Kind):
    """A list or, with ``as_tuple``, a tuple of values of one kind.

    Lengths whose names begin with "#" are those of each one of them.
    """

    kind: Kind
    as_tuple: bool = False
    length: str | None = None
    of: type[Any] | None = None

    def check(self, value: Any, name: str, agreed: Agreed) -> Any:
        """The list, or an error."""
        if type(value) is not (tuple if self.as_tuple else list):
            raise ModelFileError(f"{name} must be a {'tuple' if self.as_tuple else 'list'}.")
        if self.length is not None:
            agreed.length(self.length, len(value), name)
        for i, part in enumerate(value):
            if self.of is not None and type(part) is not self.of:
                raise ModelFileError(f"{name}[{i}] is not what it should be.")
            self.kind.check(part, f"{name}[{i}]", agreed)
            for symbol in [known for known in agreed.lengths if known.startswith("#")]:
                del agreed.lengths[symbol]
        return value


@dataclass(frozen=True)
class Maybe(Kind):
    """None, or a value of some kind."""

    kind: Kind

    def check(self, value: Any, name: str, agreed: Agreed) -> Any:
        """The value, or an error."""
        return None if value is None else self.kind.check(value, name, agreed)


@dataclass(frozen=True)
class Parts(Kind):
    """A dictionary with these keys."""

    kinds: dict[str, Kind]

    def check(self, value: Any, name: str, agreed: Agreed) -> dict[str, Any]:
        """The dictionary, or an error."""
        if not isinstance(value, dict) or value.keys() != self.kinds.keys():
            raise ModelFileError(f"{name} must have the parts {', '.join(self.kinds)}.")
        return {
            key: kind.check(value[key], f"{name}.{key}", agreed) for key, kind in self.kinds.items()
        }


@dataclass(frozen=True)
class Later(Kind):
    """A value that depends on others: :attr:`Structure.finish` checks it."""

    def check(self, value: Any, name: str, agreed: Agreed) -> Any:
        """The value as it is."""
        return value


@dataclass(frozen=True)
class Plain(Kind):
    """Numbers, texts, None, and lists, tuples and dictionaries of them, to look at only."""

    def check(self, value: Any, name: str, agreed: Agreed) -> Any:
        """The value, or an error."""
        if isinstance(value, dict) and not isinstance(value, Columns):
            return {key: self.check(part, f"{name}.{key}", agreed) for key, part in value.items()}
        if isinstance(value, list | tuple):
            return type(value)(self.check(part, name, agreed) for part in value)
        if value is None or type(value) in (bool, int, float, str):
            return value
        raise ModelFileError(f"{name} must have numbers and texts only.")
