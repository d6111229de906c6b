"""The result of :func:`polymeans.describe`: a row a cluster, as data, text, HTML or frame."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from importlib import import_module
from typing import Any

import numpy as np

from polymeans._validation import check_choice
from polymeans.inspection._names import one_line
from polymeans.inspection._table_output import html_of, text_of
from polymeans.inspection.compared_columns import ColumnMeans, Crosstab

LIBRARIES = ("pandas", "polars")

#: Fields of a row that have several values.
_LISTS = ("features", "representatives", "suspects")


@dataclass(frozen=True)
class FeatureDifference:
    """A feature that sets a cluster apart.

    Parameters
    ----------
    name : str
        Of the feature.
    index : int
        Its number.
    difference : float
        Mean of the cluster less that of all rows, in standard deviations of all rows.
    mean : float
        Mean of the cluster's rows.
    overall : float
        Mean of all rows.

    See Also
    --------
    ClusterRow : The cluster that it belongs to.
    polymeans.describe : Finds the most distinctive ones.

    Examples
    --------
    >>> from polymeans import KMeans, describe
    >>> from sklearn.datasets import load_iris
    >>> iris = load_iris()
    >>> model = KMeans(3, n_init=10, random_state=0).fit(iris.data)
    >>> table = describe(model, iris.data, iris.feature_names, iris.target_names[iris.target])
    >>> feature = table.rows[1].features[0]
    >>> feature.name, round(feature.difference, 1), round(feature.mean, 2)
    ('petal length (cm)', -1.3, 1.46)
    """

    name: str
    index: int
    difference: float
    mean: float
    overall: float


@dataclass(frozen=True)
class ClusterRow:
    """What is said about one cluster.

    Parameters
    ----------
    clustering : str
        Which grouping it belongs to: "clusters", "cells", "set 0", "view 1", ...
    cluster : int
        Its label.
    title : str
        The label in words: for cells, the protocentroids that it is made of.
    size : int
        Number of rows.
    weight : float
        Their total weight; their number without weights.
    share : float
        Share of the weight of all rows.
    spread : float
        Mean distance of its rows to the centroid.
    separation : float
        Distance to the nearest other centroid; 0 if there is none.
    nearest : int
        Label of that centroid; -1 if there is none.
    silhouette : float
        Mean simplified silhouette of its rows, from -1 to 1.
    features : tuple of FeatureDifference
        Features that set it apart, the most distinctive first.
    representatives : tuple of int
        Numbers of the rows nearest to the centroid, the nearest first.
    suspects : tuple of int
        Numbers of the rows farthest from it, the farthest first.

    See Also
    --------
    polymeans.describe : Makes a table of them.
    FeatureDifference : What is said about a feature of a cluster.

    Examples
    --------
    >>> from polymeans import KMeans, describe
    >>> from sklearn.datasets import load_iris
    >>> iris = load_iris()
    >>> model = KMeans(3, n_init=10, random_state=0).fit(iris.data)
    >>> table = describe(model, iris.data, iris.feature_names, iris.target_names[iris.target])
    >>> row = table.rows[1]
    >>> row.size, round(row.share, 2), row.nearest, row.features[0].name
    (50, 0.33, 0, 'petal length (cm)')
    """

    clustering: str
    cluster: int
    title: str
    size: int
    weight: float
    share: float
    spread: float
    separation: float
    nearest: int
    silhouette: float
    features: tuple[FeatureDifference, ...]
    representatives: tuple[int, ...]
    suspects: tuple[int, ...]


@dataclass(frozen=True)
class ClusteringSummary:
    """What is said about one grouping of the rows.

    Parameters
    ----------
    name : str
        "clusters", "cells", "set 0", "view 1", ...
    kind : {"clusters", "cells", "set", "view"}
        What its clusters are.
    n_clusters : int
        Their number, with those that have no rows.
    n_empty : int
        Clusters without rows.
    metric : {"euclidean", "cosine"}
        How distances are measured.
    space : str
        In which coordinates, in words.
    inertia : float
        Weighted squared (or cosine) distances to the centroids.
    silhouette : float or None
        Mean simplified silhouette, see :func:`polymeans.metrics.centroid_quality`.
    calinski_harabasz : float or None
        Explained over unexplained scatter; the larger, the better.
    davies_bouldin : float or None
        Spreads over separation; the smaller, the better.

    See Also
    --------
    polymeans.describe : Makes a table with one of them for each grouping.
    polymeans.metrics.centroid_quality : Where the last three figures come from.

    Examples
    --------
    >>> from polymeans import KMeans, describe
    >>> from sklearn.datasets import load_iris
    >>> iris = load_iris()
    >>> model = KMeans(3, n_init=10, random_state=0).fit(iris.data)
    >>> table = describe(model, iris.data, iris.feature_names, iris.target_names[iris.target])
    >>> summary = table.clusterings[0]
    >>> summary.name, summary.n_clusters, summary.metric, round(summary.davies_bouldin, 2)
    ('clusters', 3, 'euclidean', 0.66)
    """

    name: str
    kind: str
    n_clusters: int
    n_empty: int
    metric: str
    space: str
    inertia: float
    silhouette: float | None
    calinski_harabasz: float | None
    davies_bouldin: float | None


@dataclass(frozen=True)
class ClusterTable:
    """A row for each cluster; shows itself as text in a terminal and as a table in a notebook.

    Parameters
    ----------
    rows : tuple of ClusterRow
        All clusters of all groupings.
    clusterings : tuple of ClusteringSummary
        The groupings: one for most estimators, one for each view of
        :class:`~polymeans.NonRedundantKMeans`, cells and one for each set of
        :class:`~polymeans.KhatriRaoKMeans`.
    model : str
        Name of the estimator's class.
    n_samples : int
        Number of rows that were described.
    crosstabs : tuple of Crosstab
        One for each grouping and each given column of values that can be counted.
    notes : tuple of str
        What could not be said, and why.
    frame_library : str or None
        Library of the frame that was described.
    means : tuple of ColumnMeans
        One for each grouping and each given column of many different numbers.
    index_labels : dict of int to object
        Labels of the listed rows in the index of the described pandas frame, by row number; empty
        if that index counts rows from zero, or there is none.

    See Also
    --------
    polymeans.describe : Makes it.
    ClusterRow : What is said about a cluster.
    ClusteringSummary : What is said about a grouping.

    Examples
    --------
    >>> from polymeans import KMeans, describe
    >>> from sklearn.datasets import load_iris
    >>> iris = load_iris()
    >>> model = KMeans(3, n_init=10, random_state=0).fit(iris.data)
    >>> table = describe(model, iris.data, iris.feature_names, iris.target_names[iris.target])
    >>> len(table), table.model, [row.size for row in table]
    (3, 'KMeans', [62, 50, 38])
    >>> table.of("clusters")[1].features[0].name
    'petal length (cm)'
    """

    rows: tuple[ClusterRow, ...]
    clusterings: tuple[ClusteringSummary, ...]
    model: str
    n_samples: int
    crosstabs: tuple[Crosstab, ...] = ()
    notes: tuple[str, ...] = ()
    frame_library: str | None = field(default=None, repr=False)
    means: tuple[ColumnMeans, ...] = ()
    index_labels: dict[int, Any] = field(default_factory=dict, repr=False)

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[ClusterRow]:
        return iter(self.rows)

    def of(self, clustering: str) -> tuple[ClusterRow, ...]:
        """Rows of one grouping.

        Parameters
        ----------
        clustering : str
            Its name, such as "clusters" or "view 0".

        Returns
        -------
        rows : tuple of ClusterRow
            In the order of their labels.
        """
        check_choice("clustering", clustering, tuple(part.name for part in self.clusterings))
        return tuple(row for row in self.rows if row.clustering == clustering)

    def to_dict(self) -> dict[str, Any]:
        """The table as plain lists, numbers and strings.

        Returns
        -------
        table : dict
            It can be written as JSON.
        """
        content = asdict(self)
        for crosstab in content["crosstabs"]:
            crosstab["weights"] = crosstab["weights"].tolist()
        labels = self.index_labels.items()
        content["index_labels"] = {str(number): str(label) for number, label in labels}
        return content

    def to_frame(self, library: str | None = None) -> Any:
        """The table as a frame, one row for each cluster.

        Parameters
        ----------
        library : {"pandas", "polars"} or None, default=None
            Whose frame. None: that of the described frame; else pandas if it is installed, else
            polars.

        Returns
        -------
        frame : DataFrame
            Features are text; representatives and suspects are lists of row numbers. If the
            described frame has an index of its own, "representatives_index" and "suspects_index"
            have the labels of the same rows there.
        """
        return _make_frame(library or self.frame_library, self._columns())

    def crosstab_frame(self, column: str | None = None, library: str | None = None) -> Any:
        """Rows of each cluster with each value of a column, as a frame.

        Parameters
        ----------
        column : str or None, default=None
            Name of the column. None: the first one.
        library : {"pandas", "polars"} or None, default=None
            Whose frame. None: that of the described frame; else pandas if it is installed, else
            polars.

        Returns
        -------
        frame : DataFrame
            Columns "clustering" and "cluster", and one for each value.
        """
        names = tuple(dict.fromkeys(part.column for part in self.crosstabs))
        if not names:
            raise ValueError(
                "There is no crosstab: pass y to describe, a label for each row. Many different "
                "numbers are averaged instead, see the attribute means."
            )
        if column is None:
            column = names[0]
        check_choice("column", column, names)
        parts = [part for part in self.crosstabs if part.column == column]
        columns: dict[str, list[Any]] = {
            "clustering": [part.clustering for part in parts for _ in part.weights],
            "cluster": [c for part in parts for c in range(len(part.weights))],
        }
        weights = np.concatenate([part.weights for part in parts])
        for value, counts in zip(parts[0].values, weights.T):
            columns[value] = counts.tolist()
        return _make_frame(library or self.frame_library, columns)

    def _columns(self) -> dict[str, list[Any]]:
        names = [name for name in ClusterRow.__dataclass_fields__ if name not in _LISTS]
        columns = {name: [getattr(row, name) for row in self.rows] for name in names}
        columns["features"] = [
            ", ".join(f"{one_line(part.name)} {part.difference:+.1f}" for part in row.features)
            for row in self.rows
        ]
        columns["representatives"] = [list(row.representatives) for row in self.rows]
        columns["suspects"] = [list(row.suspects) for row in self.rows]
        if self.index_labels:
            for name in ("representatives", "suspects"):
                columns[f"{name}_index"] = [
                    [self.index_labels[number] for number in numbers] for numbers in columns[name]
                ]
        return columns

    def __str__(self) -> str:
        return text_of(self)

    def _repr_html_(self) -> str:
        return html_of(self)


def _make_frame(library: str | None, columns: dict[str, list[Any]]) -> Any:
    if library is not None:
        check_choice("library", library, LIBRARIES)
    for name in LIBRARIES if library is None else (library,):
        try:
            return import_module(name).DataFrame(columns)
        except ImportError:
            continue
    raise ImportError(
        f"Frames need {library or 'pandas or polars'}: pip install {library or 'pandas'}. "
        "Without one, to_dict() has the same content."
    )
