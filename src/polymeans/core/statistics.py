"""What the rows add up to, cluster by cluster: all that codebooks need to know about them.

For fixed labels ``Σ w |x - v_c|² = Σ w |x|² - 2 Σ_c v_c · S_c + Σ_c n_c |v_c|²`` with the sums
``S_c`` and masses ``n_c`` of the clusters, so the best centroids of any structure follow from these
alone. Sums are exact before they are rounded once (:mod:`polymeans.core.exact_sums`): statistics of
parts add up to those of the whole, bit for bit, whatever the parts are.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from polymeans.core.frame import CANCELLED, MeasuredFrame
from polymeans.core.threads import running_threads

if TYPE_CHECKING:
    from polymeans.kernels.numerators import Numerators

#: No remainders.
_NOTHING = np.empty((0, 0))


@dataclass
class KnownSums:
    """Sums of the clusters at an earlier time, which later ones are compared with and replace.

    Squared norms are kept by blocks of features: only blocks that changed are computed anew, and
    yet equal sums have equal norms, bit for bit.
    """

    array: NDArray[np.float64]  #: (k, n_used)
    partials: NDArray[np.float64]  #: (k, n_feature_blocks) squared norms
    filled: NDArray[np.bool_]  #: the same shape: where sums may differ from zero

    @classmethod
    def unmeasured(cls, array: NDArray[Any]) -> "KnownSums":
        """Sums of which nothing else is known yet."""
        from polymeans.kernels.numerators import n_feature_blocks

        shape = len(array), n_feature_blocks(array.shape[1])
        array = np.ascontiguousarray(array, dtype=np.float64)
        return cls(array, np.zeros(shape), np.ones(shape, dtype=bool))

    def numerators(self, remainders: NDArray[Any]) -> "Numerators":
        """For kernels, with what rounding took from each sum."""
        from polymeans.kernels.numerators import Numerators

        return Numerators(self.array, remainders, self.partials, self.filled)


@dataclass
class CellStatistics:
    """Number of rows, mass and sum of each cluster.

    The rungs hold exact totals; ``mass`` and ``sums`` round them.
    """

    frame: MeasuredFrame
    total_square: float  #: ``Σ w |x - o|²`` over all rows, o the frame's origin
    counts: NDArray[np.int64]  #: (k,) rows of positive weight
    mass_rungs: NDArray[np.float64]  #: (k, n_mass_rungs)
    rungs: NDArray[np.float64]  #: (k, n_rungs, n_used) of ``Σ w x``
    changed: NDArray[np.int64]  #: clusters whose rows changed since the last refit
    version: object = field(default_factory=object, repr=False)  #: another one after each change
    _sums: NDArray[np.float64] | None = field(default=None, repr=False)
    _stale: NDArray[np.bool_] | None = field(default=None, repr=False)

    @classmethod
    def empty(cls, frame: MeasuredFrame, n_clusters: int) -> "CellStatistics":
        """No rows yet."""
        return cls(
            frame,
            frame.total_square,
            np.zeros(n_clusters, dtype=np.int64),
            np.zeros((n_clusters, frame.mass_ladder.n_rungs)),
            np.zeros((n_clusters, frame.ladder.n_rungs, frame.n_used)),
            np.arange(n_clusters),
        )

    def __add__(self, other: "CellStatistics") -> "CellStatistics":
        return self._with(
            self.counts + other.counts,
            self.mass_rungs + other.mass_rungs,
            self.rungs + other.rungs,
        )

    def __sub__(self, other: "CellStatistics") -> "CellStatistics":
        return self._with(
            self.counts - other.counts,
            self.mass_rungs - other.mass_rungs,
            self.rungs - other.rungs,
        )

    def _with(
        self,
        counts: NDArray[np.int64],
        mass_rungs: NDArray[np.float64],
        rungs: NDArray[np.float64],
    ) -> "CellStatistics":
        return CellStatistics(
            self.frame, self.total_square, counts, mass_rungs, rungs, np.arange(len(counts))
        )

    @property
    def mass(self) -> NDArray[np.float64]:
        """``Σ w`` of each cluster, rounded once."""
        return rounded_mass(self.mass_rungs)

    @property
    def sums(self) -> NDArray[np.float64]:
        """``Σ w (x - o)`` of each cluster, o the frame's origin: (k, n_used), rounded once."""
        if self.rungs.shape[1] == 1 and not self.frame.shifted:
            return self.rungs[:, 0, :]
        if self._sums is None:
            self._sums = np.empty((len(self.counts), self.rungs.shape[2]))
            self._stale = np.ones(len(self.counts), dtype=bool)
        assert self._stale is not None
        stale = np.flatnonzero(self._stale)
        if len(stale):
            self._round(stale, self._sums)
            self._stale[:] = False
        return self._sums

    def _round(self, clusters: NDArray[np.int64], out: NDArray[np.float64]) -> None:
        round_about_origin(self.frame, self.rungs, self.mass, clusters, out)

    def compare(
        self,
        known: KnownSums,
        clusters: NDArray[np.int64],
        take: bool,
        squares: NDArray[np.float64],
        cross: NDArray[np.float64],
    ) -> None:
        """Squared norms of some clusters' sums, and their products with earlier ones.

        Then, if ``take``, these become the known ones.
        """
        from polymeans.kernels import numerators

        earlier, threads = known.numerators(_NOTHING), running_threads()
        threads.map(
            lambda r: numerators.compare_sums(
                self.rungs, clusters[slice(*r)], take, earlier, squares, cross
            ),
            threads.ranges(len(clusters)),
        )

    def touch(self, clusters: NDArray[np.int64]) -> None:
        """The rungs of some clusters have changed."""
        self.changed, self.version = clusters, object()
        if self._stale is not None:
            self._stale[clusters] = True


