"""Whether centroids lie on a grid of protocentroids, compared with chance."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array

from polymeans._progress import Progress, Steps, check_feedback
from polymeans._validation import check_integer, check_seed, check_weights, errors_that_name
from polymeans.core.sparse_structure import checked_matrix
from polymeans.core.threads import Threads
from polymeans.grids.decomposition import decompose_centroids
from polymeans.grids.sizes import balanced_sizes, check_sizes
from polymeans.kmeans import KMeans

#: A structure is reported if it explains this share of what chance leaves unexplained. The value is
#: a convention: significant but weaker structure is not reported.
STRONG = 0.3

#: A structure is reported if chance explains as much at most this often: the usual level of a test,
#: which 19 comparisons with chance can reach.
SIGNIFICANT = 0.05

#: Starts of each decomposition. The same number for the centroids and for chance, so that neither
#: has an advantage; there are ``2 (1 + n_null)`` decompositions, so it is small.
_STARTS = 2

#: Variance that chance leaves unexplained on average, below which nothing can be concluded.
_NO_GAP = 1e-9


@dataclass(frozen=True)
class Evidence:
    """How much of the centroids' variance a kind of grid explains, and how much by chance.

    Parameters
    ----------
    share : float
        Share of the weighted variance of the centroids that the best grid explains; for sums, one
        minus the share of the interaction.
    chance : float
        The same for centroids without structure, on average.
    adjusted : float
        ``(share - chance) / (1 - chance)``: one for an exact grid, zero for chance.
    p_value : float
        How often chance explains at least as much, ``(1 + #{chance >= share}) / (1 + n_null)``.

    See Also
    --------
    StructureReport : Has one of them for sums and one for products.
    polymeans.diagnose_structure : Finds both.

    Examples
    --------
    >>> from polymeans import diagnose_structure
    >>> from polymeans.datasets import make_khatri_rao
    >>> X, *_ = make_khatri_rao(100, (2, 2), n_features=8, random_state=0)
    >>> report = diagnose_structure(X, (2, 2), random_state=0)
    >>> report.additive.share > report.additive.chance, report.additive.p_value
    (True, 0.05)
    """

    share: float
    chance: float
    adjusted: float
    p_value: float

    @property
    def convincing(self) -> bool:
        """Whether the structure is strong and significant enough to be reported."""
        return self.adjusted >= STRONG and self.p_value <= SIGNIFICANT


@dataclass(frozen=True)
class StructureReport:
    """Verdict and evidence of :func:`diagnose_structure`; ``print`` shows them as a table.

    Parameters
    ----------
    verdict : {"additive", "multiplicative", "none"}
        The structure with the larger adjusted share among the convincing ones.
    strength : float
        Adjusted share of the verdict, 0 for "none".
    n_protocentroids : tuple of int
        Sizes of the grid looked for.
    additive : Evidence
        For sums.
    multiplicative : Evidence
        For products.

    See Also
    --------
    polymeans.diagnose_structure : Makes it from rows.
    diagnose_centroids : Makes it from centroids.
    Evidence : What speaks for each kind of grid.

    Examples
    --------
    >>> from polymeans import diagnose_structure
    >>> from polymeans.datasets import make_khatri_rao
    >>> X, *_ = make_khatri_rao(100, (2, 2), n_features=8, random_state=0)
    >>> report = diagnose_structure(X, (2, 2), random_state=0)
    >>> report.verdict, report.n_protocentroids, report.strength > 0.9
    ('additive', (2, 2), True)
    """

    verdict: str
    strength: float
    n_protocentroids: tuple[int, ...]
    additive: Evidence
    multiplicative: Evidence

    @property
    def advice(self) -> str:
        """What to do next, in a sentence."""
        sizes = self.n_protocentroids
        if self.verdict == "none":
            return (
                f"Next: KMeans({prod(sizes)}). Other sizes of a grid may fit: KhatriRaoSelector "
                "tries them."
            )
        aggregator = {"additive": "sum", "multiplicative": "product"}[self.verdict]
        return (
            f'Next: KhatriRaoKMeans({sizes}, aggregator="{aggregator}"), {sum(sizes)} vectors '
            f"for {prod(sizes)} clusters."
        )

    def __str__(self) -> str:
        """The verdict, the evidence and what to do next."""
        grid = " x ".join(map(str, self.n_protocentroids))
        lines = [
            f"structure on a {grid} grid: {self.verdict}",
            f"{'':16}{'share':>8}{'chance':>8}{'adjusted':>10}{'p-value':>9}",
        ]
        for name in ("additive", "multiplicative"):
            found = getattr(self, name)
            lines.append(
                f"{name:16}{found.share:8.3f}{found.chance:8.3f}{found.adjusted:10.3f}"
                f"{found.p_value:9.3f}"
            )
        lines.append(self.advice)
        return "\n".join(lines)


def diagnose_structure(
    X: Any,
    n_protocentroids: int | Sequence[int],
    *,
    protolabels: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    n_null: int = 19,
    random_state: Any = None,
    n_threads: int | None = None,
    verbose: int = 0,
    progress: Progress = False,
) -> StructureReport:
    """Tell whether the clusters of some rows form an additive or a multiplicative grid.

    **Idea.** Cluster the rows by plain k-means, which assumes no structure, and measure how well a
    grid of protocentroids explains the centroids: :func:`diagnose_centroids`.

    **Use when** choosing between :class:`polymeans.KMeans` and
    :class:`polymeans.KhatriRaoKMeans`, or between its aggregators.

    **Do not use when** clusters overlap so much that k-means does not find them: one misplaced
    centroid spoils a grid. If you know the protocentroids of each row, give ``protolabels``.

    **Cost.** Ten starts of k-means with ``Πh`` clusters, then ``2 (1 + n_null)`` decompositions of
    the centroids.

    Parameters
    ----------
    X : {array-like, CSR matrix or array} of shape (n_samples, n_features)
        Rows.
    n_protocentroids : sequence of int, or int
        Sizes of the sets, or the number of clusters, which :func:`balanced_sizes` turns into the
        sizes of two sets.
    protolabels : array-like of shape (n_samples, p), default=None
        The protocentroid of each set that each row belongs to, if that is known. Replaces k-means
        and the search for a pairing, and makes the test much more powerful.
    sample_weight : array-like of shape (n_samples,), default=None
        How much each row counts.
    n_null : int, default=19
        Number of comparisons with chance; the p-value cannot be below ``1 / (1 + n_null)``.
    random_state : int, RandomState instance or None, default=None
        Determines clusters, pairings and chance.
    n_threads : int or None, default=None
        Threads to use; the result does not depend on it. None: all cores, or one inside a joblib
        worker. -1: all cores.
    verbose : int, default=0
        1 logs each step, to the logger "polymeans" at level INFO.
    progress : bool or callable, default=False
        True draws a bar (``pip install "polymeans[progress]"``). A function is called with the
        steps that are done, the number of all steps and a text.

    Returns
    -------
    report : StructureReport
        Verdict and evidence.

    See Also
    --------
    diagnose_centroids : The same for centroids you have.

    Examples
    --------
    >>> from polymeans.datasets import make_khatri_rao
    >>> from polymeans import diagnose_structure
    >>> X, *_ = make_khatri_rao(600, (2, 4), n_features=8, random_state=0)
    >>> print(diagnose_structure(X, (2, 4), random_state=0))
    structure on a 2 x 4 grid: additive
    ...
    """
    sizes = _check_grid(n_protocentroids)
    check_feedback(n_threads, verbose, progress)
    rng = check_seed(random_state)
    cells = None
    if protolabels is None:
        model = KMeans(
            prod(sizes), n_init=10, random_state=rng, n_threads=n_threads, verbose=int(verbose)
        )
        labels = model.fit(X, sample_weight=sample_weight).labels_
        centers = model.cluster_centers_.astype(np.float64)
        weights = check_weights(sample_weight, labels)
        masses = np.bincount(labels, weights, minlength=len(centers))
    else:
        X = checked_matrix(X)
        labels = _check_protolabels(protolabels, X.shape[0], sizes)
        weights = check_weights(sample_weight, labels)
        cells, row_cells = np.unique(labels[weights > 0], return_inverse=True)
        members = sp.csr_array(
            (weights[weights > 0], (row_cells, np.flatnonzero(weights > 0))),
            shape=(len(cells), X.shape[0]),
        )
        masses = np.bincount(row_cells, weights[weights > 0])
        sums = members @ X
        centers = (sums.toarray() if sp.issparse(sums) else sums) / masses[:, None]
    return diagnose_centroids(
        centers,
        sizes,
        weights=masses,
        cells=cells,
        n_null=n_null,
        random_state=rng,
        n_threads=n_threads,
        verbose=verbose,
        progress=progress,
    )


def diagnose_centroids(
    centers: ArrayLike,
    n_protocentroids: int | Sequence[int],
    *,
    weights: ArrayLike | None = None,
    cells: ArrayLike | None = None,
    n_null: int = 19,
    random_state: Any = None,
    n_threads: int | None = None,
    verbose: int = 0,
    progress: Progress = False,
) -> StructureReport:
    """Tell whether centroids form an additive or a multiplicative grid, or none.

    **Idea.** Two-way analysis of variance for clusters whose cells are not known: the best sums of
    protocentroids, under the best pairing, explain a share of the centroids' variance (the main
    effects), the rest is interaction; the same for products. Since many free vectors explain much
    of any centroids, the share is compared with that of random normal centroids of
    the same number, weights and covariance; for products of centroids that never change sign in a
    feature, they are log-normal and keep the signs. A structure is reported if it closes at least
    0.3 of the gap that chance leaves and chance does as well at most one time in twenty. If both
    do, the larger adjusted share decides.

    **Use when** you have the centroids of any method and want to know whether fewer vectors could
    represent them.

    **Do not use when** centroids are few compared with features and sizes: a grid of two by two
    fits almost everything, chance included, and the verdict is "none".

    **Cost.** ``2 (1 + n_null)`` times :func:`polymeans.decompose_centroids`.

    Parameters
    ----------
    centers : array-like of shape (k, n_features)
        Centroids, in any order.
    n_protocentroids : sequence of int, or int
        Sizes of the sets, with ``Πh >= k``, or a number of clusters, which
        :func:`balanced_sizes` turns into the sizes of two sets.
    weights : array-like of shape (k,), default=None
        How much each centroid counts, such as the size of its cluster.
    cells : array-like of shape (k,), default=None
        The cell of each centroid in C order, if it is known.
    n_null : int, default=19
        Number of comparisons with chance; the p-value cannot be below ``1 / (1 + n_null)``.
    random_state : int, RandomState instance or None, default=None
        Determines pairings and chance.
    n_threads : int or None, default=None
        Threads to use; the result does not depend on it. None: all cores, or one inside a joblib
        worker. -1: all cores.
    verbose : int, default=0
        1 logs each step, to the logger "polymeans" at level INFO.
    progress : bool or callable, default=False
        True draws a bar (``pip install "polymeans[progress]"``). A function is called with the
        steps that are done, the number of all steps and a text.

    Returns
    -------
    report : StructureReport
        Verdict and evidence.

    See Also
    --------
    diagnose_structure : The same for rows.

    Examples
    --------
    >>> import numpy as np
    >>> from polymeans.grids import diagnose_centroids
    >>> rng = np.random.default_rng(0)
    >>> first, second = rng.uniform(1, 9, size=(3, 1, 5)), rng.uniform(1, 9, size=(4, 5))
    >>> diagnose_centroids((first * second).reshape(12, 5), (3, 4), random_state=0).verdict
    'multiplicative'
    """
    sizes = _check_grid(n_protocentroids)
    check_integer("n_null", n_null, 1, "19 is the least that allows a verdict.")
    check_feedback(n_threads, verbose, progress)
    with errors_that_name("centers"):
        points = check_array(centers, dtype=np.float64, input_name="centers")
    with errors_that_name("weights"):
        weights = check_weights(weights, points)
    rng = check_seed(random_state)

    kinds = {"additive": "sum", "multiplicative": "product"}
    drawn = []
    for aggregator in kinds.values():
        draw = _unstructured(points, weights, aggregator)
        drawn += [(rows, aggregator) for rows in (points, *(draw(rng) for _ in range(n_null)))]
    # Each task has a seed of its own, so that threads may do them in any order.
    tasks = [(*task, rng.randint(2**31 - 1)) for task in drawn]

    def share(task: tuple[NDArray[np.float64], str, int]) -> float:
        rows, aggregator, seed = task
        found = decompose_centroids(
            rows,
            sizes,
            aggregator=aggregator,
            weights=weights,
            cells=cells,
            n_init=_STARTS,
            random_state=seed,
        ).share
        whose = "the centroids" if rows is points else "chance"
        steps.advance(f"a grid of {aggregator}s explains {found:.3f} of {whose}")
        return found

    with (
        Steps("diagnosis", len(tasks), int(verbose), progress) as steps,
        Threads(n_threads, one_blas_thread=True) as threads,
    ):
        shares = np.array(threads.map(share, tasks)).reshape(len(kinds), 1 + n_null)
    found = {kind: _evidence(line[0], line[1:]) for kind, line in zip(kinds, shares)}
    verdict = max(found, key=lambda kind: found[kind].adjusted * found[kind].convincing)
    if not found[verdict].convincing:
        verdict = "none"
    strength = found[verdict].adjusted if verdict != "none" else 0.0
    return StructureReport(verdict, strength, sizes, **found)


def _evidence(share: float, chance: NDArray[np.float64]) -> Evidence:
    """A share compared with those of centroids without structure."""
    average = float(chance.mean())
    gap = 1.0 - average
    # With one set, or a tiny grid, chance explains everything as well.
    adjusted = (share - average) / gap if gap > _NO_GAP else 0.0
    p_value = (1 + np.count_nonzero(chance >= share)) / (1 + len(chance))
    return Evidence(float(share), average, float(adjusted), float(p_value))


def _unstructured(
    centers: NDArray[np.float64], weights: NDArray[np.float64], aggregator: str
) -> Any:
    """A function that draws centroids of the same covariance without structure."""
    logs = aggregator == "product" and bool((np.ptp(np.sign(centers), axis=0) == 0).all())
    logs = logs and bool(centers.all())
    rows = np.log(np.abs(centers)) if logs else centers
    shares = weights / weights.sum()
    mean = shares @ rows
    # Normal combinations of the centered rows have their covariance, whatever its rank.
    root = np.sqrt(shares)[:, None] * (rows - mean)
    root = root[weights > 0]

    def draw(rng: np.random.RandomState) -> NDArray[np.float64]:
        drawn = mean + rng.standard_normal((len(rows), len(root))) @ root
        return np.sign(centers) * np.exp(drawn) if logs else drawn

    return draw


def _check_grid(n_protocentroids: Any) -> tuple[int, ...]:
    """Sizes as given, or balanced ones for a number of clusters."""
    if isinstance(n_protocentroids, Integral) and not isinstance(n_protocentroids, bool):
        check_integer("n_protocentroids", n_protocentroids, 1, "Or give the size of each set.")
        return balanced_sizes(int(n_protocentroids))
    return check_sizes(n_protocentroids)


def _check_protolabels(
    protolabels: ArrayLike, n_samples: int, sizes: tuple[int, ...]
) -> NDArray[np.int64]:
    """The cell of each row."""
    protolabels = np.asarray(protolabels)
    if protolabels.shape != (n_samples, len(sizes)):
        raise ValueError(
            f"protolabels must have shape (n_samples, n_sets) = {(n_samples, len(sizes))}, got "
            f"{protolabels.shape}. Give one column for each set."
        )
    for q, size in enumerate(sizes):
        lowest, highest = protolabels[:, q].min(), protolabels[:, q].max()
        if lowest < 0 or highest >= size:
            raise ValueError(
                f"protolabels must be from 0 to {size - 1} in column {q}, got {lowest} to "
                f"{highest}. Number the protocentroids of each set from 0."
            )
    return np.ravel_multi_index(tuple(protolabels.astype(np.int64).T), sizes)
