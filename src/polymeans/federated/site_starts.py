"""What a site offers as a start: means of several rows each, never a row."""

import numpy as np
from numpy.typing import NDArray

from polymeans.codebooks.base import BaseCodebook
from polymeans.engine.assignment import make_codebook
from polymeans.engine.blocks import Block
from polymeans.engine.distances import own_distances
from polymeans.engine.labeling import label_block
from polymeans.engine.survey import glance
from polymeans.federated.messages import Message, packed_integers
from polymeans.federated.site import RefusedError, Site
from polymeans.search.summary import micro_centroids

#: Rows of a micro-centroid at least, whatever ``min_count`` is: one of a single row is that row.
LEAST_ROWS = 2


def summary(site: Site, request: Message) -> Message:
    """Micro-centroids of the rows, with the number of rows of each."""
    _refuse_if_private(site)
    least = max(LEAST_ROWS, site.rules.min_count)
    points, weights = _dense_rows(site, bool(request["spherical"]))
    n_micro = min(int(request["n_micro"]), len(points) // (2 * least))
    labels = np.zeros(len(points), dtype=np.int64)
    if n_micro > 1:
        labels = micro_centroids(points, np.maximum(weights, 1e-12), n_micro, site.rng("summary"))[
            3
        ]
    labels = _merged(points, labels, least)
    return _means(points, weights, labels, site)


def candidates(site: Site, request: Message) -> Message:
    """Means of neighboring rows far from all known points."""
    _refuse_if_private(site)
    least = max(LEAST_ROWS, site.rules.min_count)
    points, weights = _dense_rows(site, bool(request["spherical"]))
    if len(points) < least:
        raise RefusedError("it has too few rows for a mean of them")
    known = request["known"]
    rng = site.rng("candidates", len(known))
    chance = weights.copy()
    if len(known):
        block, codebook = _beside(points, known)
        labels = label_block(block, codebook)
        chance = weights * own_distances(block, codebook, labels)
    total = chance.sum()
    if not total > 0:
        return {"points": points[:0], "counts": packed_integers(np.empty(0, dtype=np.int64))}
    expected = float(request["expected"])
    drawn = np.flatnonzero(rng.random(len(points)) * total < expected * chance)
    if len(drawn) == 0:
        drawn = rng.choice(len(points), 1, p=chance / total)
    means = []
    for row in drawn:
        distances = np.sum((points - points[row]) ** 2, axis=1)
        nearest = np.argsort(distances, kind="stable")[:least]
        means.append(np.average(points[nearest], axis=0))
    counts = np.zeros(len(means), dtype=np.int64)  # of no meaning yet: rows are shared
    return {
        "points": np.array(means, dtype=site.rows.dtype),
        "counts": packed_integers(counts),
    }


def nearest_counts(site: Site, request: Message) -> Message:
    """How many rows are nearest to each of some points; few are none."""
    _refuse_if_private(site)
    points, weights = _dense_rows(site, bool(request["spherical"]))
    block, codebook = _beside(points, request["known"])
    counts = np.bincount(label_block(block, codebook)[weights > 0], minlength=codebook.n_clusters)
    counts[counts < site.rules.min_count] = 0
    return site.protected(request, {"counts": counts.astype(np.int64)})


def _dense_rows(site: Site, spherical: bool) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    rows = site.rows.toarray() if hasattr(site.rows, "toarray") else site.rows
    points, weights = rows.astype(np.float64), site.weights
    if spherical:
        lengths = np.linalg.norm(points, axis=1)
        points = points / np.where(lengths > 0, lengths, 1.0)[:, None]
        points, weights = points[lengths > 0], weights[lengths > 0]
    return points, weights


def _beside(points: NDArray[np.float64], known: NDArray[np.floating]) -> tuple[Block, BaseCodebook]:
    block = glance(points, np.ones(len(points)), largest_center=float(np.abs(known).max()))
    return block, make_codebook(block.frame, known.astype(np.float64))


def _merged(
    points: NDArray[np.float64], labels: NDArray[np.int64], least: int
) -> NDArray[np.int64]:
    """Rows of clusters with too few of them go to the nearest cluster that has enough."""
    while True:
        used, labels, sizes = np.unique(labels, return_inverse=True, return_counts=True)
        small = sizes < least
        if not small.any() or len(used) == 1:
            return labels
        means = np.zeros((len(used), points.shape[1]))
        np.add.at(means, labels, points)
        means /= sizes[:, None]
        if small.all():  # the largest takes in the others
            small[np.argmax(sizes)] = False
        targets = np.flatnonzero(~small)
        for cluster in np.flatnonzero(small):
            nearest = np.sum((means[targets] - means[cluster]) ** 2, axis=1)
            labels[labels == cluster] = targets[np.argmin(nearest)]


def _means(
    points: NDArray[np.float64], weights: NDArray[np.float64], labels: NDArray[np.int64], site: Site
) -> Message:
    counts = np.bincount(labels)
    if (counts < max(LEAST_ROWS, site.rules.min_count)).any():
        raise RefusedError("it has too few rows for a mean of them")
    masses = np.bincount(labels, weights)
    sums = np.zeros((len(counts), points.shape[1]))
    np.add.at(sums, labels, points * weights[:, None])
    kept = masses > 0
    means = sums[kept] / masses[kept, None]
    return {"points": means.astype(site.rows.dtype), "counts": packed_integers(counts[kept])}


def _refuse_if_private(site: Site) -> None:
    if site.rules.privacy is not None:
        raise RefusedError("with privacy, only noisy totals leave this site")
