"""What every set of centroids answers; see :class:`polymeans.core.contracts.Codebook`."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from polymeans.core.frame import Frame
from polymeans.core.statistics import Statistics

#: Numbers and arrays a codebook consists of, by name.
State = dict[str, Any]


class BaseCodebook(ABC):
    """Defaults of the contract, and what subclasses have to give.

    A codebook never touches rows. It is refitted from what they add up to, so it can be pickled,
    sent, and refitted elsewhere.
    """

    #: What the rows are summed into: clusters, protocentroids, or nothing until features are asked.
    needs: ClassVar[Literal["cells", "marginals", "deferred"]] = "cells"
    #: How rows find their centroid, see :mod:`polymeans.engine.assignment`.
    kind: str = "table"
    #: A change of one cluster may move all centroids.
    entangled: bool = False
    #: The objective is a sum of squared distances, one for each row.
    by_rows: bool = True
    #: Empty clusters are given rows inside the loop.
    relocates: bool = True
    #: Centroids are directions.
    spherical: bool = False

    n_clusters: int
    n_features: int

    @property
    def sizes(self) -> tuple[int, ...]:
        """Vectors in each of the sets the centroids are combined from; one set: themselves."""
        return (self.n_clusters,)

    @property
    @abstractmethod
    def n_parameters(self) -> int:
        """Numbers stored."""

    @abstractmethod
    def refit(self, statistics: Any) -> NDArray[np.float64]:
        """Move to the best centroids of this structure; how far each centroid went, shape (k,)."""

    @abstractmethod
    def inertia(self, statistics: Any) -> float:
        """The objective for the statistics' labels; NaN where only the rows can tell."""

    def advance(
        self, statistics: Any, measure: Callable[[], float]
    ) -> tuple[float, NDArray[np.float64]]:
        """:meth:`inertia` of the present centroids, then :meth:`refit`: both in one go.

        ``measure`` gives the inertia by a pass over the rows, where only that can tell.
        """
        inertia = self.inertia(statistics)
        if np.isnan(inertia):
            inertia = measure()
        return inertia, self.refit(statistics)

    def explicit(self, frame: Frame) -> "BaseCodebook":
        """The codebook as a user will hold it: divided and rounded to the rows' dtype."""
        return self

    @abstractmethod
    def to_array(self, frame: Frame) -> NDArray[Any]:
        """All centroids in the user's coordinates."""

    @abstractmethod
    def state(self) -> State:
        """Everything :meth:`from_state` needs, as arrays and numbers."""

    @classmethod
    @abstractmethod
    def from_state(cls, state: State) -> Self:
        """The codebook a state was taken from."""


__all__ = ["BaseCodebook", "State", "Statistics"]
