"""Where to begin: rows that make good first centroids.

All methods honour weights and return row numbers. They draw from ``RandomState`` in the order
scikit-learn's ``kmeans_plusplus`` does, so the same seed gives the same start there and here (up
to rounding).
"""

from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray

from polymeans.codebooks.dense import DenseCodebook
from polymeans.codebooks.sums import SumCodebook
from polymeans.engine.dense_assigners import DenseLloyd
from polymeans.engine.relocation import own_distances
from polymeans.engine.sparse_assigners import SparseLloyd
from polymeans.engine.threads import reduction_blocks


def random_rows(rows: Any, n_clusters: int, rng: RandomState) -> NDArray[np.int64]:
    """Distinct rows, drawn in proportion to their weights."""
    weights = rows.weights
    if np.count_nonzero(weights) < n_clusters:
        return np.argsort(-weights, kind="stable")[:n_clusters]
    return rng.choice(rows.n_samples, n_clusters, replace=False, p=weights / weights.sum())


def plus_plus(
    rows: Any, n_clusters: int, rng: RandomState, n_trials: int | None = None
) -> NDArray[np.int64]:
    """Greedy k-means++: each next row is the best of a few drawn by their squared distance.

    Parameters
    ----------
    rows : DenseRows or SparseRows
    n_clusters : int
    rng : RandomState
    n_trials : int, default=None
        Candidates for each centroid; None: ``2 + int(log(n_clusters))``.

    Returns
    -------
    ndarray of shape (n_clusters,)
        Row numbers.
    """
    if n_trials is None:
        n_trials = 2 + int(np.log(n_clusters))
    distances = CandidateDistances(rows, n_trials)
    weights = rows.weights
    chosen = np.empty(n_clusters, dtype=np.int64)
    chosen[0] = rng.choice(rows.n_samples, p=weights / weights.sum())
    closest = np.full(rows.n_samples, np.inf)
    potential = distances.potentials(chosen[:1], closest)[0]
    distances.accept(0, closest)
    for c in range(1, n_clusters):
        draws = rng.uniform(size=n_trials) * potential
        candidates = np.searchsorted(np.cumsum(weights * closest), draws)
        candidates = np.minimum(candidates, rows.n_samples - 1)
        potentials = distances.potentials(candidates, closest)
        best = int(np.argmin(potentials))
        chosen[c], potential = candidates[best], potentials[best]
        distances.accept(best, closest)
    return chosen


def parallel(
    rows: Any,
    n_clusters: int,
    rng: RandomState,
    *,
    oversampling: float = 2.0,
    n_rounds: int = 3,
) -> NDArray[np.int64]:
    """k-means‖: a few rounds of drawing many rows at once, then k-means++ among those.

    A round draws each row with probability ``oversampling * n_clusters * w d² / Σ w d²``. The
    drawn rows, weighted by how much of the data is nearest to each, are thinned by
    :func:`plus_plus`. Passes over the data: ``n_rounds + 1``, instead of ``n_clusters``.

    Parameters
    ----------
    rows : DenseRows or SparseRows
    n_clusters : int
    rng : RandomState
    oversampling : float
        Expected draws in a round, as a multiple of ``n_clusters``.
    n_rounds : int
        Rounds of drawing.

    Returns
    -------
    ndarray of shape (n_clusters,)
        Row numbers.
    """
    weights = rows.weights
    chosen = np.array([rng.choice(rows.n_samples, p=weights / weights.sum())])
    closest, _ = nearest_rows(rows, chosen)
    for _ in range(n_rounds):
        mass = weights * closest
        total = mass.sum()
        if total <= 0:
            break
        chance = oversampling * n_clusters * mass / total
        drawn = np.flatnonzero(rng.uniform(size=rows.n_samples) < chance)
        if len(drawn) == 0:
            continue
        chosen = np.union1d(chosen, drawn)
        closest = np.minimum(closest, nearest_rows(rows, drawn)[0])
    if len(chosen) < n_clusters:
        missing = np.setdiff1d(np.arange(rows.n_samples), chosen)
        missing = missing[np.argsort(-(weights * closest)[missing], kind="stable")]
        chosen = np.concatenate([chosen, missing[: n_clusters - len(chosen)]])
    _, labels = nearest_rows(rows, chosen)
    gathered = np.bincount(labels, weights=weights, minlength=len(chosen))
    return chosen[plus_plus(rows.subset(chosen, gathered), n_clusters, rng)]


def markov_chain(
    rows: Any, n_clusters: int, rng: RandomState, *, chain_length: int = 200
) -> NDArray[np.int64]:
    """AFK-MC²: k-means++ by sampling, one pass over the data however many centroids.

    Each centroid is the end of a Markov chain over rows that are proposed half by their distance
    to the first centroid, half uniformly (by weight). Cost: one pass, then
    ``n_clusters² * chain_length / 2`` distances.

    Parameters
    ----------
    rows : DenseRows or SparseRows
    n_clusters : int
    rng : RandomState
    chain_length : int
        Steps of each chain; longer is closer to exact k-means++.

    Returns
    -------
    ndarray of shape (n_clusters,)
        Row numbers.
    """
    weights = rows.weights / rows.weights.sum()
    chosen = np.empty(n_clusters, dtype=np.int64)
    chosen[0] = rng.choice(rows.n_samples, p=weights)
    first, _ = nearest_rows(rows, chosen[:1])
    mass = weights * first
    proposal = 0.5 * mass / mass.sum() + 0.5 * weights if mass.sum() > 0 else weights
    cumulative = np.cumsum(proposal)
    for c in range(1, n_clusters):
        draws = rng.uniform(size=chain_length) * cumulative[-1]
        candidates = np.minimum(np.searchsorted(cumulative, draws), rows.n_samples - 1)
        accept = rng.uniform(size=chain_length)
        ratio = weights[candidates] * _distances_among(rows, candidates, chosen[:c])
        ratio = np.divide(
            ratio, proposal[candidates], out=np.zeros(chain_length), where=proposal[candidates] > 0
        )
        state = 0
        for step in range(1, chain_length):
            if ratio[state] == 0 or ratio[step] > accept[step] * ratio[state]:
                state = step
        chosen[c] = candidates[state]
    return chosen


