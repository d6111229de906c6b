"""The contracts between the parts of a fit, with their formulas.

A fit alternates two things. A *runner* has the rows: it gives each one its nearest centroid and
adds up what the rows of each cluster come to. A *codebook* has the centroids: it refits them to
those totals. Neither looks into the other, so threads, files, clusters of machines and sites that
keep their rows are different runners, and structures of centroids are different codebooks.

In the formulas w are weights, x rows in the engine's coordinates (see
:class:`~polymeans.core.frame.Frame`), v_c centroids, n_c and S_c masses and sums of clusters, o the
frame's origin.
"""

from collections.abc import Callable, Sequence
from typing import Any, Literal, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from polymeans.core.exact_sums import ExactSum, Ladder, TermRange
from polymeans.core.frame import Frame, MeasuredFrame
from polymeans.core.rows import CSR, Rows
from polymeans.core.statistics import (
    CellStatistics,
    DeferredStatistics,
    GroupedStatistics,
    MarginalStatistics,
    Statistics,
)

__all__ = [
    "CSR",
    "Additive",
    "Block",
    "CellStatistics",
    "Centroids",
    "Codebook",
    "DeferredStatistics",
    "ExactSum",
    "Frame",
    "GroupedStatistics",
    "Ladder",
    "MarginalStatistics",
    "MeasuredFrame",
    "Placement",
    "Rows",
    "Runner",
    "Space",
    "Statistics",
    "Survey",
    "TermRange",
]


#: What a codebook is refitted from.
Totals = TypeVar("Totals", bound=Statistics, contravariant=True)

#: A codebook, of which another one of the same kind is made.
Kind = TypeVar("Kind", bound="Centroids")

#: What a visitor returns; and what adds up.
T = TypeVar("T")
Total = TypeVar("Total", bound="Additive")


class Survey(Protocol):
    """What a first pass finds about some rows; surveys of parts add up to that of the whole.

    A frame is made from the survey of *all* rows, so it does not depend on how they are cut.
    """

    n_samples: int
    n_stored: int  #: entries
    n_weightless: int  #: rows of weight zero
    n_directionless: int  #: rows of zeros where only directions count
    values: TermRange  #: largest and smallest magnitudes of entries
    terms: TermRange  #: the same of ``w x``
    weights: TermRange
    counts: NDArray[np.int64] | None  #: entries of each feature (sparse rows)
    mass: ExactSum  #: ``Σ w``
    square: ExactSum  #: ``Σ w |x|²``

    def __add__(self, other: Self) -> Self:
        """Of both parts: exact, so in any order."""


class Block(Protocol):
    """Rows ``first : first + n_samples`` of the data, dense or CSR, seen through a frame."""

    frame: Frame
    first: int
    n_samples: int
    n_features: int
    weights: NDArray[np.float64]
    norms: NDArray[np.float64]  #: ``|x - o|``
    directionless: NDArray[np.int64]  #: rows of zeros where only directions count

    def matrix(self) -> Rows:
        """All rows, in engine coordinates: an array or a CSR array."""

    def dense_rows(self, indices: NDArray[np.integer]) -> NDArray[Any]:
        """Some rows as an array, in engine coordinates."""


class Centroids(Protocol):
    """What runners know of a codebook: they do not refit it."""

    n_clusters: int
    n_features: int
    #: What it needs the rows to be summed into: ``S_c`` of every cluster, of every protocentroid,
    #: or of some features at a time.
    needs: Literal["cells", "marginals", "deferred"]
    requires: frozenset[str]  #: what a runner must provide beyond labels and totals
    kind: str  #: how rows find their centroid, see :mod:`polymeans.engine.assignment`
    entangled: bool  #: a change of one cluster may move all centroids
    by_rows: bool  #: the objective is ``Σ w |x - v|²``
    relocates: bool  #: empty clusters are given rows inside the loop
    cluster_by_cluster: bool  #: refitted from sums that need not exist at the same time
    spherical: bool  #: centroids are directions

    @property
    def sizes(self) -> tuple[int, ...]:
        """Vectors in each of the sets the centroids are combined from."""

    @property
    def n_parameters(self) -> int:
        """Numbers stored."""

    def explicit(self, frame: Frame) -> Self:
        """The codebook as a user will hold it: divided and rounded to the rows' dtype."""

    def to_array(self, frame: Frame) -> NDArray[Any]:
        """All centroids in the user's coordinates."""

    def longest(self, frame: Frame) -> float:
        """No less than ``max_c |v_c - shift|``, from which bounds on rounding follow."""


