"""A fit of clusters and their metric: its space, its starts, and its codebooks."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.random import RandomState
from numpy.typing import NDArray

from polymeans.codebooks.alternating import AlternatingCodebook
from polymeans.codebooks.learned_metric import LearnedMetricCodebook
from polymeans.core.rows import Rows, is_csr
from polymeans.engine.chunks import ChunkedRows
from polymeans.engine.lloyd import descend
from polymeans.engine.ridge import RidgeSolver
from polymeans.engine.runners import BaseRunner, LocalRunner
from polymeans.engine.seeding import METHODS, codebook_of_rows
from polymeans.spaces.embedding import Space
from polymeans.spaces.spec import SpaceSpec

#: Least and largest ``rho``, in parts of the scatter of all rows. Above the upper one ``I + W /
#: rho`` is the identity in float64, whatever the labels are; down to the lower one ``W / rho`` and
#: its products stay within the range of float64.
_LEAST_RHO, _LARGEST_RHO = 1e-40, 1e20


#: Rows for each cluster and dimension from which ``init="auto"`` lets every other start be k-means
#: in the whitened space. Elongated clusters need such starts; with fewer rows (breast cancer has
#: 9.5, wine 4.6) they end at worse clusters.
_WHITE_START_ROWS = 10


@dataclass(frozen=True)
class Ridge:
    """How much scatter is added in every direction: a number, or None for what suits the space."""

    rho: float | None
    mu: float

    @classmethod
    def of(cls, rho: Any, lam: float | None, mu: float) -> "Ridge":
        """From parameters: a number or "auto", or instead of it lam."""
        if lam is not None:
            return cls(float(lam) * (1 + mu) / mu, mu)
        return cls(None if isinstance(rho, str) else float(rho), mu)

    def value(self, automatic: float, scale: float, total: float) -> float:
        """In the engine's units, of which one is ``scale`` of the user's.

        Clipped where a change would make no difference, or where rounding would decide.
        """
        # Rows that are all alike have no scatter to take a share of.
        total = total if total > 0 else 1.0
        rho = self.rho / scale if self.rho is not None else automatic
        if self.rho is None and not rho > 0:
            rho = total
        return float(np.clip(rho, _LEAST_RHO * total, _LARGEST_RHO * total))


@dataclass
class Fitting:
    """The space of a fit and its units: starts, codebooks and means of clusters in it."""

    rows: ChunkedRows  #: the rows, prepared
    space: Space | None  #: None: the rows themselves are clustered
    rho: float
    mu: float
    spec: SpaceSpec
    unit: float  #: what rows are divided by first
    heaviest: float  #: what weights are divided by
    n_dims: int  #: directions the determinants are over
    solver: RidgeSolver | None = None
    origin: NDArray[np.float64] | None = None  #: what is subtracted from dense rows for a solver
    spread: NDArray[np.float64] | None = None  #: of standardized rows, along whitened coordinates
    start_numbers: Iterator[int] = field(default_factory=count)

    @property
    def length(self) -> float:
        """Of rows in the space: the user's over the engine's."""
        free = self.spec.spherical or self.spec.embedding in ("cut", "white")
        return 1.0 if free else self.unit

    @property
    def scale(self) -> float:
        """Of weighted squared distances: the user's over the engine's."""
        return self.heaviest * self.length * self.length

    def external(self, inertia: Any) -> Any:
        """Inertia in the user's units."""
        # The scale may be beyond the largest number, and rows may all be at their centers.
        with np.errstate(over="ignore", invalid="ignore"):
            return np.where(inertia == 0.0, 0.0, inertia * self.scale)

    def first_labels(
        self, runner: LocalRunner, start: str, n_clusters: int, max_iter: int, rng: RandomState
    ) -> NDArray[np.int32]:
        """Labels of k-means in the space, or of its starting centers.

        Parameters
        ----------
        runner : Runner
            The fit's rows, divided by the roots of the scatter in a decomposed space.
        start : {"auto", "k-means", "k-means++", "mixed"}
        n_clusters : int
        max_iter : int
        rng : RandomState

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        mixed = start == "mixed" or (start == "auto" and self._can_start_white(n_clusters))
        white = mixed and next(self.start_numbers) % 2 == 1
        if self.space is not None and not white:
            plain = runner.matrix() * np.sqrt(self.space.squares + self.rho)
            runner = LocalRunner(
                plain if self.spread is None else plain * self.spread, runner.weights
            )
        codebook = codebook_of_rows(runner, METHODS["k-means++"](runner, n_clusters, rng))
        n_steps = 0 if start == "k-means++" else max_iter
        return descend(runner, codebook, max_iter=n_steps, tol=0.0).labels

    def _can_start_white(self, n_clusters: int) -> bool:
        """Whether each cluster has enough rows to start from k-means in the whitened space."""
        if self.spread is None:
            return False
        return self.rows.shape[0] >= _WHITE_START_ROWS * n_clusters * len(self.spread)

    def codebook_of(
        self, labels: NDArray[np.int32], runner: BaseRunner, n_clusters: int, algorithm: str
    ) -> LearnedMetricCodebook:
        """Centers and metric for given labels."""
        if self.solver is not None:
            n_features = self.solver.directions.shape[0]
            bound = self.solver.log_det_bound()
            codebook = LearnedMetricCodebook(n_clusters, n_features, self.rho, bound, self.solver)
        elif algorithm == "alternating":
            assert self.space is not None
            lam = self.rho * self.mu / (1 + self.mu)
            codebook = AlternatingCodebook(n_clusters, self.space.squares, lam, self.mu)
        else:
            assert self.space is not None
            squares = self.space.squares
            total = float(np.sum(np.log1p(squares / self.rho)))
            codebook = LearnedMetricCodebook(n_clusters, len(squares), self.rho, total)
        codebook.refit(runner.statistics_of(labels, codebook))
        return codebook

    def objective_values(self, inertia: float) -> dict[str, float]:
        """Attributes of a fit in the user's units, from the engine's inertia."""
        rho, n_dims = self.rho * self.scale, self.n_dims
        log_det = inertia / self.rho  # of I + W / rho
        lam = rho * self.mu / (1 + self.mu)
        # log det(W + rho I) less n_dims log rho, without leaving the range of numbers.
        log_scale = np.log(self.heaviest) + 2 * np.log(self.length)
        return {
            "inertia_": float(self.external(inertia)),
            "log_det_": float(log_det + n_dims * (np.log(self.rho) + log_scale)),
            "objective_": float(0.5 * lam * (n_dims * (1 + np.log(2)) + log_det)),
            "rho_": rho,
            "lam_": lam,
            "mu_": float(self.mu),
        }

    def input_means(
        self, labels: NDArray[np.int32], weights: NDArray[np.float64], n_clusters: int
    ) -> NDArray[Any]:
        """Means of the clusters' rows; of all rows where a cluster has none."""
        found = self.rows.total(cluster_sums, n_clusters, rows=[labels, weights])
        sums, mass = found[:, :-1], found[:, -1]
        sums[mass == 0], mass[mass == 0] = sums.sum(axis=0), mass.sum()
        means = sums / mass[:, None]
        if self.origin is not None:
            means = means + self.origin
        return (means if self.spec.spherical else means * self.unit).astype(self.rows.dtype)


def cluster_sums(
    X: Rows, labels: NDArray[np.int32], weights: NDArray[np.float64], n_clusters: int
) -> NDArray[np.float64]:
    """Weighted sums of the rows of each cluster, and in the last column their weight."""
    n = len(labels)
    member = sp.csr_array((weights, (labels, np.arange(n))), (n_clusters, n))
    sums = member @ X
    sums = sums.toarray() if is_csr(sums) else sums
    return np.column_stack([sums, member.sum(axis=1)]).astype(np.float64, copy=False)
