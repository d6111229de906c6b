"""A fit of clusters and their metric: its space, its starts, and its codebooks."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.random import RandomState
from numpy.typing import NDArray

from polymeans.codebooks.alternating import AlternatingCodebook
from polymeans.codebooks.learned_metric import LearnedMetricCodebook
from polymeans.core.frame import power_of_two_unit
from polymeans.core.norms import squared_norms
from polymeans.engine.lloyd import descend
from polymeans.engine.ridge import RidgeSolver
from polymeans.engine.runners import BaseRunner, LocalRunner
from polymeans.engine.seeding import METHODS, codebook_of_rows
from polymeans.spaces.embedding import Space, find_space, prepared
from polymeans.spaces.maps import Rows, is_sparse
from polymeans.spaces.spec import SpaceSpec
from polymeans.spaces.spectral import leading_directions

#: Largest coordinate of a row, once divided by the roots of the scatter. Rows that carry weight
#: stay below one; the squares of coordinates up to this still add up in float64.
_FAR = 1e12

#: Rows that do not count may be longer than others by this factor: its square must be a number.
_BEYOND = 1e100

#: Least and largest ``rho``, in parts of the scatter of all rows. Above the upper one ``I + W /
#: rho`` is the identity in float64, whatever the labels are; down to the lower one ``W / rho`` and
#: its products stay within the range of float64.
_LEAST_RHO, _LARGEST_RHO = 1e-40, 1e20

#: Share of the mean scatter of a coordinate that is ``rho="auto"`` in an embedding: among 0.001 to
#: 1 the best for documents in two dimensions for each cluster, see docs/explanation/constants.rst.
_AUTO_RHO = 0.1

#: Directions that the preconditioner of conjugate gradients takes out, for each cluster: with as
#: many as an embedding has, half of the iterations are saved.
_DEFLATED_PER_CLUSTER = 2


@dataclass(frozen=True)
class Ridge:
    """How much scatter is added in every direction: a number, or None for what suits the space."""

    rho: float | None
    mu: float

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

    rows: Rows  #: the rows, prepared
    space: Space | None  #: None: the rows themselves are clustered
    rho: float
    mu: float
    spec: SpaceSpec
    unit: float  #: what rows are divided by first
    heaviest: float  #: what weights are divided by
    n_dims: int  #: directions the determinants are over
    solver: RidgeSolver | None = None
    origin: NDArray[np.float64] | None = None  #: what is subtracted from dense rows for a solver
    start_numbers: Iterator[int] = field(default_factory=count)

    @property
    def length(self) -> float:
        """Of rows in the space: the user's over the engine's."""
        return 1.0 if self.spec.spherical or self.spec.embedding == "cut" else self.unit

    @property
    def scale(self) -> float:
        """Of weighted squared distances: the user's over the engine's."""
        return self.heaviest * self.length * self.length

    def first_labels(
        self, runner: LocalRunner, start: str, n_clusters: int, max_iter: int, rng: RandomState
    ) -> NDArray[np.int32]:
        """Labels of k-means in the space, or of its starting centers.

        Parameters
        ----------
        runner : Runner
            The fit's rows, divided by the roots of the scatter in a decomposed space.
        start : {"k-means", "k-means++", "mixed"}
        n_clusters : int
        max_iter : int
        rng : RandomState

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        white = start == "mixed" and next(self.start_numbers) % 2 == 1
        if self.space is not None and not white:
            plain = runner.matrix() * np.sqrt(self.space.squares + self.rho)
            runner = LocalRunner(plain, runner.weights)
        codebook = codebook_of_rows(runner, METHODS["k-means++"](runner, n_clusters, rng))
        n_steps = 0 if start == "k-means++" else max_iter
        return descend(runner, codebook, max_iter=n_steps, tol=0.0).labels

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
            "inertia_": inertia * self.scale,
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
        n = len(labels)
        member = sp.csr_array((weights, (labels, np.arange(n))), (n_clusters, n))
        sums, mass = member @ self.rows, member.sum(axis=1)
        sums = sums.toarray() if is_sparse(sums) else sums
        sums[mass == 0], mass[mass == 0] = sums.sum(axis=0), mass.sum()
        means = sums / mass[:, None]
        if self.origin is not None:
            means = means + self.origin
        return (means if self.spec.spherical else means * self.unit).astype(self.rows.dtype)


