"""Vectors as small pictures, all in one PNG file that is written with the standard library."""

import struct
import zlib
from base64 import b64encode
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Pixels of the longer side of a picture, at most; larger ones are averaged down.
_LONGEST = 56


def image_shape(images: Sequence[int], n_features: int) -> tuple[int, ...]:
    """``images`` as height, width and, for colors, 3; an error unless features fill it.

    Parameters
    ----------
    images : sequence of int
        (height, width) or (height, width, 3).
    n_features : int

    Returns
    -------
    tuple of int
    """
    try:
        shape = tuple(int(side) for side in images)
    except (TypeError, ValueError):
        shape = ()
    is_color = len(shape) == 3 and shape[2] == 3
    if not (len(shape) == 2 or is_color) or min(shape, default=0) < 1:
        raise ValueError(
            "image_shape must be (height, width), or (height, width, 3) for colors, got "
            f"{images!r}."
        )
    if int(np.prod(shape)) != n_features:
        raise ValueError(
            f"image_shape={shape} makes {int(np.prod(shape))} numbers, but rows have {n_features} "
            "features. Give the height and width of the pictures that rows are."
        )
    return shape


def pixel_names(shape: tuple[int, ...]) -> list[str]:
    """Names of features that are pixels: row and column, and the color.

    Parameters
    ----------
    shape : tuple of int

    Returns
    -------
    list of str
    """
    places = [f"pixel {i}, {j}" for i in range(shape[0]) for j in range(shape[1])]
    if len(shape) == 2:
        return places
    return [f"{place} {color}" for place in places for color in ("red", "green", "blue")]


class Atlas:
    """Pictures of the same size side by side.

    Parameters
    ----------
    shape : tuple of int
        Of a picture: height, width and, for colors, 3.
    """

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.shape = shape
        self._vectors: list[NDArray[np.float64]] = []
        self._signed: list[bool] = []

    def __len__(self) -> int:
        return len(self._vectors)

    def add(self, vectors: Any, signed: bool = False) -> list[int]:
        """Numbers of new pictures; ``signed`` ones have gray for zero."""
        first = len(self._vectors)
        for vector in np.asarray(vectors, dtype=np.float64):
            self._vectors.append(self._reduced(vector.reshape(self.shape)))
            self._signed.append(signed)
        return list(range(first, len(self._vectors)))

    def _reduced(self, picture: NDArray[np.float64]) -> NDArray[np.float64]:
        """The mean of squares of pixels, where a picture is large."""
        times = -(-max(self.shape[:2]) // _LONGEST)
        if times == 1:
            return picture
        height, width = (side // times for side in picture.shape[:2])
        cut = picture[: max(height, 1) * times, : max(width, 1) * times]
        down = np.add.reduceat(cut, np.arange(0, cut.shape[0], times), axis=0)
        down = np.add.reduceat(down, np.arange(0, cut.shape[1], times), axis=1)
        return down / times**2

    def to_dict(self) -> dict[str, Any] | None:
        """The atlas as plain data: a data URI, and how pictures lie in it; None if empty."""
        if not self._vectors:
            return None
        stack, signed = np.stack(self._vectors), np.array(self._signed)
        values = np.empty(stack.shape, dtype=np.uint8)
        for kind in (False, True):
            if (signed == kind).any():
                values[signed == kind] = _as_bytes(stack[signed == kind], kind)
        n, (height, width) = len(values), self._vectors[0].shape[:2]
        columns = max(1, int(np.ceil(np.sqrt(n * height / width))))
        rows = -(-n // columns)
        sheet = np.zeros((rows * height, columns * width, *values.shape[3:]), dtype=np.uint8)
        for number, picture in enumerate(values):
            top, left = number // columns * height, number % columns * width
            sheet[top : top + height, left : left + width] = picture
        return {
            "png": data_uri(sheet),
            "count": n,
            "columns": columns,
            "rows": rows,
            "height": height,
            "width": width,
        }


def _as_bytes(values: NDArray[np.float64], signed: bool) -> NDArray[np.uint8]:
    """Brightness from 0 to 255, the same scale for all: large values are bright."""
    with np.errstate(over="ignore", invalid="ignore"):
        low, high = float(values.min()), float(values.max())
        if signed:
            high = max(abs(low), abs(high))
            low = -high
        elif low >= 0 and high <= 1 and high > 0.2:
            low, high = 0.0, 1.0  # intensities
        width = high - low
        scaled = (values - low) / width if 0 < width < np.inf else np.zeros(values.shape)
    return np.clip(np.nan_to_num(scaled) * 255, 0, 255).round().astype(np.uint8)


def data_uri(pixels: NDArray[np.uint8]) -> str:
    """A PNG image as the address of an image.

    Parameters
    ----------
    pixels : ndarray of uint8, of shape (height, width) or (height, width, 3)

    Returns
    -------
    str
    """
    height, width = pixels.shape[:2]
    color = 2 if pixels.ndim == 3 else 0
    lines = np.concatenate([np.zeros((height, 1), np.uint8), pixels.reshape(height, -1)], axis=1)
    header = struct.pack(">IIBBBBB", width, height, 8, color, 0, 0, 0)
    body = [
        (b"IHDR", header),
        (b"IDAT", zlib.compress(lines.tobytes(), 9)),
        (b"IEND", b""),
    ]
    png = b"\x89PNG\r\n\x1a\n"
    for kind, content in body:
        checksum = struct.pack(">I", zlib.crc32(kind + content))
        png += struct.pack(">I", len(content)) + kind + content + checksum
    return "data:image/png;base64," + b64encode(png).decode("ascii")
