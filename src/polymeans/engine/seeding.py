"""Where to begin: rows that make good first centroids.

All methods honour weights and return row numbers. They draw from ``RandomState`` in the order
scikit-learn's ``kmeans_plusplus`` does, so the same seed gives the same start there and here (up
to rounding). What they draw does not depend on how the rows are cut into blocks, see
:mod:`polymeans.engine.drawing`.
"""

from collections.abc import Callable

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray

from polymeans.codebooks.dense import DenseCodebook
from polymeans.codebooks.numerators import NumeratorCodebook
from polymeans.core.exact_sums import ExactSum
from polymeans.core.rows import is_csr
from polymeans.engine.blocks import Block
from polymeans.engine.candidates import codebook_of, nearest_of
from polymeans.engine.drawing import draw_rows
from polymeans.engine.parallel_seeding import parallel
from polymeans.engine.placement import Kept
from polymeans.engine.plus_plus import plus_plus
from polymeans.engine.runners import BaseRunner
from polymeans.engine.survey import glance


def random_rows(runner: BaseRunner, n_clusters: int, rng: RandomState) -> NDArray[np.int64]:
    """Distinct rows, drawn in proportion to their weights."""
    weights = runner.weights
    if np.count_nonzero(weights) < n_clusters:
        return np.argsort(-weights, kind="stable")[:n_clusters]
    return rng.choice(len(weights), n_clusters, replace=False, p=weights / weights.sum())


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
    chosen[0] = draw_rows(runner.placement, "weights", rng.random_sample(1))[0]
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


def potential_of(runner: BaseRunner, chosen: NDArray[np.integer]) -> float:
    """Weighted squared distances of all rows to the nearest chosen one."""
    distances, _ = nearest_rows(runner, np.asarray(chosen))
    return runner.frame.to_user(float(ExactSum.of(distances, runner.weights)))


def codebook_of_rows(
    runner: BaseRunner, chosen: NDArray[np.integer]
) -> DenseCodebook | NumeratorCodebook:
    """Some rows as centroids."""
    return codebook_of(runner.frame, *runner.rows_and_norms(chosen))


def nearest_rows(
    runner: BaseRunner, chosen: NDArray[np.integer]
) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Squared distance of each row to the nearest of some rows, and which one it is."""
    found = runner.placement.map(nearest_in_block, codebook_of_rows(runner, chosen))
    distances, labels = zip(*found)
    return np.concatenate(distances), np.concatenate(labels)


def nearest_in_block(
    block: Block, kept: Kept, codebook: DenseCodebook | NumeratorCodebook
) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """The same for the rows of a block, given the codebook of these rows."""
    return nearest_of(block, codebook)


def _distances_among(
    runner: BaseRunner, some: NDArray[np.integer], others: NDArray[np.integer]
) -> NDArray[np.float64]:
    """Squared distance of some rows to the nearest of others."""
    if not runner.frame.is_sparse:
        few = glance(runner.take(some), np.ones(len(some)))
        codebook = DenseCodebook(few.frame.internal(runner.take(others)))
        return nearest_of(few, codebook)[0] * few.frame.unit * few.frame.unit
    # Few rows against few rows: a product of two sparse matrices touches least.
    rows, norms = runner.rows_and_norms(some)
    other_rows, other_norms = runner.rows_and_norms(others)
    assert is_csr(rows)
    assert is_csr(other_rows)
    products = (rows @ other_rows.T).toarray()
    scale = norms[:, None] ** 2 + other_norms**2
    distances = scale - 2 * products
    distances[distances <= 1e-12 * scale] = 0.0
    return distances.min(axis=1)
