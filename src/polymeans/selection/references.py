"""Rows without clusters that resemble given ones: what criteria would say about nothing."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polymeans.metrics.centroid_quality import QualityAccount
from polymeans.selection.path import nested_path
from polymeans.selection.points import Clustering, Points

#: Sets of reference rows. Their mean is known to a third of their spread.
N_REFERENCES = 10

#: Rows of a reference at most, and entries: with many features fewer rows are drawn.
_MOST_ROWS, _MOST_ENTRIES = 1000, 2**17

#: Rows of a reference at least, if there are so many.
_LEAST_ROWS = 100


@dataclass(frozen=True)
class Nothing:
    """Criteria of rows without clusters, beside those of as many of the given rows.

    Parameters
    ----------
    inertia : ndarray of shape (n_values,)
        Of some of the given rows.
    references : ndarray of shape (n_references, n_values)
        Of reference rows.
    silhouette : float
        Highest simplified silhouette of any reference for any number of clusters.
    calinski_harabasz : float
        Highest of them, over the number of rows.
    davies_bouldin : float
        Lowest of them.
    n_rows : int
    """

    inertia: NDArray[np.float64]
    references: NDArray[np.float64]
    silhouette: float
    calinski_harabasz: float
    davies_bouldin: float
    n_rows: int


def n_reference_rows(n_samples: int, n_features: int) -> int:
    """Rows of each reference."""
    affordable = max(_LEAST_ROWS, min(_MOST_ROWS, _MOST_ENTRIES // n_features))
    return min(n_samples, affordable)


def draw_reference(rows: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
    """As many rows, drawn evenly from a box around them along their principal axes."""
    mean = rows.mean(axis=0)
    _, _, axes = np.linalg.svd(rows - mean, full_matrices=False)
    inside = (rows - mean) @ axes.T
    low, high = inside.min(axis=0), inside.max(axis=0)
    return rng.uniform(low, high, size=inside.shape) @ axes + mean


def cluster_nothing(
    rows: NDArray[np.float64],
    values: Sequence[int],
    rng: np.random.Generator,
    n_threads: int | None,
) -> Iterator[Nothing | None]:
    """Cluster some of the rows and references for them, one set after the other.

    Yields None after each set but the last, so that progress can be reported, and then the outcome.

    Parameters
    ----------
    rows : ndarray of shape (n_samples, n_features)
    values : sequence of int
        Numbers of clusters, rising.
    rng : Generator
    n_threads : int or None

    Yields
    ------
    Nothing or None
    """
    n_rows = n_reference_rows(*rows.shape)
    some = rows[np.sort(rng.choice(len(rows), n_rows, replace=False))].astype(np.float64)
    inertia, scores = [], []
    for number in range(N_REFERENCES + 1):
        drawn = draw_reference(some, rng) if number else some
        points = Points(drawn, False, n_threads)
        found = list(nested_path(points, values, int(rng.integers(2**31))))
        inertia.append([one.inertia for one in found])
        if number:
            scores += [_scores(points, one) for one in found if len(one.centers) > 1]
        if number < N_REFERENCES:
            yield None
    length = min(map(len, inertia))
    table = np.array([line[:length] for line in inertia])
    silhouette, explained, bouldin = np.array(scores, dtype=np.float64).reshape(-1, 3).T
    yield Nothing(
        table[0],
        table[1:],
        silhouette.max(initial=-np.inf),
        explained.max(initial=-np.inf),
        bouldin.min(initial=np.inf),
        n_rows,
    )


def _scores(points: Points, found: Clustering) -> tuple[float, float, float]:
    account = QualityAccount(found.centers)
    account.add(points.rows, labels=found.labels)
    quality = account.result()
    ratio = quality.calinski_harabasz
    spread = quality.davies_bouldin
    return (
        quality.silhouette or 0.0,
        0.0 if ratio is None else ratio / points.n_samples,
        np.inf if spread is None else spread,
    )
