"""Problems for public functions, one module for each area.

Each module has ``draw(rng, area, seed, number)``, which makes a case, and ``check(case)``, which
yields the name of every promise that was kept.
"""

from collections.abc import Callable
from typing import Any

from benchmarks.fuzz.functions import (
    command_line,
    datasets,
    factorization,
    grids,
    kernel_features,
    label_rows,
    metrics,
    neighbors,
    parameters,
    plots,
    selection,
)

#: Area, share of problems (those of all estimators together are 84), how to draw, how to check.
FUNCTIONS: dict[str, tuple[float, Callable[..., Any], Callable[..., Any]]] = {
    "metrics": (6, metrics.draw, metrics.check),
    "datasets": (0.5, datasets.draw, datasets.check),
    "factorization": (2, factorization.draw, factorization.check),
    "grids": (2, grids.draw, grids.check),
    "selection": (0.2, selection.draw, selection.check),
    "neighbors": (4, neighbors.draw, neighbors.check),
    "kernel features": (3, kernel_features.draw, kernel_features.check),
    "label_features": (3, label_rows.draw, label_rows.check),
    "parameters": (3, parameters.draw, parameters.check),
    "plots": (0.2, plots.draw, plots.check),
    "command line": (0.2, command_line.draw, command_line.check),
}