METHODS = {
    "k-means++": plus_plus,
    "k-means||": parallel,
    "afk-mc2": markov_chain,
    "random": random_rows,
}


def potential_of(rows: Any, chosen: NDArray[np.integer]) -> float:
    """Weighted squared distances of all rows to the nearest chosen one."""
    distances, _ = nearest_rows(rows, np.asarray(chosen))
    return float(np.sum(distances * rows.weights)) * rows.unit * rows.unit


def codebook_of_rows(rows: Any, chosen: NDArray[np.integer]) -> DenseCodebook | SumCodebook:
    """Some rows as centroids."""
    centers = rows.take(chosen)
    if rows.is_sparse:
        return SumCodebook(centers, rows.norms[chosen] ** 2, spherical=rows.spherical)
    return DenseCodebook(centers, rows.spherical)


def nearest_rows(
    rows: Any, chosen: NDArray[np.integer]
) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Squared distance to the nearest of some rows, and which one it is."""
    codebook = codebook_of_rows(rows, chosen)
    assigner = (SparseLloyd if rows.is_sparse else DenseLloyd)(rows, len(chosen))
    labels = np.empty(rows.n_samples, dtype=np.int32)
    assigner.assign(codebook, labels, labels)
    return own_distances(rows, codebook, labels), labels


def _distances_among(
    rows: Any, some: NDArray[np.integer], others: NDArray[np.integer]
) -> NDArray[np.float64]:
    """Squared distance of some rows to the nearest of others."""
    if not rows.is_sparse:
        few = rows.subset(some, np.ones(len(some)))
        codebook = DenseCodebook(few.internal(rows.take(others)))
        labels = np.empty(len(some), dtype=np.int32)
        DenseLloyd(few, len(others)).assign(codebook, labels, labels)
        return own_distances(few, codebook, labels) * few.unit * few.unit
    # Few rows against few rows: a product of two sparse matrices touches least.
    matrix = rows.matrix()
    products = (matrix[some] @ matrix[others].T).toarray()
    scale = rows.norms[some][:, None] ** 2 + rows.norms[others] ** 2
    distances = scale - 2 * products
    distances[distances <= 1e-12 * scale] = 0.0
    return distances.min(axis=1)


class CandidateDistances:
    """Squared distances of all rows to a few candidate rows, kept until one is accepted.

    Memory: for each row, 4 bytes a candidate (8 for float64 rows).

    Parameters
    ----------
    rows : DenseRows or SparseRows
    n_candidates : int
        Candidates at most.
    """

    def __init__(self, rows: Any, n_candidates: int) -> None:
        self.rows = rows
        dtype = np.float32 if rows.is_sparse else rows.dtype
        self.distances = np.empty((n_candidates, rows.n_samples), dtype=dtype)

    def potentials(
        self, candidates: NDArray[np.integer], closest: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Total weighted squared distance if each candidate became a centroid."""
        (self._measure_sparse if self.rows.is_sparse else self._measure_dense)(candidates)
        return self._total(self.distances[: len(candidates)], closest)

    def accept(self, position: int, closest: NDArray[np.float64]) -> None:
        """Make the candidate measured at this position a centroid: lower ``closest``."""
        from polymeans.kernels import seeding

        chosen = self.distances[position]
        self.rows.each(lambda lo, hi: seeding.lower_closest(chosen, lo, hi, closest))

    def _total(self, distances: NDArray[Any], closest: NDArray[np.float64]) -> NDArray[np.float64]:
        from polymeans.kernels import seeding

        def part(block: tuple[int, int]) -> NDArray[np.float64]:
            totals = np.empty(len(distances))
            seeding.potentials(distances, closest, self.rows.weights, *block, totals)
            return totals

        blocks = reduction_blocks(self.rows.n_samples)
        return np.sum(self.rows.threads.map(part, blocks), axis=0)

    def _measure_dense(self, candidates: NDArray[np.integer]) -> None:
        from polymeans.kernels import seeding

        rows = self.rows
        assigner = DenseLloyd(rows, len(candidates))
        codebook = codebook_of_rows(rows, candidates)
        frame, book = assigner.pack(codebook), codebook.book
        rows.each(
            lambda lo, hi: seeding.candidate_distances_dense(
                rows.arrays,
                frame,
                book,
                assigner.panels,
                lo,
                hi,
                self.distances,
                assigner.block_buffer(),
                assigner.tile_buffer(),
            )
        )

    def _measure_sparse(self, candidates: NDArray[np.integer]) -> None:
        from polymeans.kernels import seeding

        rows = self.rows
        transposed = rows.transposed()
        indptr, indices, _ = rows.arrays

        def measure(position: int) -> None:
            i = candidates[position]
            entries = slice(indptr[i], indptr[i + 1])
            seeding.candidate_distances_sparse(
                *transposed,
                indices[entries],
                rows.values32[entries],
                rows.norms[i] ** 2,
                rows.norms,
                self.distances[position],
            )

        rows.threads.map(measure, range(len(candidates)))
