"""A sample of the rows in a few principal components, and the way back to all coordinates."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from polymeans.core.rows import CSR, is_csr
from polymeans.engine.runners import BaseRunner
from polymeans.search.summary import principal_axes, sample_rows
from polymeans.search.views.problem import EQUAL_SPREAD, Candidate, Problem

if TYPE_CHECKING:
    from polymeans.kernels.subspaces import Views

#: Rows that are searched at most, as in the experiments that all constants of this search come
#: from. What a sample misses shifts the cost of all candidates by nearly the same amount.
MAX_ROWS = 3000

#: Columns up to which the covariance of sparse rows is formed and decomposed exactly, at least: a
#: matrix of 2 MB. A round number, the result is the same but for random projections' error.
_DENSE_COVARIANCE = 512


@dataclass
class Reduced:
    """A sample of the rows in principal components, and the way back."""

    points: NDArray[np.float64]  #: (n, q)
    weights: NDArray[np.float64]  #: (n,)
    axes: NDArray[np.float64]  #: (q, d) orthonormal
    mean: NDArray[np.float64]  #: (d,)
    unseen: float  #: scatter outside of the axes
    chosen: NDArray[np.int64]  #: rows of the sample


def reduce_rows(
    runner: BaseRunner,
    n_axes: int,
    rng: np.random.Generator,
    n_rows: int = MAX_ROWS,
    exact: int | None = None,
) -> Reduced:
    """Principal components of a sample of the rows, in engine coordinates.

    They are exact where neither rows nor columns are more than ``exact``.
    """
    n_axes = min(n_axes, runner.frame.n_features)
    exact = 4 * n_axes if exact is None else exact
    # Only their ratios matter, and sums of extreme ones would leave the range of numbers.
    chosen, weights, _ = sample_rows(runner, n_rows, rng, relative=True)
    shares = weights / weights.sum()
    X = runner.rows_at(chosen)
    mean = np.asarray(shares @ X, dtype=np.float64).ravel()
    if is_csr(X):
        axes = _sparse_axes(X, shares, mean, n_axes, max(exact, _DENSE_COVARIANCE), rng)
        points = X @ axes.T - axes @ mean
        squares = float(shares @ np.asarray(X.multiply(X).sum(axis=1)).ravel())
        squares -= float(mean @ mean)
    else:
        X = X - mean
        axes = principal_axes(X * np.sqrt(shares)[:, None], rng, n_axes, exact=exact)
        points = X @ axes.T
        squares = float(shares @ np.einsum("ij,ij->i", X, X))
    spread, turn = np.linalg.eigh((points * shares[:, None]).T @ points)
    kept = np.flatnonzero(spread > 1e-12 * max(spread[-1], 1e-300))[::-1][:n_axes]
    if len(kept) == 0:
        kept = np.arange(1)
    turn = turn[:, kept]
    # The sign of an axis is arbitrary: its largest entry is made positive.
    axes = turn.T @ axes
    signs = np.sign(axes[np.arange(len(axes)), np.argmax(np.abs(axes), axis=1)])
    axes, turn = axes * signs[:, None], turn * signs
    points = points @ turn
    seen = float(shares @ np.einsum("ij,ij->i", points, points))
    unseen = max(0.0, squares - seen) * float(weights.sum())
    return Reduced(points, weights, axes, mean, unseen, chosen)


def _sparse_axes(
    X: CSR,
    shares: NDArray[np.float64],
    mean: NDArray[np.float64],
    n_axes: int,
    exact: int,
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """Directions in which sparse rows spread most about their mean."""
    scaled = sp.diags_array(np.sqrt(shares)) @ X
    if X.shape[1] <= exact:
        covariance = (scaled.T @ scaled).toarray() - np.outer(mean, mean)
        return np.linalg.eigh(covariance)[1][:, ::-1][:, :n_axes].T
    # Subtracting the mean would fill the rows. It adds one direction, hence one axis more.
    return principal_axes(scaled, rng, n_axes + 1)


def n_axes(sizes: tuple[int, ...]) -> int:
    """Principal components to search for clusterings of these sizes.

    Views can fill ``sum(k - 1)`` dimensions; twice as many leave room for directions that are not
    among the widest (see docs/explanation/constants.rst).
    """
    n_needed = sum(sizes) - len(sizes)
    return max(2 * n_needed, n_needed + 5)


def make_problem(reduced: Reduced, sizes: tuple[int, ...]) -> Problem:
    """The search for clusterings of these sizes, in as many components as that takes."""
    points, weights = reduced.points, reduced.weights
    spread = np.sqrt(weights @ points**2)
    q = min(n_axes(sizes), len(spread))
    # Also those as wide as the last one: their order is a matter of sampling.
    q = int(np.count_nonzero(spread >= EQUAL_SPREAD * spread[q - 1]))
    left = float(weights @ np.sum(points[:, q:] ** 2, axis=1))
    return Problem(points[:, :q], weights, sizes, reduced.unseen + left)


def lift(
    problem: Problem, state: Candidate, reduced: Reduced
) -> tuple[NDArray[np.float64], "Views"]:
    """Centers and subspaces of a state in all coordinates."""
    from polymeans.kernels.subspaces import flatten_means
    from polymeans.kernels.view_descent import weighted_means

    views = state.views
    means = np.empty((int(views.starts[-1]), problem.points.shape[1]))
    masses, centers = np.empty(len(means)), np.empty_like(means)
    weighted_means(problem.sample, state.labels, views.starts, means, masses)
    flatten_means(means, masses, views, centers)
    axes = reduced.axes[: problem.points.shape[1]]
    theta = centers @ axes
    theta[: problem.sizes[0]] += reduced.mean
    return theta, views._replace(basis=views.basis @ axes)
