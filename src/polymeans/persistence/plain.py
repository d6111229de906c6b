"""Values of a model as JSON and arrays, and back.

``None``, booleans, whole numbers, finite floats, texts and lists are themselves in JSON. All other
values are an object with a single key that says what it is:

=====================  ==========================================================================
``{"$array": name}``   an array of the file
``{"$fortran": name}`` one whose transpose is in the file: its columns are contiguous in memory
``{"$strings": [..]}`` an array of texts, as Python objects
``{"$unicode": [..]}`` one of the width of its longest text
``{"$csr": {..}}``     a CSR matrix or array: data, indices, indptr, shape, whether a matrix
``{"$records": {..}}`` a structured array, one entry for each field
``{"$tuple": [..]}``   a tuple
``{"$dict": {..}}``    a dictionary with texts as keys
``{"$float": "nan"}``  a float that JSON lacks: nan, inf, -inf
``{"$seed": {..}}``    a ``numpy.random.RandomState``: keys, position, gauss, has_gauss
``{"$model": {..}}``   another model: its class and values
=====================  ==========================================================================
"""

import math
from numbers import Integral, Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.random import RandomState
from numpy.typing import NDArray

from polymeans._validation import shown
from polymeans.persistence.errors import ModelFileError
from polymeans.persistence.layout import NAMES

_FLOATS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}

#: Numbers in the state of a RandomState.
_STATE_SIZE = 624


class Packer:
    """Turns values into JSON, and collects their arrays."""

    def __init__(self) -> None:
        self.arrays: dict[str, NDArray[Any]] = {}

    def pack(self, value: Any, name: str) -> Any:
        """JSON for a value; ``name`` is that of its array, and says in errors what it is."""
        if value is None or isinstance(value, bool | str):
            return str(value) if isinstance(value, str) else value
        if isinstance(value, np.bool_):
            return bool(value)
        if isinstance(value, Integral):
            return int(value)
        if isinstance(value, float | np.floating) and not isinstance(value, np.longdouble):
            return _packed_float(float(value))
        if isinstance(value, list):
            return [self.pack(part, f"{name}.{i}") for i, part in enumerate(value)]
        if isinstance(value, tuple):
            return {"$tuple": [self.pack(part, f"{name}.{i}") for i, part in enumerate(value)]}
        if isinstance(value, dict) and all(isinstance(key, str) for key in value):
            parts = {key: self.pack(part, f"{name}.{key}") for key, part in value.items()}
            return {"$dict": parts}
        if isinstance(value, RandomState):
            return self._seed(value, name)
        if hasattr(value, "__dask_graph__"):
            raise TypeError(
                f"{name} is a Dask collection, which a model file cannot hold. Save with "
                f"labels=False, or replace it before: model.{name} = model.{name}.compute()."
            )
        if sp.issparse(value):
            return self._csr(value.tocsr(), name)
        if hasattr(value, "__array__") and not isinstance(value, Real):
            return self._array(np.asarray(value), name)
        raise TypeError(
            f"{name}={shown(value)} cannot be kept in a model file, which holds numbers, texts and "
            f"arrays only{_remedy(value, name)}."
        )

    def _array(self, array: NDArray[Any], name: str) -> Any:
        if array.dtype.names:
            return {
                "$records": {
                    field: self.pack(array[field], f"{name}.{field}") for field in array.dtype.names
                }
            }
        if array.dtype.kind in "OU" and _are_texts(array):
            tag = "$strings" if array.dtype.kind == "O" else "$unicode"
            return {tag: [str(text) for text in array]}
        if array.dtype.newbyteorder("<") not in NAMES:
            raise TypeError(
                f"{name} is an array of type {array.dtype}, which a model file cannot hold. Use "
                "floats, whole numbers, booleans, or one dimension of texts."
            )
        fortran = array.flags.f_contiguous and not array.flags.c_contiguous
        self.arrays[name] = array.T if fortran else array
        return {"$fortran" if fortran else "$array": name}

    def _csr(self, matrix: Any, name: str) -> Any:
        if not matrix.has_canonical_format:
            matrix = matrix.copy()
            matrix.sum_duplicates()
        return {
            "$csr": {
                "data": self.pack(matrix.data, f"{name}.data"),
                "indices": self.pack(matrix.indices, f"{name}.indices"),
                "indptr": self.pack(matrix.indptr, f"{name}.indptr"),
                "shape": [int(length) for length in matrix.shape],
                "is_matrix": isinstance(matrix, sp.spmatrix),
            }
        }

    def _seed(self, seed: RandomState, name: str) -> Any:
        state = seed.get_state(legacy=False)
        if state["bit_generator"] != "MT19937":
            raise TypeError(
                f"{name} is a RandomState of {state['bit_generator']}, and a model file holds "
                "those of MT19937 only. Use an integer."
            )
        return {
            "$seed": {
                "keys": self.pack(state["state"]["key"], f"{name}.keys"),
                "position": int(state["state"]["pos"]),
                "has_gauss": int(state["has_gauss"]),
                "gauss": _packed_float(float(state["gauss"])),
            }
        }


