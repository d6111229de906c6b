"""Pandas frames, or parts of Dask ones, as arrays: what their columns become."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array


def is_frame(obj: Any) -> bool:
    """Whether an object is a pandas frame."""
    return hasattr(obj, "iloc") and hasattr(obj, "to_numpy") and getattr(obj, "ndim", 0) == 2


def names_of(frame: Any) -> tuple[str, ...] | None:
    """Names of columns, if all of them are texts."""
    names = tuple(frame.columns)
    return names if all(isinstance(name, str) for name in names) else None


def array_dtype(frame: Any) -> np.dtype[Any]:
    """The type of values that a frame in memory would be fitted with.

    Parameters
    ----------
    frame : pandas.DataFrame
        Its columns count, its rows do not.

    Returns
    -------
    dtype
    """
    for name, kind in frame.dtypes.items():
        if kind.kind not in "biuf":  # types of pandas and pyarrow have a kind, too
            raise TypeError(
                f"Column {name!r} of X has values of type {kind!s:.80}, which are no "
                "numbers. Convert them, with X.astype({...: float}) for example, or leave the "
                "column out."
            )
    if any(hasattr(kind, "fill_value") for kind in frame.dtypes):  # columns of sparse values
        return np.dtype(np.float64)
    nothing = frame.iloc[:0]
    kinds = [np.float64, np.float32]
    made: NDArray[Any] = check_array(
        nothing, dtype=kinds, ensure_min_samples=0, ensure_min_features=0, ensure_all_finite=False
    )
    return made.dtype


def as_array(frame: Any, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Values of numeric columns of any type; NaN where there is none."""
    array: NDArray[Any] = frame.to_numpy(dtype=dtype, na_value=np.nan)
    return array


def is_plain(frame: Any) -> bool:
    """Whether numpy makes an array of numbers of the columns as they are."""
    kinds = list(frame.dtypes)
    return all(isinstance(kind, np.dtype) for kind in kinds) and (
        len(kinds) == 0 or np.asarray(frame.iloc[:0]).dtype != object
    )


class FrameRows:
    """Rows of a pandas frame by position, as an array.

    Parameters
    ----------
    frame : pandas.DataFrame
    """

    def __init__(self, frame: Any) -> None:
        self._frame = frame
        self.shape: tuple[int, int] = frame.shape
        self._dtype = None if is_plain(frame) else array_dtype(frame)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: slice) -> NDArray[Any]:
        part = self._frame.iloc[rows]
        return np.asarray(part) if self._dtype is None else as_array(part, self._dtype)