@dataclass
class GroupedStatistics:
    """Number of rows and mass of each cluster; sums one cluster at a time, where the rows are.

    For many clusters of sparse rows: the sums then exist once, as the numerators of the centroids.
    """

    frame: MeasuredFrame
    total_square: float  #: ``Σ w |x - o|²`` over all rows, o the frame's origin
    counts: NDArray[np.int64]  #: (k,) rows of positive weight
    mass_rungs: NDArray[np.float64]  #: (k, n_mass_rungs)
    changed: NDArray[np.int64]  #: clusters whose rows changed since the last refit
    #: See :meth:`CellStatistics.compare`.
    compare: Callable[
        [KnownSums, NDArray[np.int64], bool, NDArray[np.float64], NDArray[np.float64]], None
    ]

    @property
    def mass(self) -> NDArray[np.float64]:
        """``Σ w`` of each cluster, rounded once."""
        return rounded_mass(self.mass_rungs)

    def touch(self, clusters: NDArray[np.int64]) -> None:
        """Other clusters than it seemed have changed."""
        self.changed = clusters


@dataclass
class MarginalStatistics:
    """Masses of all combinations of protocentroids, and the sum of the rows of each of those.

    All that sums of protocentroids need: ``Σ_q h_q`` sums instead of ``Π_q h_q``.
    """

    frame: MeasuredFrame
    total_square: float  #: ``Σ w |x - o|²`` over all rows, o the frame's origin
    sizes: tuple[int, ...]  #: protocentroids in each set
    counts: NDArray[np.int64]  #: (k,) rows of positive weight of each combination
    mass_rungs: NDArray[np.float64]  #: (k, n_mass_rungs)
    rungs: NDArray[np.float64]  #: (h_1 + ... + h_p, n_rungs, n_used), all sets on top of each other
    _sums: NDArray[np.float64] | None = field(default=None, repr=False)

    def __add__(self, other: "MarginalStatistics") -> "MarginalStatistics":
        return replace(
            self,
            counts=self.counts + other.counts,
            mass_rungs=self.mass_rungs + other.mass_rungs,
            rungs=self.rungs + other.rungs,
            _sums=None,
        )

    def __sub__(self, other: "MarginalStatistics") -> "MarginalStatistics":
        return replace(
            self,
            counts=self.counts - other.counts,
            mass_rungs=self.mass_rungs - other.mass_rungs,
            rungs=self.rungs - other.rungs,
            _sums=None,
        )

    @property
    def mass(self) -> NDArray[np.float64]:
        """``Σ w`` of each combination, rounded once."""
        return rounded_mass(self.mass_rungs)

    def pair_masses(self) -> NDArray[np.float64]:
        """Mass that protocentroids share, two by two: the matrix of their linear system."""
        from polymeans.kernels import cells

        n_vectors = sum(self.sizes)
        system = np.empty((n_vectors, n_vectors))
        cells.pair_masses(self.mass, np.array(self.sizes, dtype=np.int64), system)
        return system

    @property
    def sums(self) -> NDArray[np.float64]:
        """``Σ w (x - o)`` of each protocentroid's rows, o the frame's origin, rounded once."""
        if self._sums is None:
            cells = self.mass_rungs.reshape(*self.sizes, -1)
            mass = np.concatenate([rounded_mass(part) for part in marginals(cells)])
            self._sums = np.empty((len(self.rungs), self.rungs.shape[2]))
            every = np.arange(len(self._sums))
            round_about_origin(self.frame, self.rungs, mass, every, self._sums)
        return self._sums


