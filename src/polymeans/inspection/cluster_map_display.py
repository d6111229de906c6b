"""A map of the rows in two dimensions, colored by cluster."""

from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from polymeans._validation import check_integer
from polymeans.inspection._display import Display
from polymeans.inspection._in_space import in_space
from polymeans.inspection._labeled_rows import (
    draw_histogram,
    draw_legend,
    draw_scatter,
    n_rows,
    sample_rows,
)


class ClusterMapDisplay(Display):
    """Rows and centroids in the two directions in which the centroids differ most.

    **Idea.** The principal directions of the centroids, weighted by their rows. Rings with numbers
    are the centroids. One dimension becomes a histogram.

    **Use when** you want to see which clusters are neighbors, and, with ``y``, which classes they
    contain. **Do not use** to judge whether clusters overlap: those that seem to may differ in
    directions that are not drawn.

    **Cost.** One pass over the rows that are drawn.

    Parameters
    ----------
    points : ndarray of shape (n_samples, 1 or 2)
        Rows in the plane.
    centers : ndarray of shape (n_clusters, 1 or 2)
        Centroids in the plane.
    codes : ndarray of shape (n_samples,)
        What rows are colored by.
    shares : ndarray of shape (1 or 2,)
        Shares of the spread of the centroids that the directions have.
    names : list, default=None
        Names of classes, by code; None: rows are colored by cluster.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes.
    figure_ : matplotlib Figure
        Where they are.

    See Also
    --------
    SilhouetteDisplay : How well each row suits its cluster.
    polymeans.report : A page with the same map.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from polymeans import KMeans
    >>> from polymeans.inspection import ClusterMapDisplay
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = KMeans(3, random_state=0).fit(X)
    >>> display = ClusterMapDisplay.from_estimator(model, X, y=y, ax=Figure().add_subplot())
    >>> display.ax_.get_xlabel()
    'direction 0, 9...% of the spread of centroids'
    """

    def __init__(
        self,
        points: NDArray[np.float64],
        centers: NDArray[np.float64],
        codes: NDArray[Any],
        shares: NDArray[np.float64],
        names: Any = None,
    ) -> None:
        self.points, self.centers, self.codes = points, centers, codes
        self.shares, self.names = shares, names

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        *,
        y: ArrayLike | None = None,
        max_points: int = 2000,
        random_state: Any = 0,
        ax: Any = None,
    ) -> Self:
        """Find the plane and draw rows in it.

        Parameters
        ----------
        estimator : estimator
            Fitted, or a pipeline that ends with one. Views: the main one. Kernels: in the learned
            space.
        X : {array-like, CSR matrix or array} of shape (n_samples, n_features)
            Rows to draw.
        y : array-like of shape (n_samples,), default=None
            What to color rows by, such as known classes; they get a legend. None: their clusters.
        max_points : int, default=2000
            Of more rows, so many are drawn at random.
        random_state : int, RandomState instance or None, default=0
            Determines which.
        ax : matplotlib Axes, default=None
            Where to draw. None: on new axes.

        Returns
        -------
        display : ClusterMapDisplay
            The display, drawn.
        """
        check_integer("max_points", max_points, 1, "That many rows are drawn at most.")
        names = codes = None
        if y is not None:
            names, codes = np.unique(np.asarray(y), return_inverse=True)
            if len(codes) != n_rows(X):
                raise ValueError(
                    f"y must have one value for each of {n_rows(X)} rows, got {len(codes)}. Pass "
                    "the classes of the rows of X."
                )
        X, chosen = sample_rows(X, max_points, random_state)
        places, labels = in_space(estimator, X)
        directions, shares = _plane(places.centers, labels)
        middle = places.centers.mean(axis=0)
        rows = places.rows
        if places.metric == "cosine":
            rows = _directions_of(rows)
        points = rows @ directions.T - middle @ directions.T
        return cls(
            np.asarray(points, dtype=np.float64),
            (places.centers - middle) @ directions.T,
            labels if codes is None else codes[chosen],
            shares,
            names,
        ).plot(ax=ax)

    def plot(self, *, ax: Any = None) -> Self:
        """Draw the map.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw. None: on new axes.

        Returns
        -------
        display : ClusterMapDisplay
            The display itself.
        """
        ax = self._single(ax, (6.0, 4.6))
        if self.points.shape[1] == 1:
            draw_histogram(ax, self.points[:, 0], self.codes, self.centers[:, 0])
        else:
            draw_scatter(ax, self.points, self.codes, self.centers)
            ax.set_ylabel(f"direction 1, {self.shares[1]:.0%} of the spread of centroids")
        ax.set_xlabel(f"direction 0, {self.shares[0]:.0%} of the spread of centroids")
        if self.names is not None:
            draw_legend(ax, self.names)
        return self


def _plane(
    centers: NDArray[np.float64], labels: NDArray[Any]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Up to two principal directions of the centroids, and their shares."""
    masses = np.bincount(labels, minlength=len(centers)).astype(np.float64)
    apart = centers - masses @ centers / masses.sum()
    _, lengths, axes = np.linalg.svd(np.sqrt(masses)[:, None] * apart, full_matrices=False)
    n_dims = min(2, centers.shape[1])
    if len(axes) < n_dims:  # one centroid only: any second direction
        axes = np.vstack([axes, np.linalg.svd(axes)[2][len(axes) :]])[:n_dims]
    squares = np.zeros(n_dims)
    squares[: min(n_dims, len(lengths))] = lengths[:n_dims] ** 2
    total = max(float(lengths @ lengths), 1e-300)
    axes = axes[:n_dims]
    signs = np.sign(axes[np.arange(n_dims), np.abs(axes).argmax(axis=1)])
    return axes * np.where(signs == 0, 1.0, signs)[:, None], squares / total


def _directions_of(rows: Any) -> Any:
    """Rows of length one; those of zeros stay."""
    squares = rows.multiply(rows).sum(axis=1) if sp.issparse(rows) else np.square(rows).sum(axis=1)
    lengths = np.sqrt(np.ravel(np.asarray(squares, dtype=np.float64)))
    factors = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0)
    return sp.diags_array(factors) @ rows if sp.issparse(rows) else rows * factors[:, None]
