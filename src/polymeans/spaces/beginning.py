"""The beginning of a fit of clusters and their metric: rows are brought into their space."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from polymeans.core.frame import power_of_two_unit
from polymeans.core.norms import squared_norms
from polymeans.core.rows import Rows, is_csr
from polymeans.engine.chunks import ChunkedRows
from polymeans.engine.directions import leading_directions
from polymeans.engine.placement import Placement
from polymeans.engine.prepared import Source
from polymeans.engine.ridge import RidgeSolver
from polymeans.engine.runners import LocalRunner
from polymeans.spaces.embedding import canonical, find_space, prepared, whitened
from polymeans.spaces.fitting import Fitting, Ridge
from polymeans.spaces.glimpse import Glimpse, glimpse, has_entries
from polymeans.spaces.spec import SpaceSpec

#: Largest coordinate of a row, once divided by the roots of the scatter. Rows that carry weight
#: stay below one; the squares of coordinates up to this still add up in float64.
_FAR = 1e12

#: Rows that do not count may be longer than others by this factor: its square must be a number.
_BEYOND = 1e100

#: Share of the mean scatter of a coordinate that is ``rho="auto"`` in an embedding: among 0.001 to
#: 1 the best for documents in two dimensions for each cluster, see docs/explanation/constants.rst.
_AUTO_RHO = 0.1

#: The same where rows are whitened: a hundredth of the scatter of a coordinate. Tables of the UCI
#: repository and elongated clusters were found for 0.001 to 0.01, not for 0.1.
_AUTO_RHO_OF_WHITE = 0.01

#: Directions that the preconditioner of conjugate gradients takes out, for each cluster: with as
#: many as an embedding has, half of the iterations are saved.
_DEFLATED_PER_CLUSTER = 2


def begin(
    rows: Source | Placement,
    specify: Callable[[Glimpse], SpaceSpec],
    ridge: Ridge,
    n_clusters: int,
    rng: np.random.Generator,
) -> tuple[Source, Fitting]:
    """Rows in their space with their weights, and what a fit in that space needs.

    Parameters
    ----------
    rows : (rows, weights), or Placement
        In memory, or in blocks that begin at multiples of ``PRODUCT_ROWS``.
    specify : callable
        The space for what was seen of the rows. For blocks it has no kernel, and an embedding.
    ridge : Ridge
    n_clusters : int
    rng : Generator

    Returns
    -------
    source : (rows, weights)
        In memory: in a decomposed space few coordinates for each row, divided by the roots of its
        scatter plus rho. The heaviest weight is 1; rows of zeros have none where only directions
        count.
    fitting : Fitting
    """
    if isinstance(rows, tuple):
        X, weights = canonical(rows[0]), rows[1]
        seen = Glimpse.of(X, weights)
        spec = specify(seen)
        some = has_entries(X) if spec.spherical else np.empty(0, dtype=bool)
    else:
        seen, weights, some = glimpse(rows)
        spec = specify(seen)
    unit, heaviest = _unit(seen, spec), float(weights.max())
    weights = weights / heaviest
    if spec.spherical:
        weights = _without_empty_rows(some, weights)
    if isinstance(rows, tuple):
        prepared_rows = prepared(X, unit, spec.spherical, bounded=spec.kernel is None)
        chunks = ChunkedRows.of(prepared_rows)
    else:
        chunks = ChunkedRows(rows, (prepared, (unit, spec.spherical)))
    fitting = Fitting(chunks, None, np.nan, ridge.mu, spec, unit, heaviest, seen.shape[1])
    if spec.solver == "cg":
        return (_solve_with_rows(fitting, weights, ridge, n_clusters, rng), weights), fitting
    inside, fitting = _into_space(fitting, weights, ridge, rng)
    return (inside, weights), fitting


def _into_space(
    fitting: Fitting, weights: NDArray[np.float64], ridge: Ridge, rng: np.random.Generator
) -> tuple[NDArray[np.float64], Fitting]:
    """Rows in a decomposed space, divided by the roots of its scatter plus rho."""
    spec = fitting.spec
    space, inside = find_space(fitting.rows, weights, spec, fitting.unit, rng)
    if spec.embedding == "white":
        space, spread = whitened(space, float(weights.sum()))
        inside = inside / spread
        fitting = replace(fitting, spread=spread)
    total, r = float(space.squares.sum()), len(space.squares)
    full = spec.embedding is None
    heaviest = fitting.heaviest
    share = _AUTO_RHO_OF_WHITE if spec.embedding == "white" else _AUTO_RHO
    automatic = total / float(weights.sum() * heaviest) if full else share * total / r
    rho = ridge.value(automatic, fitting.scale, total)
    if not np.isfinite(total + rho):
        raise ValueError(
            "The scatter of X is too large for float64: X or sample_weight have values too large "
            "to be squared and added up. Divide both by their largest values, or standardize X."
        )
    n_dims = fitting.rows.shape[1] if full and spec.kernel is None else r
    fitting = replace(fitting, space=space, rho=rho, n_dims=n_dims)
    return _far_rows_shortened(inside / np.sqrt(space.squares + rho)), fitting


def _unit(seen: Glimpse, spec: SpaceSpec) -> float:
    """What rows are divided by; an error if rows that do not count are beyond comparison."""
    largest, counted = seen.largest, seen.largest_counted
    if largest > _BEYOND * counted > 0:
        raise ValueError(
            f"Rows of sample_weight 0 have values up to {largest:g}, those of positive weight only "
            f"up to {counted:g}: the metric learned from these cannot place them. Leave them out "
            "of fit."
        )
    return 1.0 if spec.kernel is not None else power_of_two_unit(counted)


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
) -> Rows:
    """Prepare to solve with the rows instead of decomposing them; the rows, centered if dense."""
    rows = fitting.rows.matrix()
    if not is_csr(rows):  # far from the origin, differences of rows would be rounding
        fitting.origin = rows[0].astype(np.float64)
        if (rows != rows[0]).any():  # of equal rows rounding would leave differences
            fitting.origin = (weights @ rows / weights.sum()).astype(np.float64)
        rows = (rows - fitting.origin).astype(rows.dtype)
        fitting.rows = ChunkedRows.of(rows)
    runner = LocalRunner(rows, weights)
    X, weights = runner.matrix(), runner.weights
    mean = np.asarray(weights @ X).ravel() / weights.sum()
    scatter = float(weights @ squared_norms(X)) - float(weights.sum() * (mean @ mean))
    automatic = scatter / float(weights.sum() * fitting.heaviest)
    fitting.rho = ridge.value(automatic, fitting.scale, scatter)
    n_apart = max(1, min(_DEFLATED_PER_CLUSTER * n_clusters, min(X.shape) - 1))
    directions, squares = leading_directions(ChunkedRows.of(X), weights, None, n_apart, "auto", rng)
    fitting.solver = RidgeSolver(runner.products(), fitting.rho, directions, squares)
    return rows


def _without_empty_rows(
    has_entry: NDArray[np.bool_], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Rows of zeros have no direction and count for nothing, unless there is nothing else."""
    remaining = np.where(has_entry, weights, 0.0)
    return remaining if remaining.any() else weights
