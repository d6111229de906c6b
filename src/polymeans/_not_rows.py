"""What is given for rows by mistake, and would fail far from the cause or be taken for others."""

import os
from typing import Any

import numpy as np

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
    """Raise if X names rows instead of having them, or hides some of its values.

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
    refuse_masked(X, "X")


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