def _packed_float(value: float) -> Any:
    return value if math.isfinite(value) else {"$float": str(value)}


def _are_texts(array: NDArray[Any]) -> bool:
    return array.ndim == 1 and all(isinstance(text, str) for text in array)


def _remedy(value: Any, name: str) -> str:
    if callable(value) and name == "init":
        return '. It is not needed after the fit: model.set_params(init="auto"), or another name'
    if callable(value):
        return ", no code. joblib.dump keeps functions that can be imported"
    return ""


class Unpacker:
    """Turns JSON back into values, and remembers which arrays were asked for."""

    def __init__(self, arrays: dict[str, NDArray[Any]]) -> None:
        self.arrays = arrays
        self.used: set[str] = set()

    def unpack(self, node: Any) -> Any:
        """The value that JSON stands for."""
        if isinstance(node, list):
            return [self.unpack(part) for part in node]
        if isinstance(node, float) and not math.isfinite(node):
            raise ModelFileError("A number is too large.")
        if not isinstance(node, dict):
            return node
        if len(node) != 1:
            raise ModelFileError(f"A value has the keys {_short(sorted(node))}; one is expected.")
        [(tag, content)] = node.items()
        reader = _READERS.get(tag)
        if reader is None:
            raise ModelFileError(f"A value is of the unknown kind {_short(tag)}.")
        return reader(self, content)

    def _array(self, name: Any) -> NDArray[Any]:
        if not isinstance(name, str) or name not in self.arrays:
            raise ModelFileError(f"There is no array {_short(name)}.")
        self.used.add(name)
        return self.arrays[name]

    def _fortran(self, name: Any) -> NDArray[Any]:
        return self._array(name).T

    def _strings(self, texts: Any) -> NDArray[np.object_]:
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            raise ModelFileError("An array of texts has something else in it.")
        return np.array(texts, dtype=object)

    def _unicode(self, texts: Any) -> NDArray[np.str_]:
        array = self._strings(texts)
        # All become as wide as the longest: one of them must not take the memory of many.
        longest = max((len(text) for text in array), default=1)
        if longest * len(array) > 2**16 + 64 * sum(len(text) for text in array):
            raise ModelFileError("Texts of an array have very different lengths.")
        return array.astype(f"<U{max(1, longest)}")

    def _csr(self, parts: Any) -> Any:
        names = ("data", "indices", "indptr", "shape", "is_matrix")
        data, indices, indptr, shape, is_matrix = _fields(parts, names)
        data, indices, indptr = (self.unpack(part) for part in (data, indices, indptr))
        check_csr(data, indices, indptr, shape)
        container = sp.csr_matrix if is_matrix is True else sp.csr_array
        return container((data, indices, indptr), shape=tuple(shape))

    def _records(self, columns: Any) -> "Columns":
        if not isinstance(columns, dict):
            raise ModelFileError("Records are no columns.")
        return Columns({name: self.unpack(column) for name, column in columns.items()})

    def _tuple(self, parts: Any) -> tuple[Any, ...]:
        if not isinstance(parts, list):
            raise ModelFileError("A tuple is no list.")
        return tuple(self.unpack(part) for part in parts)

    def _dict(self, parts: Any) -> dict[str, Any]:
        if not isinstance(parts, dict):
            raise ModelFileError("A dictionary is none.")
        return {key: self.unpack(part) for key, part in parts.items()}

    def _float(self, text: Any) -> float:
        if not isinstance(text, str) or text not in _FLOATS:
            raise ModelFileError(f"{_short(text)} is no float.")
        return _FLOATS[text]

    def _seed(self, parts: Any) -> RandomState:
        keys, position, has_gauss, gauss = _fields(
            parts, ("keys", "position", "has_gauss", "gauss")
        )
        keys, gauss = self.unpack(keys), self.unpack(gauss)
        if (
            not isinstance(keys, np.ndarray)
            or keys.dtype != np.uint32
            or keys.shape != (_STATE_SIZE,)
            or type(position) is not int
            or not 0 <= position <= _STATE_SIZE
            or has_gauss not in (0, 1)
            or type(gauss) is not float
        ):
            raise ModelFileError("The state of a RandomState is not valid.")
        seed = RandomState()
        seed.set_state(("MT19937", keys, position, int(has_gauss), gauss))
        return seed

    def _model(self, content: Any) -> "PackedModel":
        name, values = _fields(content, ("class", "values"))
        if not isinstance(name, str) or not isinstance(values, dict):
            raise ModelFileError("A model within the model has no class or no values.")
        return PackedModel(name, values)