def begin_fitting(
    X: Rows,
    weights: NDArray[np.float64],
    spec: SpaceSpec,
    ridge: Ridge,
    n_clusters: int,
    rng: np.random.Generator,
) -> tuple[Rows, NDArray[np.float64], Fitting]:
    """Rows in their space, their weights, and what a fit in that space needs.

    Parameters
    ----------
    X : ndarray or CSR of shape (n_samples, n_features)
    weights : ndarray of shape (n_samples,)
    spec : SpaceSpec
        With the solver "cg" nothing is decomposed.
    ridge : Ridge
    n_clusters : int
    rng : Generator

    Returns
    -------
    rows : ndarray or CSR
        In a decomposed space divided by the roots of its scatter plus rho.
    weights : ndarray of shape (n_samples,)
        The heaviest is 1; rows of zeros have none where only directions count.
    fitting : Fitting
    """
    largest = _largest_counted(X, weights)
    unit = 1.0 if spec.kernel is not None else power_of_two_unit(largest)
    heaviest = float(weights.max())
    weights = weights / heaviest
    if spec.spherical:
        weights = _without_empty_rows(X, weights)
    rows = prepared(X, unit, spec.spherical, bounded=spec.kernel is None)
    fitting = Fitting(rows, None, np.nan, ridge.mu, spec, unit, heaviest, X.shape[1])
    if spec.solver == "cg":
        if not is_sparse(rows):  # far from the origin, differences of rows would be rounding
            fitting.origin = rows[0].astype(np.float64)
            if (rows != rows[0]).any():  # of equal rows rounding would leave differences
                fitting.origin = (weights @ rows / weights.sum()).astype(np.float64)
            rows = fitting.rows = (rows - fitting.origin).astype(X.dtype)
        _solve_with_rows(fitting, weights, ridge, n_clusters, rng)
        return rows, weights, fitting
    space, inside = find_space(rows, weights, spec, unit, rng)
    total, r = float(space.squares.sum()), len(space.squares)
    full = spec.embedding is None
    automatic = total / float(weights.sum() * heaviest) if full else _AUTO_RHO * total / r
    rho = ridge.value(automatic, fitting.scale, total)
    n_dims = X.shape[1] if full and spec.kernel is None else r
    fitting = replace(fitting, space=space, rho=rho, n_dims=n_dims)
    return _far_rows_shortened(inside / np.sqrt(space.squares + rho)), weights, fitting


def _largest_counted(X: Any, weights: NDArray[np.float64]) -> float:
    """The largest absolute value of rows that count; an error if others are beyond comparison."""
    largest = _largest(X)
    if weights.all():
        return largest
    counted = _largest(X[np.flatnonzero(weights)])
    if largest > _BEYOND * counted > 0:
        raise ValueError(
            f"Rows of sample_weight 0 have values up to {largest:g}, those of positive weight only "
            f"up to {counted:g}: the metric learned from these cannot place them. Leave them out "
            "of fit."
        )
    return counted


def _largest(X: Any) -> float:
    values = X.data if is_sparse(X) else X
    return max(float(values.max(initial=0)), -float(values.min(initial=0)))


def _far_rows_shortened(white: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rows whose largest coordinate is at most ``_FAR``; others keep their direction.

    Only rows of next to no weight lie that far out, and their direction decides their label.
    """
    largest = np.abs(white).max(axis=1, initial=0.0)
    far = largest > _FAR
    if far.any():
        white[far] *= (_FAR / largest[far])[:, None]
    return white


def _solve_with_rows(
    fitting: Fitting,
    weights: NDArray[np.float64],
    ridge: Ridge,
    n_clusters: int,
    rng: np.random.Generator,
) -> None:
    """Prepare to solve with the rows instead of decomposing them."""
    runner = LocalRunner(fitting.rows, weights)
    X, weights = runner.matrix(), runner.weights
    mean = np.asarray(weights @ X).ravel() / weights.sum()
    scatter = float(weights @ squared_norms(X)) - float(weights.sum() * (mean @ mean))
    automatic = scatter / float(weights.sum() * fitting.heaviest)
    fitting.rho = ridge.value(automatic, fitting.scale, scatter)
    n_apart = max(1, min(_DEFLATED_PER_CLUSTER * n_clusters, min(X.shape) - 1))
    directions, squares = leading_directions(X, weights, None, n_apart, "auto", rng)
    fitting.solver = RidgeSolver(runner.products(), fitting.rho, directions, squares)


def _without_empty_rows(X: Rows, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rows of zeros have no direction and count for nothing, unless there is nothing else."""
    if is_sparse(X):
        owner = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
        some = np.bincount(owner, X.data != 0, minlength=X.shape[0]) > 0
    else:
        some = np.any(X != 0, axis=1)
    remaining = np.where(some, weights, 0.0)
    return remaining if remaining.any() else weights
