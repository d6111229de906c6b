"""A problem: rows, weights and parameters, all that is needed to make and to shrink it."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray


class BrokenPromiseError(AssertionError):
    """A promise that was not kept.

    Parameters
    ----------
    promise : str
        Short name, the same for all problems, by which failures are counted.
    detail : str
        What was seen in this problem.
    """

    def __init__(self, promise: str, detail: str) -> None:
        super().__init__(f"{promise}: {detail}")
        self.promise, self.detail = promise, detail


def require(kept: Any, promise: str, detail: Any) -> str:
    """The name of the promise, for counting; raise if it was not kept.

    ``detail`` may be a function, so that long texts are only made for failures.
    """
    if not kept:
        raise BrokenPromiseError(promise, detail() if callable(detail) else str(detail))
    return promise


@dataclass(frozen=True)
class Case:
    """One problem.

    Parameters
    ----------
    area : str
        What it is about, such as "KMeans" or "metrics".
    seed, number : int
        Together they determine everything else.
    X : ndarray
        Dense values in the dtype of the rows. Other containers are made from it.
    container : str
        How the rows are passed, see :mod:`benchmarks.fuzz.containers`.
    weights : ndarray or None
    params : dict
        Arguments of the estimator or function, ready to be passed.
    traits : frozenset of str
        Kind of values, container, dtype and size; documented limits are named by them.
    checks : frozenset of str
        Expensive promises that this problem is to check.
    """

    area: str
    seed: int
    number: int
    X: NDArray[Any]
    container: str = "C order"
    weights: NDArray[np.float64] | None = None
    params: dict[str, Any] = field(default_factory=dict)
    traits: frozenset[str] = frozenset()
    checks: frozenset[str] = frozenset()

    def rng(self, stream: int = 1) -> np.random.Generator:
        """Random numbers of a problem's own checks; the same each time."""
        return np.random.default_rng([self.seed, self.number, stream])

    def but(self, **changes: Any) -> "Case":
        """The same with some fields changed."""
        return replace(self, **changes)

    @property
    def is_sparse(self) -> bool:
        """Whether the estimator gets CSR rows."""
        return self.container.startswith(("csr", "csc"))
