"""A summary of the data small enough to search: micro-centroids, and few columns.

Rows become the means of many small clusters with their masses. Columns: sums look the same in any
rotated and shifted coordinates, so principal axes can replace them; products are fitted feature by
feature, so any selection of features is a smaller problem of the same kind.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.extmath import randomized_svd

from polymeans.core.rows import is_csr
from polymeans.engine.assignment import make_codebook
from polymeans.engine.lloyd import descend
from polymeans.engine.runners import BaseRunner, LocalRunner

#: Columns a search problem has at most, unless the data have hardly more. Measured on the data sets
#: of the Khatri-Rao paper: as good as all columns, in a seventh of the passes or less, see
#: docs/explanation/constants.rst.
COLUMNS = 128

#: Micro-centroids for each centroid (and for each protocentroid of the largest set, whatever the
#: limit), and their least and largest number: so many rows a centroid determine it well enough for
#: a search, and more would make every pass longer.
PER_CENTROID, FEWEST, MOST = 20, 500, 8000

#: Rows that micro-centroids are made from, for each of them, and rounds of k-means that make them.
#: One round was slightly worse in experiments; more rows or rounds take time on all data.
SAMPLED, ROUNDS = 20, 2

#: A summary is made where it saves at least this factor in rows, or in columns: below that, what it
#: leaves out is not worth the time it saves.
_WORTHWHILE = 1.5

#: Gram matrices up to this size are decomposed; the cost grows with the cube of it, so larger ones
#: are left to random projections.
_DECOMPOSED = 512

#: Eigenvalues below this share of the largest belong to directions of rounding noise alone.
_NO_SPREAD = 1e-12


@dataclass
class Summary:
    """Rows to search on, and the way back to all columns."""

    reduced: NDArray[Any]  #: (n, r) points in few columns
    weights: NDArray[np.float64]  #: (n,)
    offset: float  #: what the rows cost with any centroids: scatter that the points do not have
    sources: NDArray[Any] | sp.csr_array  #: (m, d) rows in all columns behind the points
    source_weights: NDArray[np.float64]  #: (m,)
    membership: NDArray[np.int64] | None  #: (m,) point each of them went into; None: one each
    basis: NDArray[np.float64] | None  #: (r, d) axes of the columns (sums); None: features
    mean: NDArray[np.float64]  #: (r,) or (d,) subtracted from the points (sums)

    @property
    def has_all_columns(self) -> bool:
        """Whether no column was left out."""
        return self.basis is None and self.reduced.shape[1] == self.sources.shape[1]


def summarize(
    runner: BaseRunner, sizes: Sequence[int], aggregator: str, rng: np.random.Generator
) -> Summary:
    """Micro-centroids of the rows and their principal or sampled columns.

    Parameters
    ----------
    runner : Runner
    sizes : tuple of int
        The more centroids, the finer the summary.
    aggregator : {"sum", "product"}
    rng : Generator

    Returns
    -------
    Summary
    """
    n_micro = max(FEWEST, PER_CENTROID * int(np.prod(sizes)))
    n_micro = max(min(n_micro, MOST), PER_CENTROID * max(sizes))
    chosen, weights, n_counted = sample_rows(runner, SAMPLED * n_micro, rng)
    enough = n_counted <= _WORTHWHILE * n_micro
    if runner.frame.is_sparse:
        return _summarize_sparse(
            runner, chosen, weights, None if enough else n_micro, aggregator, rng
        )

    points, offset = runner.take(chosen), 0.0
    if not enough:
        points, weights, offset, _ = micro_centroids(points, weights, n_micro, rng)
    mean = np.zeros(points.shape[1])
    if aggregator == "sum":
        mean = weights @ points / weights.sum()
    reduced, basis = points - mean, None
    if points.shape[1] > _WORTHWHILE * COLUMNS:
        if aggregator == "sum":
            basis = principal_axes(reduced * np.sqrt(weights)[:, None], rng)
            total = float(weights @ np.sum(reduced**2, axis=1))
            reduced = reduced @ basis.T
            offset += max(0.0, total - float(weights @ np.sum(reduced**2, axis=1)))
        else:
            columns = np.sort(rng.choice(points.shape[1], COLUMNS, replace=False))
            reduced = points[:, columns]
    return Summary(reduced, weights, offset, points, weights, None, basis, mean)


def sample_rows(
    runner: BaseRunner, size: int, rng: np.random.Generator, relative: bool = False
) -> tuple[NDArray[np.int64], NDArray[np.float64], int]:
    """Numbers of rows that count, their weights, and how many there were to choose from.

    All of them if they are not more than ``size``; otherwise a sample whose weights add up to
    those of all. ``relative``: in parts of the heaviest.
    """
    n_rows = runner.frame.n_samples
    if runner.frame.unweighted and n_rows > size:
        # The same draws and weights as below, without a number for each of many rows.
        chosen = np.sort(rng.choice(n_rows, size, replace=False))
        return chosen, np.full(size, n_rows / size), n_rows
    weights = runner.weights
    chosen = np.flatnonzero(weights > 0)
    weights = weights[chosen] / weights.max() if relative else weights[chosen]
    n_counted = len(chosen)
    if n_counted > size:
        chosen, weights = _draw_rows(chosen, weights, size, rng)
    return chosen, weights, n_counted


def _draw_rows(
    chosen: NDArray[np.int64], weights: NDArray[np.float64], size: int, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Some of the rows, and weights that add up to those of all of them.

    Rows heavier than their share are always in; of the rest, each drawn row represents several.
    """
    heavy = weights > weights.sum() / size
    light = np.flatnonzero(~heavy)
    drawn = light
    if len(light) > size:
        drawn = np.sort(rng.choice(light, size, replace=False))
    scaled = weights.copy()
    if len(drawn):
        scaled[drawn] *= weights[light].sum() / max(weights[drawn].sum(), 1e-300)
    kept = np.sort(np.concatenate([np.flatnonzero(heavy), drawn]))
    return chosen[kept], scaled[kept]


