"""Sparse factors drawn side by side."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymeans.factorization.operator import FastOperator
from polymeans.inspection._matplotlib import axes_or_sized
from polymeans.inspection._models import check_has, last_step
from polymeans.inspection._style import GRAY, count

#: Pixels of a factor in each direction at most; in larger ones, several entries share a pixel. A
#: factor is drawn about 2.4 inches long, where more pixels could not be distinguished.
_MOST_PIXELS = 512

#: Longest side of a factor over the shortest one, as drawn: narrow factors must remain visible.
_LONGEST = 4.0

#: Color of the smallest entry on a scale where 0 is white and 1 the color of the largest: it must
#: differ from white, which means that nothing is stored.
_FAINTEST = 0.3

#: Width over height of the whole drawing at which a line of factors is full: about a page's width.
_LINE = 3.0


def plot_factors(operator: Any, *, cmap: Any = "RdBu_r", ax: Any = None) -> Any:
    """Draw sparse factors side by side: where they have entries, of which sign and size.

    **Idea.** The matrix is the product of the factors, from left to right. One color is positive,
    the other negative, and larger entries are darker; entries that are not stored are white.
    Colors depend on the root of the absolute value, and each factor has its own scale, since a
    factor can be multiplied and the next one divided by a number without changing the product.
    Sides that are multiplied with each other have the same length; very long ones are drawn
    shorter. In a factor of more than 512 rows or columns several entries share a pixel, and the
    largest is shown.

    **Use when** you want to see where the non-zeros are: a single entry in a row or column is a
    copy, full rows are patterns that many centroids share. **Do not use** to read off values:
    these are in ``operator.factors``.

    Parameters
    ----------
    operator : FastOperator, Factorization, fitted estimator with ``operator_``, or list of matrices
        What to draw.
    cmap : str or matplotlib Colormap, default="RdBu_r"
        Diverging colors; the middle one is not used.
    ax : matplotlib Axes, default=None
        Where to draw. None: on new axes.

    Returns
    -------
    ax : matplotlib Axes
        The axes. ``ax.images`` are the factors in their order, ``ax.texts`` their titles.

    See Also
    --------
    plot_matched_centroids : The centroids that the factors make.

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> from polymeans.factorization import FastOperator
    >>> from polymeans.inspection import plot_factors
    >>> operator = FastOperator([np.eye(3)[[0, 0, 1, 2]], np.array([[2, -1]] * 3)])
    >>> ax = plot_factors(operator, ax=Figure().add_subplot())
    >>> [text.get_text() for text in ax.texts]
    ['S1: 4 × 3\\n4 non-zeros', 'S2: 3 × 2\\n6 non-zeros']
    """
    factors = _factors(operator)
    boxes = [_drawn_size(factor.shape, factors) for factor in factors]
    longest = max(map(max, boxes))
    # Titles need some space, also those of narrow factors.
    widths = [max(width, 0.6 * longest) for _, width in boxes]
    gap, heading = 0.12 * longest, 0.4 * longest
    lines = _break_lines(widths, [height for height, _ in boxes], gap, heading)
    total = max(sum(widths[q] + gap for q in line) - gap for line in lines)
    heights = [max(boxes[q][0] for q in line) + heading for line in lines]
    inches = 2.4 / longest
    ax = axes_or_sized(ax, (inches * total + 0.3, inches * sum(heights) + 0.2))
    bottom = 0.0
    for line, line_height in zip(lines, heights):
        bottom += line_height
        left = 0.0
        for q in line:
            height, width = boxes[q]
            extent = (left, left + width, bottom, bottom - height)
            _draw_factor(ax, factors[q], extent, cmap)
            rows, columns = factors[q].shape
            title = f"S{q + 1}: {rows} × {columns}\n{count(factors[q].nnz, 'non-zero')}"
            place = (left, bottom - height - 0.03 * longest)
            ax.text(*place, title, ha="left", va="bottom", fontsize="small")
            left += widths[q] + gap
    edge = 0.01 * longest
    ax.set_xlim(-edge, total + edge)
    ax.set_ylim(sum(heights) + edge, -edge)
    ax.set_aspect("equal")
    ax.set_axis_off()
    return ax


def _factors(operator: Any) -> tuple[Any, ...]:
    """Factors of an operator, a factorization, a fitted model or a list, as CSR arrays."""
    operator = last_step(operator)
    if isinstance(operator, list | tuple):
        return FastOperator(operator).factors
    if hasattr(operator, "factors"):
        return tuple(operator.factors)
    if hasattr(operator, "fit"):
        check_has(operator, "operator_")
        return operator.operator_.factors
    raise TypeError(
        "operator must have factors to draw: a FastOperator, a Factorization, a fitted estimator "
        f"with operator_, or a list of matrices, got {type(operator).__name__}."
    )


def _drawn_size(shape: tuple[int, int], factors: Sequence[Any]) -> tuple[float, float]:
    """Height and width of a drawn factor: its sides, to a power that limits their ratio."""
    sides = [side for factor in factors for side in factor.shape]
    ratio = max(sides) / min(sides)
    power = min(1.0, np.log(_LONGEST) / np.log(ratio)) if ratio > 1 else 1.0
    return float(shape[0] ** power), float(shape[1] ** power)


def _break_lines(
    widths: list[float], heights: list[float], gap: float, heading: float
) -> list[list[int]]:
    """Numbers of the boxes in each line, such that the whole drawing is wide rather than high."""
    area = sum((w + gap) * (h + heading) for w, h in zip(widths, heights))
    full = max(*widths, np.sqrt(_LINE * area), sum(widths[:2]) + gap)
    lines, used = [[0]], widths[0]
    for q in range(1, len(widths)):
        if used + gap + widths[q] > full:
            lines.append([])
            used = -gap
        lines[-1].append(q)
        used += gap + widths[q]
    return lines


def _draw_factor(ax: Any, factor: Any, extent: tuple[float, ...], cmap: Any) -> None:
    values = _pooled(factor)
    largest = float(np.nanmax(np.abs(values))) if np.isfinite(values).any() else 1.0
    signs = np.sign(values) * (
        _FAINTEST + (1 - _FAINTEST) * np.sqrt(np.abs(values) / (largest or 1.0))
    )
    look = {"cmap": cmap, "vmin": -1.0, "vmax": 1.0, "interpolation": "nearest"}
    ax.imshow(signs, extent=extent, **look)
    left, right, bottom, top = extent
    corners = [left, right, right, left, left], [top, top, bottom, bottom, top]
    ax.plot(*corners, color=GRAY, lw=0.8)


def _pooled(factor: Any) -> NDArray[np.float64]:
    """The entries as an image, NaN where there are none; the largest of those in a pixel."""
    entries = factor.tocoo()
    shape = tuple(min(side, _MOST_PIXELS) for side in factor.shape)
    rows = entries.row.astype(np.int64) * shape[0] // factor.shape[0]
    columns = entries.col.astype(np.int64) * shape[1] // factor.shape[1]
    values = np.full(shape, np.nan)
    order = np.argsort(np.abs(entries.data), kind="stable")  # the largest is written last
    values[rows[order], columns[order]] = entries.data[order]
    return values
