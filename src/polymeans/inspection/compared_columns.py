"""Known columns beside clusters: counts of values, or means of numbers."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Crosstab:
    """Rows of each cluster with each value of a column.

    Parameters
    ----------
    clustering : str
        Which grouping.
    column : str
        Name of the column.
    values : tuple of str
        Its values, sorted; missing ones last, as "missing".
    weights : ndarray of shape (n_clusters, n_values)
        Total weight of the rows; their number without weights.

    See Also
    --------
    polymeans.describe : Makes one for each column of ``y``.
    ColumnMeans : What columns of many different numbers get instead.
    polymeans.metrics.purity : How much clusters and classes agree, as a number.

    Examples
    --------
    >>> from polymeans import KMeans, describe
    >>> from sklearn.datasets import load_iris
    >>> iris = load_iris()
    >>> model = KMeans(3, n_init=10, random_state=0).fit(iris.data)
    >>> table = describe(model, iris.data, iris.feature_names, iris.target_names[iris.target])
    >>> crosstab = table.crosstabs[0]
    >>> crosstab.values
    ('setosa', 'versicolor', 'virginica')
    >>> crosstab.weights.astype(int).tolist()
    [[0, 48, 14], [50, 0, 0], [0, 2, 36]]
    """

    clustering: str
    column: str
    values: tuple[str, ...]
    weights: NDArray[np.float64]


@dataclass(frozen=True)
class ColumnMeans:
    """Mean and spread of a column of numbers in each cluster.

    Parameters
    ----------
    clustering : str
        Which grouping.
    column : str
        Name of the column.
    means : tuple of float or None
        Weighted mean of each cluster's rows; None for clusters without a number.
    deviations : tuple of float or None
        Standard deviation in each cluster, likewise.
    missing : tuple of float
        Weight of each cluster's rows without a finite number; how many they are, without weights.
    overall_mean : float
        Mean of all rows.
    overall_deviation : float
        Standard deviation of all rows.

    See Also
    --------
    polymeans.describe : Makes one for each column of ``y`` with many different numbers.
    Crosstab : What other columns get.

    Examples
    --------
    >>> from polymeans import KMeans, describe
    >>> from sklearn.datasets import load_diabetes
    >>> X, progress = load_diabetes(return_X_y=True)
    >>> model = KMeans(2, n_init=10, random_state=0).fit(X)
    >>> (found,) = describe(model, X, y={"progress": progress}).means
    >>> found.column, round(found.overall_mean, 1), len(found.means)
    ('progress', 152.1, 2)
    """

    clustering: str
    column: str
    means: tuple[float | None, ...]
    deviations: tuple[float | None, ...]
    missing: tuple[float, ...]
    overall_mean: float
    overall_deviation: float