class Codebook(Centroids, Protocol[Totals]):
    """A set of centroids, whatever they are made of. It never touches rows.

    ``Totals`` are statistics of the kind that it ``needs``.
    """

    def refit(self, statistics: Totals) -> NDArray[np.float64]:
        """Move to the minimum of ``Σ_c n_c |v_c|² - 2 v_c · S_c`` over centroids of this structure.

        Returns ``|v_c - v_c_before|`` for each centroid, never understated. Of centroids without
        rows nothing is said: they stay, or follow the others.
        """

    def inertia(self, statistics: Totals) -> float:
        """``Σ w |x|² + Σ_c n_c |v_c|² - 2 v_c · S_c`` (x, v and S about o), the objective.

        NaN where rounding would leave nothing of the difference: ask the runner then.
        """

    def advance(
        self, statistics: Totals, measure: Callable[[], float]
    ) -> tuple[float, NDArray[np.float64]]:
        """What :meth:`inertia` and then :meth:`refit` return, possibly in one pass.

        ``measure()`` is the runner's inertia, for where statistics cannot tell.
        """

    def state(self) -> dict[str, Any]:
        """Arrays and numbers from which ``from_state`` makes the same codebook elsewhere."""

    def restored(self, state: dict[str, Any]) -> Self:
        """The codebook of a state; what is not part of it is taken from this one."""


class Additive(Protocol):
    """What visitors may return for ``reduce``: results of two blocks add up to one of both."""

    def __add__(self, other: Self, /) -> Self:
        """Of both."""


class Placement(Protocol):
    """Where blocks are. Implementations: in memory, read in each pass, on other machines.

    ``function`` is always a function of a module, and the results are in the order of the blocks.
    ``per_block`` has a tuple of further arguments for each visited block, which come before
    ``args``. ``only`` are the numbers of the blocks to visit, in rising order; None: all.
    """

    shape: tuple[int, int]  #: rows of all blocks, features
    dtype: np.dtype[Any]
    is_sparse: bool
    sizes: tuple[int, ...]  #: rows of each block
    #: Blocks stay in this process as they are, so that what is computed from them may stay too.
    keeps_blocks: bool

    def see(self, frame: MeasuredFrame | None) -> None:
        """Show blocks through this frame from now on; without one, visitors get a ``RawBlock``."""

    def map(
        self,
        function: Callable[..., T],
        *args: object,
        per_block: Sequence[tuple[object, ...]] | None = None,
        only: Sequence[int] | None = None,
    ) -> list[T]:
        """``function(block, kept, *own, *args)`` of each block."""

    def reduce(
        self,
        function: Callable[..., Total],
        *args: object,
        per_block: Sequence[tuple[object, ...]] | None = None,
        only: Sequence[int] | None = None,
    ) -> Total:
        """The same, added up with ``+``, which must not depend on the order of additions."""

    def recall(
        self,
        function: Callable[..., T],
        *args: object,
        per_block: Sequence[tuple[object, ...]] | None = None,
        only: Sequence[int] | None = None,
    ) -> list[T]:
        """``function(kept, *own, *args)`` of each block: nothing is read."""

    def release(self) -> None:
        """Let go of what only seeding needs."""


class Runner(Protocol):
    """Who has the rows. Whatever it returns does not depend on how they are cut into blocks."""

    frame: MeasuredFrame
    placement: Placement  #: where the blocks are
    provides: frozenset[str]  #: "feature_sums": sums of some features at a time; "products"

    def begin(self, codebook: Centroids, algorithm: str) -> None:
        """Forget all labels: a descent starts."""

    def assign(self, codebook: Centroids) -> None:
        """Give each row its nearest centroid: the smallest exact score, the lowest index."""

    @property
    def n_moved(self) -> int:
        """Rows whose label is another one than before the last :meth:`assign`."""

    def add_up(self) -> Statistics:
        """Statistics of the present labels, of the kind the codebook needs."""

    def relabel(self, rows: NDArray[np.int64], labels: NDArray[np.int32]) -> None:
        """Give some rows (by global number) other labels."""

    def follow(self, codebook: Centroids, drift: NDArray[np.float64]) -> None:
        """The codebook was refitted, and its centroids went this far."""

    def adopt(self, labels: NDArray[np.int32], codebook: Centroids) -> None:
        """Begin, and give all rows labels from outside."""

    def conclude(self, codebook: Kind, settled: bool) -> Kind:
        """Give each row its label for the codebook's explicit form, which is returned.

        ``settled``: rows have the labels for the codebook already.
        """

    def end(self) -> None:
        """Let go of what only a descent needs; the labels stay."""

    def labels(self) -> NDArray[np.int32]:
        """The label of every row, in order."""

    def measure(self, codebook: Centroids) -> float:
        """``Σ w |x - v|²`` over all rows under the present labels, exact before it is rounded."""

    def farthest(
        self, codebook: Centroids, n_rows: int
    ) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int32]]:
        """The rows farthest from their centroids: numbers, squared distances, labels.

        By falling distance, then by number. Distances that rounding could account for are zero.
        """

    def take(self, rows: NDArray[np.integer]) -> NDArray[Any]:
        """Some rows by global number, as an array in engine coordinates."""

    def rows_at(self, rows: NDArray[np.integer]) -> Rows:
        """The same in their own container."""

    @property
    def weights(self) -> NDArray[np.float64]:
        """Of all rows, in order."""


class Space(Protocol):
    """In which coordinates rows are clustered: found once for a fit, then kept for new rows."""

    def coordinates(self, X: Rows) -> NDArray[np.float64]:
        """Rows, also new ones, in this space: ``φ(x)``."""
