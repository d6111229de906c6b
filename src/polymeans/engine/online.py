"""What a stream of batches came to, and how one more batch changes it.

Frames differ from batch to batch (unit, origin, which features occur), so what is remembered is in
the user's coordinates: masses, and *means* instead of sums. Means stay within the range of the rows
however many there were, a decay of everything seen changes masses alone, and a cluster without new
rows keeps its mean, bit for bit.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymeans.codebooks.aggregation import combine
from polymeans.codebooks.base import Centroids
from polymeans.core.frame import MeasuredFrame
from polymeans.core.statistics import CellStatistics, MarginalStatistics, marginals
from polymeans.core.threads import running_threads
from polymeans.engine.batch_runner import BatchRunner
from polymeans.engine.relocation import members_of_sets, relocations

#: Share of an average row's weight to which a cluster must have decayed to count as forgotten.
_FORGOTTEN = 0.01

#: Entries of means that a thread takes at a time, at least.
_SHARE = 2**15


@dataclass(frozen=True)
class Memory:
    """Masses and means of the rows seen so far, in the user's coordinates."""

    sizes: tuple[int, ...]  #: vectors in each set the centroids are combined from
    by_set: bool  #: means are those of each vector's rows, not of each cluster's
    mass: NDArray[np.float64]  #: (k,) decayed weight of the rows of each cluster
    means: NDArray[np.float64]  #: (h_1 + ... + h_p, d) or (k, d)
    #: (k,) clusters whose place the user gave and that had no row yet: they stay where they are.
    given: NDArray[np.bool_]

    @classmethod
    def empty(cls, sizes: Sequence[int], by_set: bool, n_features: int, given: bool) -> "Memory":
        """No rows yet; ``given`` says whether the user chose where the centroids are."""
        k = int(np.prod(sizes))
        means = np.zeros((sum(sizes) if by_set else k, n_features))
        return cls(tuple(sizes), by_set, np.zeros(k), means, np.full(k, given))

    @classmethod
    def of_centroids(
        cls, vectors: Sequence[NDArray[Any]], aggregator: str, mass: NDArray[np.float64]
    ) -> "Memory":
        """The rows of a fit, as if each were at its centroid.

        Means of clusters are the centroids. Of sums of protocentroids nothing is lost by this: the
        objective is quadratic, and the fitted vectors are its minimum for either rows.
        """
        sizes = tuple(len(part) for part in vectors)
        by_set = len(sizes) > 1 and aggregator == "sum"
        memory = cls.empty(sizes, by_set, vectors[0].shape[1], given=False)
        means = combine([part.astype(np.float64) for part in vectors], aggregator)
        if by_set:
            means = _means_by_set(means, mass, sizes)
        return replace(memory, mass=mass.astype(np.float64), means=means)

    @property
    def own_mass(self) -> NDArray[np.float64]:
        """Mass of what each of the means is of."""
        return self.masses_of_means(self.mass)

    def masses_of_means(self, mass: NDArray[np.float64]) -> NDArray[np.float64]:
        """The same for other masses of the clusters."""
        if not self.by_set:
            return mass
        parts = marginals(mass.reshape(*self.sizes, 1))
        return np.concatenate([part[:, 0] for part in parts])


def absorb(
    runner: BatchRunner, codebook: Centroids, memory: Memory, half_life: float | None
) -> Memory:
    """Let what was seen decay, and add the rows of one batch.

    Parameters
    ----------
    runner : BatchRunner
        Has the rows of the batch, under their labels for this codebook.
    codebook : codebook
        The present centroids.
    memory : Memory
        Rows of earlier batches; not changed.
    half_life : float or None
        Weight of rows after which what was seen counts half. None: it does not decay.

    Returns
    -------
    Memory
        Clusters of which nothing is remembered, and which got no row, have been given rows of the
        batch that are far from their centroids, as :func:`~polymeans.engine.relocation.relocations`
        does in a fit.
    """
    block, weights, frame = runner.block, runner.weights, runner.frame
    if len(block.directionless) == block.n_samples:  # rows of zeros have no direction to learn
        return memory
    mass, least = memory.mass, 0.0
    if half_life is not None:
        weight = float(weights.sum())
        mass = mass * 0.5 ** (weight * (frame.weight_unit / half_life))
        least = _FORGOTTEN * weight * frame.weight_unit / int(np.count_nonzero(weights))
    batch = runner.add_up()
    # What is remembered of a cluster counts as one row: another one can be taken from it.
    counts = batch.counts + ((mass > least) | memory.given)
    rows, targets = relocations(runner, codebook, counts)
    if len(rows):
        runner.relabel(rows, targets)
        before, batch = batch, runner.add_up()
        mass = _without_forgotten(mass, memory.sizes, counts, counts - before.counts + batch.counts)
    return _blended(replace(memory, mass=mass), batch, frame)


def _without_forgotten(
    mass: NDArray[np.float64],
    sizes: tuple[int, ...],
    before: NDArray[np.int64],
    after: NDArray[np.int64],
) -> NDArray[np.float64]:
    """Nothing is left of what was remembered of vectors that stand for relocated rows now."""
    cells = mass.reshape(sizes).copy()
    members = zip(members_of_sets(before, sizes), members_of_sets(after, sizes))
    for q, (old, new) in enumerate(members):
        np.moveaxis(cells, q, 0)[(old == 0) & (new > 0)] = 0.0
    return cells.ravel()


def _blended(
    memory: Memory, batch: CellStatistics | MarginalStatistics, frame: MeasuredFrame
) -> Memory:
    from polymeans.kernels.blending import blend_means

    new = batch.mass * frame.weight_unit
    mass = memory.mass + new
    if not np.isfinite(mass.sum()):
        raise ValueError(
            "The sum of sample_weight over all batches overflows. Divide the weights by their "
            "largest value, or let earlier batches decay by half_life."
        )
    # In units of the batch: weights may be too small to be divided as they are.
    own = memory.masses_of_means(batch.mass)
    remembered = memory.own_mass / frame.weight_unit
    seen = np.flatnonzero(own > 0)
    shares = np.zeros(len(own))
    shares[seen] = own[seen] / (own[seen] + remembered[seen])
    means, sums, threads = memory.means.copy(), batch.sums, running_threads()
    threads.map(
        lambda r: blend_means(
            seen[slice(*r)], shares, own, sums, frame.origin, frame.unit, frame.rank, means
        ),
        threads.ranges(len(seen), smallest=max(1, _SHARE // means.shape[1])),
    )
    given = memory.given.reshape(memory.sizes).copy()
    for q, count in enumerate(members_of_sets(batch.counts, memory.sizes)):
        np.moveaxis(given, q, 0)[count > 0] = False
    return replace(memory, mass=mass, means=means, given=given.ravel())


def _means_by_set(
    centers: NDArray[np.float64], mass: NDArray[np.float64], sizes: tuple[int, ...]
) -> NDArray[np.float64]:
    """Weighted means of the centroids that each vector is a member of."""
    scale = float(np.abs(centers).max()) or 1.0
    share = mass / (float(mass.max()) or 1.0)
    cells = (share[:, None] * (centers / scale)).reshape(*sizes, -1)
    totals = np.concatenate(marginals(cells))
    shares = np.concatenate(marginals(share.reshape(*sizes, 1)))
    return scale * np.divide(totals, shares, out=np.zeros_like(totals), where=shares > 0)
