"""Parts of rows, also where rows are values of all pairs (``kernel="precomputed"``)."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymeans._validation import is_name
from polymeans.selection.sampling import draw_numbers, draw_rows, n_rows_of

#: Parameters whose value "precomputed" says that X has a value for each pair of rows.
_PARAMETERS = ("kernel", "metric", "affinity")


class Parts:
    """Takes parts of rows; of values of all pairs in both directions.

    Parameters
    ----------
    estimator : estimator
        What is fitted to the parts.
    """

    def __init__(self, estimator: Any) -> None:
        given = (name for name in _PARAMETERS if _is_precomputed(estimator, name))
        self._name = next(given, None)
        self.of_pairs = self._name is not None

    def check(self, rows: Any) -> None:
        """Raise unless both directions are there where both are needed."""
        if not self.of_pairs:
            return
        n = n_rows_of(rows)
        width = rows.shape[1] if hasattr(rows, "shape") else rows.n_features
        if not hasattr(rows, "shape"):
            raise ValueError(
                f'{self._name}="precomputed" needs the values of all pairs of rows in memory, but '
                "X is read in blocks. Pass an array of the values of some rows with themselves."
            )
        if width != n:
            raise ValueError(
                f'{self._name}="precomputed" needs the values of all pairs of rows, a square '
                f"matrix, got X of shape {(n, width)}. Pass the values of these rows with "
                "themselves."
            )

    def take(self, rows: Any, chosen: NDArray[np.int64]) -> Any:
        """Some rows, to be fitted."""
        return self.seen(rows[chosen], chosen)

    def sample(self, rows: Any, size: int, rng: np.random.Generator) -> Any:
        """Some rows in memory; all if there are not more."""
        if not self.of_pairs:
            return draw_rows(rows, size, rng)
        n_rows = n_rows_of(rows)
        return rows if n_rows <= size else self.take(rows, draw_numbers(n_rows, size, rng))

    def seen(self, rows: Any, fitted: NDArray[np.int64]) -> Any:
        """Rows as a model sees them that was fitted to the rows ``fitted`` only."""
        return rows[:, fitted] if self.of_pairs else rows


def _is_precomputed(estimator: Any, name: str) -> bool:
    return is_name(getattr(estimator, name, None), "precomputed")
