"""Rows in principal components that are all scaled to the same variance."""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.random import RandomState
from numpy.typing import NDArray

from polymeans.engine.block_runner import BlockRunner
from polymeans.engine.chunks import ChunkedRows
from polymeans.engine.directions import leading_directions
from polymeans.engine.placement import Placement
from polymeans.engine.prepared import Source
from polymeans.engine.runners import BaseRunner, LocalRunner

#: Components where the number of views is not known: as many as the automatic choice of views
#: looks at.
_AUTO_COMPONENTS = 16

#: Rows or columns up to which components are exact: all rows are looked at once, so that a
#: decomposition of seconds is affordable, and results depend on no draw.
_EXACT = 2048

#: Share of the largest scatter below which a direction has none but rounding.
_NO_SPREAD = 1e-12

#: A unit in which differences and rotations of numbers near the largest one are within range.
FAR = 2.0**32


class Whitening(NamedTuple):
    """``x -> (x - mean) @ matrix``."""

    mean: NDArray[Any]  #: (d,)
    matrix: NDArray[np.float64]  #: (d, q)


def find_whitening(
    runner: BaseRunner,
    whiten: bool | int,
    sizes: tuple[int, ...] | None,
    rng: RandomState,
) -> Whitening:
    """The whitening of the first principal components of all rows.

    Parameters
    ----------
    runner : Runner
        Has the rows.
    whiten : bool or int
        Number of components; True: one more than views can need.
    sizes : tuple of int or None
        Clusters of each view; None: not known.
    rng : RandomState

    Returns
    -------
    Whitening
    """
    n_axes, n_views = whiten, len(sizes or ())
    if isinstance(whiten, bool | np.bool_):
        n_axes = 1 + sum(sizes) - n_views if sizes else _AUTO_COMPONENTS
    frame = runner.frame
    generator = np.random.default_rng(rng.randint(2**31))
    rows = ChunkedRows(runner.placement, width=frame.n_used)
    solver = "exact" if min(rows.shape) <= _EXACT else "randomized"
    shares = runner.weights / frame.mass
    directions, squares = leading_directions(
        rows, shares, frame.mean, int(n_axes), solver, generator
    )
    # Directions without spread would be rounding noise; one is needed.
    found = squares > _NO_SPREAD * max(float(squares[0]), 1e-300)
    found[0] = True
    axes, spread = directions[:, found].T, np.sqrt(squares[found])
    if len(spread) < n_views:
        raise ValueError(
            f"whiten={whiten} leaves {len(spread)} components for {n_views} views: "
            "each view needs a direction of its own. Ask for fewer views, or for more "
            "components if the rows have more."
        )
    # A spread that is rounding is not scaled, but large rows are: rows of next to no weight may be
    # so far from the others that their distance is no number of the rows' dtype.
    nothing = np.finfo(frame.dtype).eps * np.linalg.norm(frame.mean)
    spread = np.where(spread > nothing, spread * frame.unit, max(1.0, frame.unit))
    mean = frame.external(frame.mean[None])[0]
    with np.errstate(over="ignore", divide="ignore"):
        matrix = frame.external_directions(axes).T / spread
        if not np.isfinite(matrix.astype(frame.dtype)).all():
            raise ValueError(
                f"whiten={whiten} cannot bring deviations as small as {spread.min():g} to "
                "one. Multiply X by a large number first."
            )
    return Whitening(mean, matrix)


def whitened(
    rows: Source | Placement, whiten: bool | int, sizes: tuple[int, ...] | None, rng: RandomState
) -> tuple[Whitening, Source]:
    """The whitening of rows and, in memory, the few coordinates it gives to each of them.

    Parameters
    ----------
    rows : (rows, weights), or Placement
        In memory, or in blocks that begin at multiples of ``PRODUCT_ROWS``.
    whiten : bool or int
        See :func:`find_whitening`.
    sizes : tuple of int or None
    rng : RandomState

    Returns
    -------
    whitening : Whitening
    source : (rows, weights)
    """
    if isinstance(rows, tuple):
        whitening = find_whitening(LocalRunner(*rows), whiten, sizes, rng)
        return whitening, (into(rows[0], *whitening), rows[1])
    runner = BlockRunner(rows)
    whitening = find_whitening(runner, whiten, sizes, rng)
    weights = runner.weights * runner.frame.weight_unit
    rows.see(None)  # as they were given
    return whitening, (ChunkedRows(rows).each(project, *whitening), weights)


def into(X: Any, mean: NDArray[Any], matrix: NDArray[np.float64]) -> NDArray[Any]:
    """The same as :func:`project`, in chunks: with the bits that blocks of these rows have."""
    return ChunkedRows.of(X).each(project, mean, matrix)


def project(X: Any, mean: NDArray[Any], matrix: NDArray[np.float64]) -> NDArray[Any]:
    """Rows less the mean, times a matrix, in the rows' dtype.

    Coordinates beyond the largest number are infinite, and none is NaN.
    """
    matrix, mean = matrix.astype(X.dtype, copy=False), mean.astype(X.dtype, copy=False)
    with np.errstate(over="ignore", invalid="ignore"):
        if sp.issparse(X):
            inside = np.ascontiguousarray(X @ matrix - mean @ matrix)
        else:
            inside = (X - mean) @ matrix
        far = np.flatnonzero(~np.isfinite(inside).all(axis=1))
        if len(far):  # terms or differences near the largest number: in a larger unit
            within = (X[far] * (1 / FAR)) @ matrix - (mean / FAR) @ matrix
            inside[far] = (within * FAR).astype(X.dtype, copy=False)
    return inside