@dataclass
class DeferredStatistics:
    """Masses of the clusters; sums of a few features at a time, from whoever has the rows.

    For products of protocentroids that are not to cost k x d numbers.
    """

    frame: MeasuredFrame
    total_square: float  #: ``Σ w |x - o|²`` over all rows, o the frame's origin
    counts: NDArray[np.int64]  #: (k,) rows of positive weight
    mass_rungs: NDArray[np.float64]  #: (k, n_mass_rungs)
    #: ``feature_sums(first, last)``: sums of ``w (x - o)``, (k, last - first), of some features.
    feature_sums: Callable[[int, int], NDArray[np.float64]]

    @property
    def mass(self) -> NDArray[np.float64]:
        """``Σ w`` of each cluster, rounded once."""
        return rounded_mass(self.mass_rungs)


Statistics = CellStatistics | GroupedStatistics | MarginalStatistics | DeferredStatistics


def certain_inertia(inertia: float, total_square: float) -> float:
    """An inertia that is a difference of totals, or NaN if rounding left too little of it."""
    if inertia > CANCELLED**2 * total_square and np.isfinite(inertia):
        return inertia
    return 0.0 if total_square == 0 else np.nan


def round_about_origin(
    frame: MeasuredFrame,
    rungs: NDArray[np.float64],
    mass: NDArray[np.float64],
    clusters: NDArray[np.int64],
    out: NDArray[np.float64],
) -> None:
    """Write ``Σ w (x - o)`` of some clusters, o the frame's origin, rounded once."""
    from polymeans.kernels import exact

    threads, n_features = running_threads(), rungs.shape[2]

    def part(r: tuple[int, int]) -> None:
        own = clusters[slice(*r)]
        if frame.shifted:
            exact.round_clusters_about(rungs, mass, frame.origin, own, out)
        else:
            exact.round_clusters(rungs, own, out)

    threads.map(part, threads.ranges(len(clusters), smallest=max(1, 2**15 // n_features)))


def rounded_mass(rungs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Masses from their rungs (k, n_mass_rungs), rounded once."""
    if rungs.shape[1] <= 2:
        return rungs.sum(axis=1)
    from polymeans.kernels import exact

    out = np.empty((len(rungs), 1))
    exact.round_clusters(rungs[:, :, None], np.arange(len(rungs)), out)
    return out[:, 0]


def marginals(cells: NDArray[np.float64]) -> list[NDArray[np.float64]]:
    """Totals of an array over all of its leading axes but one, for each of them in turn.

    The last axis is not one of them.
    """
    axes = range(cells.ndim - 1)
    return [cells.sum(axis=tuple(a for a in axes if a != q)) for q in axes]
