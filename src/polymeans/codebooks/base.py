"""The base of all sets of centroids; see :class:`polymeans.core.contracts.Codebook`."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Literal, Never, Protocol, Self, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from polymeans.core.frame import Frame
from polymeans.core.statistics import Statistics

if TYPE_CHECKING:
    from polymeans.kernels.rows import Book, GridBook

#: Numbers and arrays a codebook consists of, by name.
State = dict[str, Any]

#: What a codebook is refitted from.
Totals = TypeVar("Totals", bound=Statistics, contravariant=True)


class Points(Protocol):
    """Centroids that are points, in a table or combined from others: what exact scores read."""

    n_clusters: int

    @property
    def book(self) -> "Book | GridBook":
        """The centroids as kernels take them."""

    @property
    def whole(self) -> "WholeCentroids | None":
        """The centroids with features that no (sparse) row has, unless they are zero there."""


class CentersTable(Points, Protocol):
    """Centroids for dense rows: all of them in a table."""

    centers: NDArray[Any]

    @property
    def book(self) -> "Book":
        """The centroids as kernels take them."""


class NumeratorsTable(Points, Protocol):
    """Centroids for sparse rows: ``array[j] / denominators[j]``."""

    n_features: int
    denominators: NDArray[np.float64]
    squared_norms: NDArray[np.float64]

    @property
    def array(self) -> NDArray[Any]:
        """Numerators of all centroids."""

    @property
    def book(self) -> "Book":
        """The centroids as kernels take them."""


class Table(CentersTable, NumeratorsTable, Protocol):
    """What is read of codebooks of the kind "table".

    Those for one kind of rows need no more than one of the two: dense rows are compared with
    centers, sparse ones with numerators.
    """


def not_finite(kind: str) -> ValueError:
    """What is raised before kernels would compare rows with numbers that are infinite or NaN."""
    return ValueError(
        f"Centroids of {kind} are no finite numbers: values of X, or of a given start, are too "
        "large to be squared or multiplied. Divide them by the largest one."
    )


@dataclass(frozen=True)
class WholeCentroids:
    """Centroids, or what they are made of, with features that no (sparse) row has."""

    entries: NDArray[Any]  #: (m, n_features) in the order of the user's features
    present: NDArray[np.bool_]  #: (m,) which of them are not zero at such features
    in_user_units: bool  #: and not in the engine's


class BaseCodebook(ABC, Generic[Totals]):
    """Defaults of the contract; subclasses give the abstract methods.

    A codebook never accesses rows. It is refitted from their sums, so it can be pickled, sent, and
    refitted in another process.
    """

    #: What the rows are summed into: clusters, protocentroids, or some features at a time.
    needs: Literal["cells", "marginals", "deferred"] = "cells"
    #: What a runner must provide beyond labels and totals: "feature_sums", "products".
    requires: frozenset[str] = frozenset()
    #: Which assigner finds the nearest centroid, see :mod:`polymeans.engine.assignment`.
    kind: str = "table"
    #: A change of one cluster may move all centroids.
    entangled: bool = False
    #: The objective is a sum of squared distances, one for each row.
    by_rows: bool = True
    #: Empty clusters are given rows inside the loop.
    relocates: bool = True
    #: Clusters are refitted one by one, so that their sums need not exist at the same time.
    cluster_by_cluster: bool = False
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

    @property
    def book(self) -> "Book | GridBook":
        """The centroids as kernels take them; a learned metric has no such form."""
        raise TypeError(f"{type(self).__name__} has no centroids that kernels know.")

    @property
    def whole(self) -> WholeCentroids | None:
        """The centroids with features that no (sparse) row has, unless they are zero there."""
        return None

    def longest(self, frame: Frame) -> float:
        """Norm that no centroid exceeds, measured from the frame's shift; infinite if unknown."""
        return np.inf

    @abstractmethod
    def refit(self, statistics: Totals) -> NDArray[np.float64]:
        """Move to the best centroids of this structure; how far each centroid went, shape (k,)."""

    @abstractmethod
    def inertia(self, statistics: Totals) -> float:
        """The objective for the statistics' labels; NaN where it takes a pass over the rows."""

    def advance(
        self, statistics: Totals, measure: Callable[[], float]
    ) -> tuple[float, NDArray[np.float64]]:
        """:meth:`inertia` of the present centroids, then :meth:`refit`.

        ``measure`` returns the inertia by a pass over the rows, for where statistics do not
        determine it.
        """
        inertia = self.inertia(statistics)
        if np.isnan(inertia):
            inertia = measure()
        return inertia, self.refit(statistics)

    def explicit(self, frame: Frame) -> Self:
        """The codebook a user receives: divided and rounded to the rows' dtype."""
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

    def restored(self, state: State) -> Self:
        """A codebook of this state; what is not part of it is taken from this one."""
        return type(self).from_state(state)


#: A codebook of which it is not known what it is refitted from: it is read, and not refitted.
Centroids: TypeAlias = BaseCodebook[Never]

#: A codebook, of which another one of the same class is made; Any: refitted from whatever it needs.
Kind = TypeVar("Kind", bound=BaseCodebook[Any])
