"""What all displays share: axes that are given or made, and where the drawing ends up."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymeans.inspection._matplotlib import load


class Display:
    """Base of displays: after ``plot`` the axes are in ``ax_`` or ``axes_``, and ``figure_``."""

    ax_: Any
    axes_: NDArray[Any]
    figure_: Any

    def _single(self, ax: Any, size: tuple[float, float] = (6.4, 4.0)) -> Any:
        """The given axes, or new ones of this size in inches, in a layout that clips nothing."""
        if ax is None:
            _, ax = load("matplotlib.pyplot").subplots(figsize=size, layout="constrained")
        self.ax_, self.figure_ = ax, ax.figure
        return ax

    def _panels(
        self, axes: Any, number: int, n_columns: int, size: tuple[float, float]
    ) -> NDArray[Any]:
        """One axes for each panel: those given, or those of a new figure, row by row."""
        if axes is not None:
            given = np.asarray(axes, dtype=object).ravel()
            if len(given) != number:
                raise ValueError(
                    f"axes must be {number}, one for each panel, got {len(given)}. Make them by "
                    f"plt.subplots(1, {number}), or pass None."
                )
        else:
            n_columns = min(number, n_columns)
            n_rows = -(-number // n_columns)
            _, grid = load("matplotlib.pyplot").subplots(
                n_rows,
                n_columns,
                figsize=(n_columns * size[0], n_rows * size[1]),
                squeeze=False,
                layout="constrained",
            )
            for spare in grid.ravel()[number:]:
                spare.remove()
            given = grid.ravel()[:number]
        self.axes_, self.figure_ = given, given[0].figure
        return given
