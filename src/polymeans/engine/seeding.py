"""Where to begin: rows that make good first centroids.

All methods honour weights and return row numbers. They draw from ``RandomState`` in the order
scikit-learn's ``kmeans_plusplus`` does, so the same seed gives the same start there and here (up
to rounding). What they draw does not depend on how the rows are cut into blocks: rows are drawn by
whole numbers in proportion to their potential, which add up exactly, and random numbers that belong
to rows are found by the rows' global numbers.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray

from polymeans.codebooks.dense import DenseCodebook
from polymeans.codebooks.numerators import NumeratorCodebook
from polymeans.core.exact_sums import ExactSum
from polymeans.core.frame import Frame
from polymeans.core.threads import running_threads
from polymeans.engine.assignment import make_assigner
from polymeans.engine.blocks import Block, DenseBlock, SparseBlock
from polymeans.engine.dense_assigners import DenseLloyd
from polymeans.engine.distances import own_distances
from polymeans.engine.nearest import decide_contested
from polymeans.engine.runners import BaseRunner, LocalRunner
from polymeans.engine.survey import glance

#: Rows whose random numbers come from one generator, keyed by their place.
_KEYED_ROWS = 4096

#: Rows whose potentials are added up before another thread could have begun to help.
_LIGHT_ROWS = 2**14

#: Squared distances beyond this are taken for this: sums of them must be float64 numbers.
_FARTHEST = 2.0**900

#: Bits of a total of whole numbers that rows are drawn by.
_DRAWN_BITS = 61


def random_rows(runner: BaseRunner, n_clusters: int, rng: RandomState) -> NDArray[np.int64]:
    """Distinct rows, drawn in proportion to their weights."""
    weights = runner.weights
    if np.count_nonzero(weights) < n_clusters:
        return np.argsort(-weights, kind="stable")[:n_clusters]
    return rng.choice(len(weights), n_clusters, replace=False, p=weights / weights.sum())


def plus_plus(
    runner: BaseRunner, n_clusters: int, rng: RandomState, n_trials: int | None = None
) -> NDArray[np.int64]:
    """Greedy k-means++: each next row is the best of a few drawn by their squared distance.

    Parameters
    ----------
    runner : Runner
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
    blocks = [CandidateDistances(block, n_trials) for block in runner.blocks]
    chosen = np.empty(n_clusters, dtype=np.int64)
    chosen[0] = draw_rows([block.weights for block in runner.blocks], rng.random_sample(1))[0]
    _measure(runner, blocks, chosen[:1])
    for block in blocks:
        block.accept(0)
    for c in range(1, n_clusters):
        draws = rng.uniform(size=n_trials)
        candidates = draw_rows([block.potentials for block in blocks], draws)
        _measure(runner, blocks, candidates)
        best = int(np.argmin(_potentials(blocks, n_trials)))
        chosen[c] = candidates[best]
        for block in blocks:
            block.accept(best)
    return chosen


