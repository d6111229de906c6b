"""Two directions in which the clusters of a sample of rows can be seen."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

#: Centroids whose scatter decides the directions, at most; the heaviest.
_MOST_CENTERS = 1000

#: Rounds of power iteration for a direction of the sample: a picture needs no more digits.
_ROUNDS = 30


@dataclass(frozen=True)
class Projection:
    """Rows of a sample and centroids in two dimensions."""

    points: NDArray[np.float64]  #: (n, 2)
    centers: NDArray[np.float64]  #: (k, 2)
    shown: float  #: share of the scatter of the centroids that is seen
    by_centers: int  #: directions that show differences of centroids: 0, 1 or 2


def project(
    places: Any, centers: NDArray[np.float64], weights: NDArray[np.float64], metric: str
) -> Projection:
    """The two directions along which centroids differ most.

    Where centroids span fewer than two, the direction along which rows differ most is added.

    Parameters
    ----------
    places : ndarray or CSR of shape (n, m)
        Rows of a sample.
    centers : ndarray of shape (k, m)
    weights : ndarray of shape (k,)
        Of the clusters.
    metric : {"euclidean", "cosine"}
        With "cosine", directions of rows and centroids are seen.

    Returns
    -------
    Projection
    """
    unit = _unit(places, centers)
    places, centers = _scaled(places, unit, metric), _scaled(centers, unit, metric)
    share = weights / weights.sum() if weights.sum() > 0 else np.ones(len(weights)) / len(weights)
    mean = share @ centers
    axes, squares, total = _center_directions(centers - mean, share)
    by_centers = len(axes)
    while len(axes) < min(2, centers.shape[1]):
        found = _sample_direction(places, mean, axes)
        if found is None:
            break
        axes = np.vstack([axes, found])
    flat = np.zeros((2, centers.shape[1]))
    flat[: len(axes)] = axes
    points = places @ flat.T - mean @ flat.T
    shown = float(squares[:by_centers].sum() / total) if total > 0 else 1.0
    return Projection(np.asarray(points), (centers - mean) @ flat.T, shown, by_centers)


def _unit(places: Any, centers: NDArray[np.float64]) -> float:
    """A power of two near the largest entry, so that squares stay in range."""
    values = places.data if sp.issparse(places) else places
    largest = max(np.abs(values).max(initial=0.0), np.abs(centers).max(initial=0.0))
    return float(2.0 ** np.floor(np.log2(float(largest)))) if largest > 0 else 1.0


def _scaled(vectors: Any, unit: float, metric: str) -> Any:
    if sp.issparse(vectors):
        vectors = sp.csr_array(vectors, dtype=np.float64) * (1.0 / unit)
        squares = np.asarray(vectors.power(2).sum(axis=1)).reshape(-1)
    else:
        vectors = np.asarray(vectors, dtype=np.float64) / unit
        squares = np.einsum("ij,ij->i", vectors, vectors)
    if metric != "cosine":
        return vectors
    inverse = np.divide(1.0, np.sqrt(squares), out=np.zeros(len(squares)), where=squares > 0)
    if sp.issparse(vectors):
        return sp.csr_array(sp.diags_array(inverse) @ vectors)
    return vectors * inverse[:, None]


def _center_directions(
    away: NDArray[np.float64], share: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """At most two directions of the centroids' scatter, their squares, and all of it."""
    if len(away) > _MOST_CENTERS:
        heaviest = np.argsort(-share, kind="stable")[:_MOST_CENTERS]
        away, share = away[heaviest], share[heaviest]
    scaled = away * np.sqrt(share)[:, None]
    _, lengths, axes = np.linalg.svd(scaled, full_matrices=False)
    squares = lengths**2
    keep = int(np.count_nonzero(squares[:2] > 1e-12 * max(squares.sum(), 1e-300)))
    axes = axes[:keep]
    # The sign of a direction is arbitrary: its largest entry is positive.
    for axis in axes:
        axis *= np.sign(axis[np.abs(axis).argmax()]) or 1.0
    return axes, squares, float(squares.sum())


def _sample_direction(
    places: Any, mean: NDArray[np.float64], axes: NDArray[np.float64]
) -> NDArray[np.float64] | None:
    """The direction along which rows differ most, orthogonal to the others."""
    direction = np.random.default_rng(0).normal(size=len(mean))
    middle = np.asarray(places.mean(axis=0)).reshape(-1)
    for _ in range(_ROUNDS):
        direction = direction - axes.T @ (axes @ direction)
        length = float(np.linalg.norm(direction))
        if length < 1e-300:
            return None
        direction /= length
        along = np.asarray(places @ direction) - middle @ direction
        following = np.asarray(places.T @ along) - middle * along.sum()
        following -= axes.T @ (axes @ following)
        if not np.linalg.norm(following) > 1e-300:
            return None
        direction = following
    return direction / np.linalg.norm(direction)