def _summarize_sparse(
    runner: BaseRunner,
    chosen: NDArray[np.int64],
    weights: NDArray[np.float64],
    n_micro: int | None,
    aggregator: str,
    rng: np.random.Generator,
) -> Summary:
    """The same for CSR rows: few columns first, since in all of them nothing may become dense."""
    sources, source_weights = runner.rows_at(chosen), weights
    assert is_csr(sources)
    basis = None
    if sources.shape[1] <= _WORTHWHILE * COLUMNS:
        points = sources.toarray()
    elif aggregator == "sum":
        basis = principal_axes(sp.diags_array(np.sqrt(weights)) @ sources, rng)
        points = sources @ basis.T
    else:
        # Features drawn by their sums of squares: most are zero in almost all rows.
        energy = sources.multiply(sources).T @ (weights / weights.max())
        energy = energy / energy.max() if energy.max() > 0 else np.ones(len(energy))
        n_columns = min(COLUMNS, int(np.count_nonzero(energy)))
        columns = rng.choice(len(energy), n_columns, replace=False, p=energy / energy.sum())
        points = sources[:, np.sort(columns)].toarray()
    membership, offset = None, 0.0
    if n_micro is not None:
        points, weights, offset, membership = micro_centroids(points, weights, n_micro, rng)
    if basis is not None:
        total = float(source_weights @ np.asarray(sources.multiply(sources).sum(axis=1)).ravel())
        offset = max(0.0, total - float(weights @ np.sum(points**2, axis=1)))
    mean = np.zeros(points.shape[1])
    if aggregator == "sum":
        mean = weights @ points / weights.sum()
    return Summary(points - mean, weights, offset, sources, source_weights, membership, basis, mean)


def micro_centroids(
    points: NDArray[Any],
    weights: NDArray[np.float64],
    n_micro: int,
    rng: np.random.Generator,
) -> tuple[NDArray[Any], NDArray[np.float64], float, NDArray[np.int64]]:
    """Means of many small clusters, their masses, the scatter within, and the cluster of each row.

    A few rounds of k-means from random rows: the clusters are small enough then.
    """
    runner = LocalRunner(np.ascontiguousarray(points), weights)
    frame = runner.frame
    # By weight; the lightest keep a chance, so that there are enough rows to draw from.
    chance = None
    if weights.min() < weights.max():
        chance = np.maximum(weights / weights.sum(), 1e-12 / len(weights))
        chance /= chance.sum()
    seeds = rng.choice(len(points), min(n_micro, len(points)), replace=False, p=chance)
    codebook = make_codebook(frame, frame.external(runner.take(np.sort(seeds))))
    run = descend(runner, codebook, algorithm="lloyd", max_iter=ROUNDS, tol=0.0)
    masses = runner.masses(run.labels, codebook.n_clusters) * frame.weight_unit
    used = masses > 0
    position = np.cumsum(used) - 1
    centers = run.codebook.to_array(frame)[used].astype(np.float64)
    return centers, masses[used], run.inertia, position[run.labels]


def principal_axes(
    scaled: NDArray[Any] | sp.csr_array,
    rng: np.random.Generator,
    n_axes: int = COLUMNS,
    exact: int = _DECOMPOSED,
) -> NDArray[np.float64]:
    """The directions in which rows, scaled by the roots of their weights, spread most.

    Exact if rows are dense and they, or their columns, are at most ``exact``; otherwise found by
    random projections.
    """
    n_axes = min(n_axes, *scaled.shape)
    if not sp.issparse(scaled) and min(scaled.shape) <= exact:
        # The smaller of the two Gram matrices has the axes of the larger one.
        if scaled.shape[0] < scaled.shape[1]:
            values, left = np.linalg.eigh(scaled @ scaled.T)
            # Directions without spread would be rounding noise.
            kept = np.flatnonzero(values > _NO_SPREAD * values[-1])[::-1][:n_axes]
            basis = np.linalg.qr(scaled.T @ left[:, kept])[0].T if len(kept) else scaled[:1]
        else:
            _, vectors = np.linalg.eigh(scaled.T @ scaled)
            basis = vectors[:, ::-1][:, :n_axes].T
    else:
        seed = int(rng.integers(2**31))
        _, _, basis = randomized_svd(scaled, n_axes, n_iter=2, random_state=seed)
    return np.ascontiguousarray(basis, dtype=np.float64)
