"""Two disjoint halves of the rows, clustered independently, and what each says about the other."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import adjusted_rand_score

from polymeans.selection.criteria.prediction_strength import prediction_strength
from polymeans.selection.criteria.valleys import Projections, depths
from polymeans.selection.pairs import Parts
from polymeans.selection.space import in_its_space, products_with

#: Fits of some rows for rising numbers of clusters; it may end early.
Fits = Callable[[Any, Sequence[int], int], Iterator[Any]]


@dataclass(frozen=True)
class Agreement:
    """How two fits with the same number of clusters agree, and how clear their clusters are.

    Parameters
    ----------
    prediction_strength : float
        Mean of both directions.
    stability : float
        Adjusted Rand index of the labels that both fits give to all rows.
    shallowest : float
        Standard score of the least clear valley between neighboring clusters.
    deepest : float
        Standard score of the clearest one.
    n_pairs : int
        Pairs of neighboring clusters that were compared.
    n_empty : int
        Clusters to which no row of their own half belongs, in both fits together.
    """

    prediction_strength: float
    stability: float
    shallowest: float
    deepest: float
    n_pairs: int
    n_empty: int = 0


def compare_halves(
    rows: Any,
    values: Sequence[int],
    fits: Fits,
    rng: np.random.Generator,
    parts: Parts,
) -> Iterator[Agreement]:
    """Fit each half for each number of clusters, and test every fit on the other half.

    The fits have no row in common. That is what makes the test of valleys valid in many dimensions,
    where centroids are drawn to the rows they are fitted to.

    Parameters
    ----------
    rows : ndarray or CSR of shape (n_samples, n_features)
    values : sequence of int
        Numbers of clusters, rising.
    fits : callable
        Called with rows, numbers of clusters and a seed, it fits one model after the other.
    rng : Generator
    parts : Parts
        How parts of the rows are taken.

    Yields
    ------
    Agreement
        One for each value, until there are too few rows.
    """
    order = rng.permutation(rows.shape[0])
    middle = len(order) // 2
    chosen = [np.sort(part) for part in (order[:middle], order[middle:])]
    halves = [rows[part] for part in chosen]
    #: Of each model, both halves as it sees them.
    seen = [[parts.seen(half, part) for half in halves] for part in chosen]
    seeds = [int(seed) for seed in rng.integers(2**31, size=2)]
    fitted = [fits(seen[h][h], values, seed) for h, seed in enumerate(seeds)]
    for models in zip(*fitted):
        yield _agreement(models, seen)


def _agreement(models: Sequence[Any], seen: list[list[Any]]) -> Agreement:
    labels = [[model.predict(half) for half in halves] for model, halves in zip(models, seen)]
    strength = [
        prediction_strength(labels[h][h], labels[1 - h][h]) for h in (0, 1)
    ]  # row: model; column: half
    everywhere = [np.concatenate(labels[h]) for h in (0, 1)]
    both = [_depths(models[h], seen[h][h], seen[h][1 - h], labels[h], h) for h in (0, 1)]
    return Agreement(
        float(np.mean(strength)),
        float(adjusted_rand_score(*everywhere)),
        _joint([found.min() for found in both if len(found)]),
        _joint([found.max() for found in both if len(found)]),
        max(map(len, both)),
        sum(len(_centers(models[h])) - len(np.unique(labels[h][h])) for h in (0, 1)),
    )


def _centers(model: Any) -> Any:
    """One entry for each cluster; models of kernels have centroids in their space only."""
    centers = model.cluster_centers_
    return model.centroids_in_space_ if centers is None else centers


def _joint(scores: list[float]) -> float:
    """One standard score for the independent scores of two halves (Stouffer)."""
    return float(np.sum(scores) / np.sqrt(len(scores))) if scores else float("nan")


def _depths(
    model: Any, own: Any, other: Any, labels: Sequence[NDArray[Any]], half: int
) -> NDArray[np.float64]:
    """Depths of valleys between clusters of a model, in rows that it was not fitted to."""
    used = np.unique(labels[half])
    number = np.full(len(_centers(model)), -1)
    number[used] = np.arange(len(used))
    seen = []
    for rows, found in ((own, labels[half]), (other, labels[1 - half])):
        places, centers = in_its_space(model, rows)
        seen.append(Projections(*products_with(places, centers[used]), number[found]))
    return depths(*seen)


def averaged(found: Sequence[Agreement]) -> Agreement:
    """The mean of what several divisions into halves say."""
    return Agreement(
        float(np.mean([one.prediction_strength for one in found])),
        float(np.mean([one.stability for one in found])),
        float(np.mean([one.shallowest for one in found])),
        float(np.mean([one.deepest for one in found])),
        max(one.n_pairs for one in found),
        max(one.n_empty for one in found),
    )
