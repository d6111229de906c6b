"""Vectors drawn as small pictures side by side, and the colors of their values."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Opacity of a picture to which no row belongs.
_DIMMED = 0.2

#: A gap is about 1 / 12 of a picture, so pictures of fewer pixels are enlarged to that.
_GAP = 12

#: Drawings have at least this share of their pixels in the lowest tenth of the range: empty paper.
_PAPER = 0.25

#: Pictures above which their numbers would overlap.
_MOST_NUMBERS = 30


class Tile:
    """Size of the picture of one vector, and of the gaps between pictures.

    Pictures are joined to one mosaic, which is drawn much faster than axes or artists for each.

    Parameters
    ----------
    image_shape : sequence of int or None
        Height and width, and 3 for colors; None: vectors are stripes, one column a feature.
    n_features : int
    """

    def __init__(self, image_shape: Sequence[int] | None, n_features: int) -> None:
        self.is_image = image_shape is not None
        shape = (1, n_features) if image_shape is None else tuple(int(side) for side in image_shape)
        if len(shape) not in (2, 3) or (len(shape) == 3 and shape[2] != 3):
            raise ValueError(
                "image_shape must be (height, width), or (height, width, 3) for colors, got "
                f"{shape}."
            )
        if np.prod(shape) != n_features:
            raise ValueError(
                f"image_shape={shape} makes {np.prod(shape)} numbers, but centroids have "
                f"{n_features} features."
            )
        self.shape, self.in_color = shape, len(shape) == 3
        height, width = shape[:2]
        if self.is_image:
            # Tiny images are enlarged: a gap of one pixel would be as wide as an image.
            times = -(-_GAP // max(height, width))
            self.repeats = (times, times)
            gap = max(1, round(times * max(height, width) / _GAP))
            self.gaps = (gap, gap)
        else:
            # The axes stretch stripes, so the two directions have separate units.
            self.repeats = (_GAP, -(-_GAP // width))
            self.gaps = (1, max(1, round(self.repeats[1] * width / _GAP)))
        self.height = self.repeats[0] * height
        self.width = self.repeats[1] * width

    def left(self, column: int) -> int:
        """Where a column of pictures begins."""
        return column * (self.width + self.gaps[1])

    def top(self, row: int) -> int:
        """Where a row of pictures begins."""
        return row * (self.height + self.gaps[0])

    def mosaic(
        self, vectors: NDArray[np.float64], used: NDArray[np.bool_], n_columns: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """All vectors side by side, and the opacity of each pixel; gaps are NaN and invisible."""
        n_rows = -(-len(vectors) // n_columns)
        size = self.top(n_rows) - self.gaps[0], self.left(n_columns) - self.gaps[1]
        values = np.full((*size, *self.shape[2:]), np.nan)
        opacity = np.zeros(size)
        for place, (vector, in_use) in enumerate(zip(vectors, used)):
            top, left = self.top(place // n_columns), self.left(place % n_columns)
            here = slice(top, top + self.height), slice(left, left + self.width)
            picture = vector.reshape(self.shape)
            for axis, times in enumerate(self.repeats):
                picture = picture.repeat(times, axis=axis)
            values[here] = picture
            opacity[here] = 1.0 if in_use else _DIMMED
        return values, opacity


def image_colors(cmap: Any, shown: Sequence[Any]) -> Any:
    """The colors of pixels: as given, or for "auto" those in which pictures are not negatives.

    In drawings many pixels are empty paper, at the low end, and large values are ink: dark. The
    pixels of photographs are spread over the whole range, and large values are light.
    """
    if not (isinstance(cmap, str) and cmap == "auto"):
        return cmap
    pixels = np.concatenate([np.ravel(part) for part in shown])
    low, high = float(pixels.min()), float(pixels.max())
    paper = np.count_nonzero(pixels <= low + 0.1 * (high - low))
    return "gray_r" if paper >= _PAPER * pixels.size else "gray"


class Paint:
    """Colors for values in the units of the data.

    Parameters
    ----------
    cmap : str or matplotlib Colormap
        "auto": see :func:`image_colors`.
    limits : tuple of float or None
        Values at the ends of ``cmap``; None: the range of ``shown``, or 0 and 1 for colors.
    shown : list of ndarray
        All vectors to draw.
    tile : Tile
    """

    def __init__(
        self, cmap: Any, limits: tuple[float, float] | None, shown: list[Any], tile: Tile
    ) -> None:
        self.cmap, self.tile = image_colors(cmap, shown), tile
        if limits is None and not tile.in_color:
            limits = min(part.min() for part in shown), max(part.max() for part in shown)
        self.low, self.high = (0.0, 1.0) if limits is None else limits

    def draw(
        self, ax: Any, vectors: NDArray[np.float64], used: Any, n_columns: int, corner: Any
    ) -> None:
        """Draw vectors as a mosaic whose upper left corner is at (left, top)."""
        values, opacity = self.tile.mosaic(vectors, used, n_columns)
        left, top = corner
        extent = (left, left + opacity.shape[1], top + opacity.shape[0], top)
        common = {"extent": extent, "interpolation": "nearest"}
        if self.tile.in_color:
            span = (self.high - self.low) or 1.0
            pixels = np.clip(np.nan_to_num((values - self.low) / span), 0.0, 1.0)
            ax.imshow(np.dstack([pixels, opacity]), **common)
        else:
            ax.imshow(
                values, cmap=self.cmap, vmin=self.low, vmax=self.high, alpha=opacity, **common
            )


class ChangePaint(Paint):
    """Colors for what is added or multiplied: the middle color means no change."""

    def __init__(self, cmap: Any, neutral: float, shown: list[Any], tile: Tile) -> None:
        reach = max((float(np.abs(part - neutral).max()) for part in shown), default=1.0) or 1.0
        super().__init__(cmap, (neutral - reach, neutral + reach), shown, tile)


def number_ticks(places: list[float]) -> tuple[list[float], list[str]]:
    """Places of ticks and their numbers; none where numbers would overlap."""
    if len(places) > _MOST_NUMBERS:
        return [], []
    return places, [str(number) for number in range(len(places))]
