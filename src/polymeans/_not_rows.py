"""What is given for rows by mistake, and would fail far from the cause or be taken for others."""

import os
from typing import Any

import numpy as np

from polymeans._frame_errors import refuse_times

#: Readers by the ending of a file.
_READERS = {
    ".npy": "from_npy",
    ".npz": "from_csr_files",
    ".parquet": "from_parquet",
    ".h5": "from_hdf5",
    ".hdf5": "from_hdf5",
    ".zarr": "from_zarr",
}

_Path = str | bytes | os.PathLike


def refuse_what_are_no_rows(X: Any) -> None:
    """Raise if X names rows instead of having them, hides some of its values, or has times.

    Parameters
    ----------
    X : object
        What a method of an estimator got.
    """
    path = X[0] if isinstance(X, list | tuple) and len(X) else X
    if isinstance(path, _Path):
        name = os.fsdecode(path)
        reader = _READERS.get(os.path.splitext(name)[1].lower())
        readers = f"polymeans.blocks.{reader}" if reader else "polymeans.blocks.from_npy"
        others = "" if reader else " (or from_parquet, from_csr_files, from_hdf5, from_zarr)"
        raise TypeError(
            f"X={name!r:.200} is a path or a text, but X must be rows. Open files with "
            f"{readers}{others}, and pass what that returns."
        )
    kind = type(X)
    if kind.__module__.startswith("pyarrow") and hasattr(X, "get_fragments"):
        raise TypeError(
            f"X is a pyarrow dataset ({kind.__name__}), but X must be rows. Pass "
            "polymeans.blocks.from_arrow(X), which reads it block by block, or X.to_table()."
        )
    if kind.__module__.startswith("polars") and kind.__name__ == "LazyFrame":
        raise TypeError("X is a polars LazyFrame, which has no rows yet. Pass X.collect().")
    refuse_loaders(X)
    refuse_masked(X, "X")
    refuse_times(X)


def refuse_loaders(X: Any) -> None:
    """Raise if X is a DataLoader or a data set of PyTorch, which networks alone can read.

    Parameters
    ----------
    X : object
        What a function, or a method of an estimator without a network, got.
    """
    of_torch = any(base.__module__.startswith("torch.utils.data") for base in type(X).__mro__)
    if of_torch or hasattr(X, "collate_fn"):
        raise TypeError(
            f"X is a {type(X).__name__} of PyTorch, which only the methods of polymeans.deep take. "
            "Give its rows as an array, or as polymeans.blocks."
        )


def refuse_masked(rows: Any, where: str) -> None:
    """Raise if an array has masked values, which numpy would take for those under the mask.

    Parameters
    ----------
    rows : object
    where : str
        Begins the message.
    """
    if isinstance(rows, np.ma.MaskedArray) and np.ma.is_masked(rows):
        first = tuple(int(part[0]) for part in np.nonzero(np.ma.getmaskarray(rows)))
        raise ValueError(
            f"{where} has masked values, the first at {first}. Fill them in, with "
            "X.filled(fill_value) or sklearn.impute, or leave these rows out."
        )
