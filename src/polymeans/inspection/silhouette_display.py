"""Silhouettes of the rows, cluster by cluster."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from polymeans.inspection._display import Display
from polymeans.inspection._in_space import in_space
from polymeans.inspection._style import GRAY, HUES
from polymeans.metrics.centroid_quality import QualityAccount

#: Points along each cluster's outline: more could not be distinguished.
_MOST_POINTS = 200

#: Clusters above which their numbers would overlap.
_MOST_NUMBERS = 30


class SilhouetteDisplay(Display):
    """Simplified silhouettes of the rows of each cluster, sorted.

    **Idea.** The silhouette of a row is ``(b - a) / max(a, b)``, a being its distance to the own
    centroid and b to the nearest other one: near 1 for rows that are safely inside, near 0 between
    two clusters. A block for each cluster, as high as the cluster has rows; a dashed line at the
    mean.

    **Use when** you want to see which clusters are compact and which run into each other. **Do not
    use** to compare estimators: each is judged in the space where it measures distances.

    **Cost.** One pass over the rows.

    Parameters
    ----------
    silhouettes : ndarray of shape (n_samples,)
        Silhouette of each row.
    labels : ndarray of shape (n_samples,)
        Cluster of each row.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes.
    figure_ : matplotlib Figure
        Where they are.

    See Also
    --------
    polymeans.metrics.centroid_quality : Simplified silhouettes as numbers.
    ClusterMapDisplay : The rows on a map.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from polymeans import KMeans
    >>> from polymeans.inspection import SilhouetteDisplay
    >>> from sklearn.datasets import load_iris
    >>> X = load_iris().data
    >>> model = KMeans(3, random_state=0).fit(X)
    >>> display = SilhouetteDisplay.from_estimator(model, X, ax=Figure().add_subplot())
    >>> round(float(display.silhouettes.mean()), 2)
    0.66
    """

    def __init__(self, silhouettes: NDArray[np.float64], labels: NDArray[Any]) -> None:
        self.silhouettes, self.labels = silhouettes, labels

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, *, ax: Any = None) -> Self:
        """Measure and draw the silhouettes of rows.

        Parameters
        ----------
        estimator : estimator
            Fitted, or a pipeline that ends with one. Views: the main one.
        X : {array-like, CSR matrix or array} of shape (n_samples, n_features)
            Rows.
        ax : matplotlib Axes, default=None
            Where to draw. None: on new axes.

        Returns
        -------
        display : SilhouetteDisplay
            The display, drawn.
        """
        places, labels = in_space(estimator, X)
        account = QualityAccount(places.centers, places.metric)
        return cls(account.add(places.rows, labels=labels).silhouettes, labels).plot(ax=ax)

    def plot(self, *, ax: Any = None) -> Self:
        """Draw the silhouettes.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw. None: on new axes.

        Returns
        -------
        display : SilhouetteDisplay
            The display itself.
        """
        ax = self._single(ax)
        clusters = np.unique(self.labels)
        gap = 0.01 * len(self.labels)
        bottom, middles = 0.0, []
        for cluster in clusters:
            own = np.sort(self.silhouettes[self.labels == cluster])
            at = np.linspace(0, len(own) - 1, min(len(own), _MOST_POINTS)).round().astype(int)
            heights = np.linspace(bottom, bottom + len(own), len(at))
            hue = HUES[int(cluster) % len(HUES)]
            ax.fill_betweenx(heights, 0, own[at], color=hue, alpha=0.8, lw=0.8)
            middles.append(bottom + len(own) / 2)
            bottom += len(own) + gap
        mean = float(self.silhouettes.mean())
        ax.axvline(mean, color=GRAY, ls="--", lw=1.2)
        above = {"transform": ax.get_xaxis_transform(), "ha": "center", "va": "bottom"}
        ax.text(mean, 1.01, f"mean {mean:.2f}", fontsize="small", **above)
        few = len(clusters) <= _MOST_NUMBERS
        ax.set_yticks(middles if few else [], clusters if few else [])
        ax.set_ylim(bottom, 0)
        ax.set_xlim(min(0.0, float(self.silhouettes.min())), 1)
        ax.set_xlabel("simplified silhouette")
        ax.set_ylabel("cluster")
        ax.spines[["top", "right"]].set_visible(False)
        return self