def parallel(
    runner: BaseRunner,
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
    runner : Runner
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
    weights = runner.weights
    chosen = draw_rows([block.weights for block in runner.blocks], rng.random_sample(1))
    closest, _ = nearest_rows(runner, chosen)
    for _ in range(n_rounds):
        mass = weights * closest
        total = float(ExactSum.of(mass))
        if total <= 0:
            break
        chance = oversampling * n_clusters * mass / total
        seed = int(rng.randint(2**31))
        drawn = np.flatnonzero(uniform_by_row(seed, 0, len(mass)) < chance)
        if len(drawn) == 0:
            continue
        chosen = np.union1d(chosen, drawn)
        closest = np.minimum(closest, nearest_rows(runner, drawn)[0])
    if len(chosen) < n_clusters:
        missing = np.setdiff1d(np.arange(len(weights)), chosen)
        missing = missing[np.argsort(-(weights * closest)[missing], kind="stable")]
        chosen = np.concatenate([chosen, missing[: n_clusters - len(chosen)]])
    _, labels = nearest_rows(runner, chosen)
    gathered = runner.masses(labels, len(chosen))
    few = LocalRunner(runner.rows_at(chosen), gathered)
    return chosen[plus_plus(few, n_clusters, rng)]


def markov_chain(
    runner: BaseRunner, n_clusters: int, rng: RandomState, *, chain_length: int = 200
) -> NDArray[np.int64]:
    """AFK-MC²: k-means++ by sampling, one pass over the data however many centroids.

    Each centroid is the end of a Markov chain over rows that are proposed half by their distance
    to the first centroid, half uniformly (by weight). Cost: one pass, then
    ``n_clusters² * chain_length / 2`` distances.

    Parameters
    ----------
    runner : Runner
    n_clusters : int
    rng : RandomState
    chain_length : int
        Steps of each chain; longer is closer to exact k-means++.

    Returns
    -------
    ndarray of shape (n_clusters,)
        Row numbers.
    """
    weights = runner.weights / runner.frame.mass
    chosen = np.empty(n_clusters, dtype=np.int64)
    chosen[0] = draw_rows([block.weights for block in runner.blocks], rng.random_sample(1))[0]
    first, _ = nearest_rows(runner, chosen[:1])
    mass = weights * first
    total = float(ExactSum.of(mass))
    proposal = 0.5 * mass / total + 0.5 * weights if total > 0 else weights
    cumulative = np.cumsum(proposal)
    for c in range(1, n_clusters):
        draws = rng.uniform(size=chain_length) * cumulative[-1]
        candidates = np.minimum(np.searchsorted(cumulative, draws), len(weights) - 1)
        accept = rng.uniform(size=chain_length)
        ratio = weights[candidates] * _distances_among(runner, candidates, chosen[:c])
        ratio = np.divide(
            ratio, proposal[candidates], out=np.zeros(chain_length), where=proposal[candidates] > 0
        )
        state = 0
        for step in range(1, chain_length):
            if ratio[state] == 0 or ratio[step] > accept[step] * ratio[state]:
                state = step
        chosen[c] = candidates[state]
    return chosen


METHODS: dict[str, Callable[..., NDArray[np.int64]]] = {
    "k-means++": plus_plus,
    "k-means||": parallel,
    "afk-mc2": markov_chain,
    "random": random_rows,
}


def choose_rows(
    runner: BaseRunner, method: str, n_clusters: int, rng: RandomState
) -> NDArray[np.int64]:
    """Rows to start from by a method's name; those in the runner's journal, if they are there."""
    choose = METHODS[method]
    if runner.journal is None:
        return choose(runner, n_clusters, rng)
    return runner.journal.once(lambda: {"rows": choose(runner, n_clusters, rng)}, rng)["rows"]


def draw_rows(masses: list[NDArray[np.float64]], draws: NDArray[np.float64]) -> NDArray[np.int64]:
    """Rows drawn in proportion to their masses, for numbers between 0 and 1.

    Masses become whole numbers, of 61 bits in total, whose sums are exact: the block is found by
    the sums of the blocks, then the row inside it.

    Parameters
    ----------
    masses : list of ndarray
        Non-negative, of each block's rows.
    draws : ndarray of shape (m,)

    Returns
    -------
    ndarray of shape (m,)
        Numbers of rows, counted over all blocks. The last row of positive mass (or the last row)
        where nothing has any.
    """
    from polymeans.kernels import seeding

    largest = max(float(mass.max(initial=0.0)) for mass in masses)
    n_rows = sum(len(mass) for mass in masses)
    if not largest > 0:
        return np.full(len(draws), n_rows - 1)
    bits = _DRAWN_BITS - int(np.ceil(np.log2(max(2, n_rows)))) - int(np.frexp(largest)[1])
    low, high = bits // 2, bits - bits // 2  # one factor could leave the range of numbers
    scales = 2.0**low, 2.0**high
    totals = [seeding.total_units(mass, *scales) for mass in masses]
    total = sum(totals)
    # The draw's 53 bits times a total of 61: in Python's integers nothing is rounded.
    wanted = [int(draw * 2**53) * total >> 53 for draw in draws.tolist()]
    order = np.argsort(draws, kind="stable")
    found = np.empty(len(draws), dtype=np.int64)
    before, first, position = 0, 0, 0
    for mass, units in zip(masses, totals):
        last = position
        while last < len(order) and wanted[order[last]] < before + units:
            last += 1
        if last > position:
            inside = order[position:last]
            targets = np.array([wanted[i] - before for i in inside], dtype=np.int64)
            found[inside] = first + seeding.rows_of_units(mass, *scales, targets)
        before, first, position = before + units, first + len(mass), last
    return found


def uniform_by_row(seed: int, first: int, n_rows: int) -> NDArray[np.float64]:
    """Random numbers of rows ``first : first + n_rows``, the same however rows are cut up."""
    parts = []
    for key in range(first // _KEYED_ROWS, -(-(first + n_rows) // _KEYED_ROWS)):
        generator = np.random.Generator(np.random.Philox(key=[seed, key]))
        parts.append(generator.random(_KEYED_ROWS))
    skipped = first % _KEYED_ROWS
    return np.concatenate(parts)[skipped : skipped + n_rows] if parts else np.empty(0)


def potential_of(runner: BaseRunner, chosen: NDArray[np.integer]) -> float:
    """Weighted squared distances of all rows to the nearest chosen one."""
    distances, _ = nearest_rows(runner, np.asarray(chosen))
    return runner.frame.to_user(float(ExactSum.of(distances, runner.weights)))


def codebook_of_rows(
    runner: BaseRunner, chosen: NDArray[np.integer]
) -> DenseCodebook | NumeratorCodebook:
    """Some rows as centroids."""
    return _codebook(runner.frame, runner.take(chosen), runner.norms_of(chosen) ** 2)


def _codebook(
    frame: Frame, centers: NDArray[Any], squared_norms: NDArray[np.float64]
) -> DenseCodebook | NumeratorCodebook:
    if frame.is_sparse:
        return NumeratorCodebook(centers, squared_norms, spherical=frame.spherical)
    return DenseCodebook(centers, frame.spherical)


def nearest_rows(
    runner: BaseRunner, chosen: NDArray[np.integer]
) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Squared distance of each row to the nearest of some rows, and which one it is."""
    codebook = codebook_of_rows(runner, chosen)
    found = [_nearest(block, codebook) for block in runner.blocks]
    distances, labels = zip(*found)
    return np.minimum(np.concatenate(distances), _FARTHEST), np.concatenate(labels)


def _nearest(
    block: Block, codebook: DenseCodebook | NumeratorCodebook
) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    labels = np.empty(block.n_samples, dtype=np.int32)
    make_assigner(block, codebook, "lloyd").assign(codebook, labels, labels)
    decide_contested(block, codebook, labels)
    return own_distances(block, codebook, labels), labels


def _distances_among(
    runner: BaseRunner, some: NDArray[np.integer], others: NDArray[np.integer]
) -> NDArray[np.float64]:
    """Squared distance of some rows to the nearest of others."""
    if not runner.frame.is_sparse:
        few = glance(runner.take(some), np.ones(len(some)))
        codebook = DenseCodebook(few.frame.internal(runner.take(others)))
        return _nearest(few, codebook)[0] * few.frame.unit * few.frame.unit
    # Few rows against few rows: a product of two sparse matrices touches least.
    products = (runner.rows_at(some) @ runner.rows_at(others).T).toarray()
    scale = runner.norms_of(some)[:, None] ** 2 + runner.norms_of(others) ** 2
    distances = scale - 2 * products
    distances[distances <= 1e-12 * scale] = 0.0
    return distances.min(axis=1)


class CandidateDistances:
    """Squared distances of a block's rows to a few candidate rows, kept until one is accepted.

    Memory: for each row, 4 bytes a candidate (8 for float64 rows), and 16.

    Parameters
    ----------
    block : Block
    n_candidates : int
        Candidates at most.
    """

    def __init__(self, block: Block, n_candidates: int) -> None:
        self.block = block
        #: Scores in float32 would leave nothing of distances, or overflow.
        self.careful = block.frame.guarded or (block.is_sparse and block.measured.cancels)
        dtype = np.float32 if block.is_sparse else block.dtype
        if self.careful:
            dtype = np.dtype(np.float64)
        self.distances = np.empty((n_candidates, block.n_samples), dtype=dtype)
        #: ``w d²`` with d the distance to the nearest row accepted so far.
        self.potentials = np.full(block.n_samples, np.inf)
        self.closest = np.full(block.n_samples, np.inf)

    def totals(self, n_candidates: int, magics: tuple[float, float]) -> NDArray[np.float64]:
        """Rungs of ``Σ w min(closest, d²)`` if each candidate were accepted, (m, 2)."""
        from polymeans.kernels import seeding

        block, distances = self.block, self.distances[:n_candidates]

        def part(lo: int, hi: int) -> NDArray[np.float64]:
            rungs = np.zeros((n_candidates, 2))
            seeding.potentials(distances, self.closest, block.weights, *magics, lo, hi, rungs)
            return rungs

        rungs = np.zeros((n_candidates, 2))
        for own in _in_large_pieces(part, block.n_samples):
            rungs += own
        return rungs

    def accept(self, position: int) -> None:
        """Make the candidate measured at this position a centroid."""
        from polymeans.kernels import seeding

        block, chosen = self.block, self.distances[position]
        _in_large_pieces(
            lambda lo, hi: seeding.lower_closest(
                chosen, block.weights, lo, hi, self.closest, self.potentials
            ),
            block.n_samples,
        )

    def measure_carefully(self, codebooks: Sequence[DenseCodebook | NumeratorCodebook]) -> None:
        """Distances to candidates, each given as a single centroid, coordinate by coordinate."""
        labels = np.zeros(self.block.n_samples, dtype=np.int32)
        for position, codebook in enumerate(codebooks):
            distances = own_distances(self.block, codebook, labels)
            np.minimum(distances, _FARTHEST, out=self.distances[position])

    def measure_dense(self, codebook: DenseCodebook) -> None:
        """Distances to candidates, given as centroids."""
        from polymeans.kernels import seeding

        rows = self.block
        assert isinstance(rows, DenseBlock)
        assigner = DenseLloyd(rows, codebook.n_clusters)
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

    def measure_sparse(
        self, entries: Sequence[tuple[NDArray[Any], ...]], squares: NDArray[np.float64]
    ) -> None:
        """Distances to candidates, given by their features, values and squared norms."""
        from polymeans.kernels import seeding

        rows = self.block
        assert isinstance(rows, SparseBlock)
        transposed = rows.transposed()

        def measure(position: int) -> None:
            seeding.candidate_distances_sparse(
                *transposed,
                *entries[position],
                squares[position],
                rows.norms,
                self.distances[position],
            )

        running_threads().map(measure, range(len(entries)))


def _in_large_pieces(function: Callable[[int, int], Any], n_rows: int) -> list[Any]:
    """Results of ``function(lo, hi)`` over all rows, for little work a row."""
    threads = running_threads()
    return threads.map(lambda r: function(*r), threads.ranges(n_rows, smallest=_LIGHT_ROWS))


def _measure(
    runner: BaseRunner, blocks: list[CandidateDistances], candidates: NDArray[np.int64]
) -> None:
    """Distances of all rows to some of them."""
    if blocks[0].careful:
        single = [codebook_of_rows(runner, candidates[c : c + 1]) for c in range(len(candidates))]
        for block in blocks:
            block.measure_carefully(single)
    elif runner.frame.is_sparse:
        entries = [_entries(runner, row) for row in candidates.tolist()]
        squares = runner.norms_of(candidates) ** 2
        for block in blocks:
            block.measure_sparse(entries, squares)
    else:
        codebook = DenseCodebook(runner.take(candidates), runner.frame.spherical)
        for block in blocks:
            block.measure_dense(codebook)


def _entries(runner: BaseRunner, row: int) -> tuple[NDArray[Any], NDArray[np.float32]]:
    """Features and values of a sparse row."""
    block = next(b for b in runner.blocks if row < b.first + b.n_samples)
    assert isinstance(block, SparseBlock)
    indptr, indices, _ = block.arrays
    part = slice(indptr[row - block.first], indptr[row - block.first + 1])
    return indices[part], block.values32[part]


def _potentials(blocks: list[CandidateDistances], n_candidates: int) -> NDArray[np.float64]:
    """``Σ w min(closest, d²)`` over all rows for each candidate, rounded once.

    Each term is split onto two rungs below the largest term of all. With n <= 2**b rows, what
    rounds away of a term is less than 2**(2 b - 106) of the largest, for any order of the rows.
    """
    # No candidate makes a row's potential larger than it is.
    largest = max(float(block.potentials.max(initial=0.0)) for block in blocks)
    if not largest > 0:
        return np.zeros(n_candidates)
    n_bits = max(2, int(np.ceil(np.log2(sum(len(block.closest) for block in blocks)))))
    upper = max(int(np.frexp(largest)[1]) + n_bits - 53, -900)
    magics = 1.5 * 2.0 ** (52 + upper), 1.5 * 2.0 ** (52 + upper + n_bits - 53)
    rungs = np.zeros((n_candidates, 2))
    for block in blocks:
        rungs += block.totals(n_candidates, magics)
    return rungs.sum(axis=1)
