"""A summary of the data small enough to search: micro-centroids, and few columns.

Rows become the means of many small clusters with their masses. Columns: sums look the same in any
rotated and shifted coordinates, so the principal axes will do; products are fitted feature by
feature, so any selection of features is a smaller problem of the same kind.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymeans.engine.assignment import make_codebook
from polymeans.engine.lloyd import descend

#: Columns a search problem has at most, unless the data have hardly more.
COLUMNS = 128

#: A summary is made where it at least saves this factor.
_WORTHWHILE = 1.5


@dataclass
class Summary:
    """Rows to search on.

    ``points`` are the rows or micro-centroids in all columns, ``reduced`` the same in few.
    """

    points: NDArray[Any]
    weights: NDArray[np.float64]
    reduced: NDArray[Any]
    basis: NDArray[np.float64] | None  #: (r, d) principal axes of the reduced columns (sums)
    mean: NDArray[np.float64]  #: (d,) what was subtracted before (sums)
    offset: float  #: scatter of the rows about their micro-centroids and outside the basis
    is_everything: bool  #: the points are the rows themselves


def summarize(
    rows: Any, n_clusters: int, aggregator: str, rng: np.random.Generator
) -> Summary:
    """Micro-centroids of the rows and their principal or sampled columns.

    Parameters
    ----------
    rows : DenseRows or SparseRows
    n_clusters : int
        The more centroids, the finer the summary.
    aggregator : {"sum", "product"}
    rng : Generator

    Returns
    -------
    Summary
    """
    n_micro = max(500, 20 * n_clusters)
    everything = rows.n_samples <= _WORTHWHILE * n_micro
    if everything:
        points, weights, offset = rows.take(np.arange(rows.n_samples)), rows.weights, 0.0
    else:
        points, weights, offset = micro_centroids(rows, n_micro, rng)
    used = weights > 0
    points, weights = points[used], weights[used]
    n_columns = points.shape[1]
    mean = np.zeros(n_columns)
    if aggregator == "sum":
        mean = weights @ points / weights.sum()
    if n_columns <= _WORTHWHILE * COLUMNS:
        return Summary(points, weights, points - mean, None, mean, offset, everything)
    if aggregator == "product":
        chosen = np.sort(rng.choice(n_columns, COLUMNS, replace=False))
        return Summary(points, weights, points[:, chosen], None, mean, offset, everything)
    reduced, basis, lost = principal_columns(points - mean, weights, rng)
    return Summary(points, weights, reduced, basis, mean, offset + lost, everything)


def micro_centroids(
    rows: Any, n_micro: int, rng: np.random.Generator
) -> tuple[NDArray[Any], NDArray[np.float64], float]:
    """Means of many small clusters, their masses, and the scatter within them.

    Two rounds of k-means on a sample; the masses are scaled up to all rows.
    """
    present = np.flatnonzero(rows.weights > 0)
    sample = present
    if len(present) > 20 * n_micro:
        sample = np.sort(rng.choice(present, 20 * n_micro, replace=False))
    seeds = rng.choice(len(sample), min(n_micro, len(sample)), replace=False)
    part = rows.subset(sample, rows.weights[sample])
    codebook = make_codebook(part, part.external(part.take(np.sort(seeds))))
    run = descend(part, codebook, algorithm="lloyd", max_iter=2, tol=0.0)
    mass = np.bincount(run.labels, part.weights, minlength=codebook.n_clusters)
    scale = float(rows.weights.sum()) / float(mass.sum())
    return run.codebook.to_array(part), mass * scale, run.inertia * scale


def principal_columns(
    points: NDArray[Any], weights: NDArray[np.float64], rng: np.random.Generator
) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """Coordinates of centred rows along their principal axes, the axes, and the scatter lost."""
    scaled = points * np.sqrt(weights)[:, None]
    if min(scaled.shape) <= 1024:
        # The smaller of the two Gram matrices; axes of the larger one follow.
        if scaled.shape[0] < scaled.shape[1]:
            values, left = np.linalg.eigh(scaled @ scaled.T)
            left = left[:, ::-1][:, :COLUMNS]
            basis = left.T @ scaled
            basis /= np.maximum(np.linalg.norm(basis, axis=1), 1e-300)[:, None]
        else:
            values, vectors = np.linalg.eigh(scaled.T @ scaled)
            basis = vectors[:, ::-1][:, :COLUMNS].T
    else:
        from sklearn.utils.extmath import randomized_svd

        seed = int(rng.integers(2**31))
        _, _, basis = randomized_svd(scaled, COLUMNS, n_iter=4, random_state=seed)
    reduced = points @ basis.T
    lost = float(np.sum(scaled**2)) - float(np.sum(weights[:, None] * reduced**2))
    return reduced, np.ascontiguousarray(basis, dtype=np.float64), max(0.0, lost)
