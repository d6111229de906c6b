"""Rows in principal components that are all scaled to the same variance."""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.random import RandomState
from numpy.typing import NDArray

from polymeans.engine.runners import LocalRunner
from polymeans.search.views.sample import reduce_rows

#: Components where the number of views is not known: as many as the automatic choice of views
#: looks at.
_AUTO_COMPONENTS = 16

#: Rows or columns up to which components are exact: all rows are looked at once, so that a
#: decomposition of seconds is affordable, and results depend on no draw.
_EXACT = 2048


class Whitening(NamedTuple):
    """``x -> (x - mean) @ matrix``."""

    mean: NDArray[Any]  #: (d,)
    matrix: NDArray[np.float64]  #: (d, q)


def find_whitening(
    X: Any,
    weights: NDArray[np.float64],
    whiten: bool | int,
    sizes: tuple[int, ...] | None,
    rng: RandomState,
) -> Whitening:
    """The whitening of the first principal components of all rows.

    Parameters
    ----------
    X : ndarray or CSR of shape (n_samples, n_features)
    weights : ndarray of shape (n_samples,)
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
    runner = LocalRunner(X, weights)
    generator = np.random.default_rng(rng.randint(2**31))
    reduced = reduce_rows(runner, n_axes, generator, len(weights), exact=_EXACT)
    spread = np.sqrt(reduced.weights @ reduced.points**2 / reduced.weights.sum())
    if len(spread) < n_views:
        raise ValueError(
            f"whiten={whiten} leaves {len(spread)} components for {n_views} views: "
            "each view needs a direction of its own. Ask for fewer views, or for more "
            "components if the rows have more."
        )
    # A spread that is rounding is not scaled.
    frame = runner.frame
    nothing = np.finfo(X.dtype).eps * np.linalg.norm(reduced.mean)
    spread = np.where(spread > nothing, spread * frame.unit, 1.0)
    mean = frame.external(reduced.mean[None])[0]
    with np.errstate(over="ignore", divide="ignore"):
        matrix = frame.external_directions(reduced.axes).T / spread
        if not np.isfinite(matrix.astype(X.dtype)).all():
            raise ValueError(
                f"whiten={whiten} cannot bring deviations as small as {spread.min():g} to "
                "one. Multiply X by a large number first."
            )
    return Whitening(mean, matrix)


def project(X: Any, mean: NDArray[Any], matrix: NDArray[np.float64]) -> NDArray[Any]:
    """Rows less the mean, times a matrix, in the rows' dtype."""
    matrix, mean = matrix.astype(X.dtype, copy=False), mean.astype(X.dtype, copy=False)
    if sp.issparse(X):
        return np.ascontiguousarray(X @ matrix - mean @ matrix)
    with np.errstate(over="ignore"):
        away = X - mean
        if not np.isfinite(away).all():  # differences of numbers near the largest one
            return (X / 4 - mean / 4) @ (matrix * 4)
        return away @ matrix