class Columns(dict[str, Any]):
    """Columns of a structured array; what type they make is for the reader to say."""


class PackedModel:
    """A model within a model, before it is put together."""

    def __init__(self, name: str, values: dict[str, Any]) -> None:
        self.name, self.values = name, values


_READERS = {
    "$array": Unpacker._array,
    "$fortran": Unpacker._fortran,
    "$strings": Unpacker._strings,
    "$unicode": Unpacker._unicode,
    "$csr": Unpacker._csr,
    "$records": Unpacker._records,
    "$tuple": Unpacker._tuple,
    "$dict": Unpacker._dict,
    "$float": Unpacker._float,
    "$seed": Unpacker._seed,
    "$model": Unpacker._model,
}


def check_csr(data: Any, indices: Any, indptr: Any, shape: Any) -> None:
    """Raise unless these arrays are a CSR matrix of this shape with sorted, distinct indices."""
    wrong = ModelFileError("The arrays of a CSR matrix do not belong together.")
    for array in (data, indices, indptr):
        if not isinstance(array, np.ndarray) or array.ndim != 1:
            raise wrong
    if not all(array.dtype in (np.int32, np.int64) for array in (indices, indptr)):
        raise wrong
    if not isinstance(shape, list) or len(shape) != 2:
        raise wrong
    if not all(type(length) is int and 0 < length < 2**47 for length in shape):
        raise wrong
    if len(indptr) != shape[0] + 1 or len(data) != len(indices):
        raise wrong
    lengths = np.diff(indptr)
    if indptr[0] != 0 or indptr[-1] != len(indices) or (lengths < 0).any():
        raise wrong
    if len(indices):
        if indices.min() < 0 or indices.max() >= shape[1]:
            raise wrong
        # A row's first index may be lower than the last one of the row before.
        firsts = np.zeros(len(indices), dtype=bool)
        firsts[indptr[:-1][lengths > 0]] = True
        if not (firsts[1:] | (np.diff(indices) > 0)).all():
            raise wrong


def _fields(parts: Any, names: tuple[str, ...]) -> tuple[Any, ...]:
    if not isinstance(parts, dict) or parts.keys() != set(names):
        raise ModelFileError(f"A value must have the parts {', '.join(names)}.")
    return tuple(parts[name] for name in names)


def _short(value: Any) -> str:
    return f"{value!r:.80}"
