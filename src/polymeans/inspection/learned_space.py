"""Plots of rows in a learned metric."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polymeans._validation import check_integer
from polymeans.inspection._labeled_rows import (
    draw_histogram,
    draw_legend,
    draw_scatter,
    n_rows,
    sample_rows,
)
from polymeans.inspection._matplotlib import axes_or_new
from polymeans.inspection._models import check_has, unwrapped

#: Spread of the centers in a direction, relative to the largest coordinate of the rows, below which
#: it counts as rounding: far above errors of float64 coordinates (1e-16), and invisible in a plot.
_NO_SPREAD = 1e-9


def plot_learned_space(
    model: Any,
    X: Any,
    y: ArrayLike | None = None,
    *,
    max_points: int = 2000,
    random_state: Any = 0,
    ax: Any = None,
) -> Any:
    """Draw rows, and the centers among them, to the scale of a learned metric.

    **Idea.** The rows after ``transform``, in the two directions in which the centers are spread
    most, with numbered rings at the centers. Two clusters differ in one direction only; the other
    is then that in which the rest of the rows is spread most. A space of one dimension is drawn as
    a histogram. Lengths are the same in both directions and are those of the learned metric.

    **Use when** you want to see which clusters are separate, which overlap, and, with ``y``, which
    classes they contain. **Do not use** to count clusters: centers that seem to coincide may differ
    in directions that are not drawn.

    Parameters
    ----------
    model : TransformedKMeans
        Fitted, by any solver but "cg".
    X : {array-like, CSR matrix or array} of shape (n_samples, n_features)
        Rows to draw; those of the fit, or others.
    y : array-like of shape (n_samples,), default=None
        What to color rows by, such as known classes. None: their clusters.
    max_points : int, default=2000
        Of more rows, so many are drawn at random.
    random_state : int, RandomState instance or None, default=0
        Determines which.
    ax : matplotlib Axes, default=None
        Where to draw. None: on new axes.

    Returns
    -------
    ax : matplotlib Axes
        The axes.

    See Also
    --------
    plot_convergence : Inertia and moved rows of each iteration.
    plot_views : Rows in the subspaces of several clusterings.

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> from polymeans import TransformedKMeans
    >>> from polymeans.inspection import plot_learned_space
    >>> from sklearn.datasets import load_iris
    >>> X, species = load_iris(return_X_y=True)
    >>> model = TransformedKMeans(3, random_state=0).fit(X)
    >>> ax = plot_learned_space(model, X, species, ax=Figure().add_subplot())
    >>> ax.get_xlabel()
    'direction 0, 9...% of the spread of centers'
    """
    model, X = unwrapped(model, X)
    check_has(model, "centroids_in_space_")
    check_integer("max_points", max_points, 1, "That many rows are drawn at most.")
    names, codes = (None, None) if y is None else _codes(y, n_rows(X))
    X, chosen = sample_rows(X, max_points, random_state)
    inside = np.asarray(model.transform(X), dtype=np.float64)
    codes = model.predict(X) if codes is None else codes[chosen]
    centers = np.asarray(model.centroids_in_space_, dtype=np.float64)
    masses = np.bincount(model.labels_, minlength=len(centers))
    directions, shares = _directions(inside, centers, masses)
    ax = axes_or_new(ax)
    labels = [
        f"direction {number}, {share:.0%} of the spread of centers"
        for number, share in enumerate(shares)
    ]
    if len(directions) == 1:
        draw_histogram(ax, inside @ directions[0], codes, centers @ directions[0])
    else:
        draw_scatter(ax, inside @ directions.T, codes, centers @ directions.T)
        ax.set_ylabel(labels[1])
    ax.set_xlabel(labels[0])
    if names is not None:
        draw_legend(ax, names)
    return ax


def _directions(
    inside: NDArray[np.float64], centers: NDArray[np.float64], masses: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Up to two orthonormal directions, and their shares of the scatter of centers."""
    apart = centers - masses @ centers / masses.sum()
    _, lengths, axes = np.linalg.svd(np.sqrt(masses)[:, None] * apart, full_matrices=False)
    total = float(lengths @ lengths)
    real = lengths[:2] > _NO_SPREAD * max(float(np.abs(inside).max(initial=0)), 1e-300)
    found, shares = axes[:2][real], lengths[:2][real] ** 2 / max(total, 1e-300)
    if len(found) < min(2, centers.shape[1]):
        # Centers differ in less than two directions: fill up with those of the rows.
        rest = inside - inside.mean(axis=0)
        rest = rest - rest @ found.T @ found
        # If rows have no further spread, any direction orthogonal to those of the centers is taken.
        floor = 1e-12 * (float(np.sum(rest * rest)) or 1.0)
        scatter = rest.T @ rest + floor * (np.eye(centers.shape[1]) - found.T @ found)
        spread = np.linalg.eigh(scatter)[1][:, ::-1].T
        found = np.vstack((found, spread))[: min(2, centers.shape[1])]
        shares = np.append(shares, np.zeros(2))[: len(found)]
    signs = np.sign(found[np.arange(len(found)), np.abs(found).argmax(axis=1)])
    return found * signs[:, None], shares


def _codes(y: ArrayLike, n_samples: int) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Classes in their order, and the number of each row's class."""
    y = np.asarray(y)
    if y.shape != (n_samples,):
        raise ValueError(
            f"y must have one value for each of {n_samples} rows, got shape {y.shape}. Pass the "
            "classes of the rows of X."
        )
    return np.unique(y, return_inverse=True)
