"""What is in the clusters of a fitted model, found in one pass over the rows."""

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polymeans._validation import check_integer
from polymeans.codebooks.aggregation import digits_of
from polymeans.inspection._accounts import Extremes, FeatureSums, Sample
from polymeans.inspection._columns import Column, columns_of
from polymeans.inspection._geometry import Clustering, geometry_of
from polymeans.inspection._named_column import take_column
from polymeans.inspection._row_parts import RowParts
from polymeans.inspection.cluster_table import (
    ClusteringSummary,
    ClusterRow,
    ClusterTable,
    FeatureDifference,
)
from polymeans.inspection.compared_columns import ColumnMeans, Crosstab
from polymeans.metrics.centroid_quality import CentroidQuality, QualityAccount


def describe(
    model: Any,
    X: Any,
    feature_names: Sequence[Any] | None = None,
    y: Any = None,
    *,
    n_features: int = 5,
    n_rows: int = 5,
    sample_weight: ArrayLike | None = None,
) -> ClusterTable:
    """Size, spread, distinctive features and typical rows of each cluster.

    **Idea.** One pass over the rows adds up, for each cluster, what a person asks first: how many
    rows it has, how far they are from their centroid and from the next one, which features differ
    from those of all rows, which rows are typical and which hardly belong. Distances are measured
    where the model clusters: among the rows, their directions, in a learned space or in a view.

    **Use when** a model is fitted and you want to know what its clusters are. New rows are as good
    as those of the fit. **Do not use** to decide how many clusters there are: these figures depend
    on that number.

    **Cost.** Labels of the rows, and ``n_samples * n_clusters * n_features`` multiplications for
    distances. Blocks and Dask collections are read once, sparse rows stay sparse. Memory: all
    centroids, and as many sums of features.

    Parameters
    ----------
    model : estimator
        A fitted clustering, or a Pipeline that ends in one.
    X : array-like, CSR matrix or array, frame, Blocks or Dask collection
        Rows to describe, as ``predict`` takes them. Of a Pipeline, features are those of X if all
        of them are numbers, else those that the last step sees.
    feature_names : sequence of str, default=None
        Names of the features. None: the columns of a frame, what the Pipeline or the fit knows,
        else numbers.
    y : array-like of shape (n_samples,), frame, dict or str, default=None
        A column to compare with, such as known classes, or several named ones; each gives a
        crosstab. A column of more than 30 different numbers gives their mean and standard deviation
        in each cluster (pass codes of so many classes as text). A name: that column of the frame X,
        if the model was not fitted to it.
    n_features : int, default=5
        Features of each cluster to list. Dense rows: those whose mean differs most from that of all
        rows, in standard deviations. CSR rows: those whose mean exceeds that of all rows most.
    n_rows : int, default=5
        Nearest and farthest rows of each cluster to list.
    sample_weight : array-like of shape (n_samples,), default=None
        How much each row counts. None: all alike.

    Returns
    -------
    table : ClusterTable
        A row for each cluster: of each view for :class:`NonRedundantKMeans`, of cells and of each
        set for :class:`KhatriRaoKMeans`. ``to_frame()`` makes a data frame of it.

    See Also
    --------
    report : The same and more as an HTML file.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from polymeans import KMeans, describe
    >>> iris = load_iris()
    >>> model = KMeans(3, n_init=10, random_state=0).fit(iris.data)
    >>> table = describe(model, iris.data, iris.feature_names, iris.target_names[iris.target])
    >>> for row in table:
    ...     print(row.cluster, row.size, row.features[0].name, round(row.features[0].difference, 1))
    0 62 sepal width (cm) -0.7
    1 50 petal length (cm) -1.3
    2 38 sepal length (cm) 1.2
    >>> table.crosstabs[0].values
    ('setosa', 'versicolor', 'virginica')
    >>> table.crosstabs[0].weights.astype(int).tolist()
    [[0, 48, 14], [50, 0, 0], [0, 2, 36]]
    """
    check_integer("n_features", n_features, 0)
    check_integer("n_rows", n_rows, 0)
    X, y = take_column(model, X, y)
    parts = RowParts(model, X, feature_names, sample_weight)
    return look(parts, y, n_features, n_rows).table


@dataclass(frozen=True)
class Findings:
    """A table, and what else one pass has found."""

    table: ClusterTable
    clusterings: list[Clustering]
    sample: Sample | None
    #: For each pair of clusterings, the weight of the rows with each pair of labels.
    joint: dict[tuple[int, int], NDArray[np.float64]]
    sums: FeatureSums  #: of the described features


def look(
    parts: RowParts, y: Any, n_features: int, n_rows: int, sample: Sample | None = None
) -> Findings:
    """Go through the rows once.

    Parameters
    ----------
    parts : RowParts
    y : array-like, frame, dict or None
        Columns to compare with.
    n_features, n_rows : int
        How many to list for each cluster.
    sample : Sample, default=None
        Rows to keep.

    Returns
    -------
    Findings
    """
    geometry = geometry_of(parts.last)
    clusterings = geometry.clusterings
    columns = columns_of(y, parts.n_samples)
    sizes = [part.n_clusters for part in clusterings]
    accounts = [QualityAccount(part.centers, part.metric) for part in clusterings]
    extremes = [Extremes(k, n_rows) for k in sizes]
    counts = [np.zeros(k, dtype=np.int64) for k in sizes]
    tables = [[np.zeros((k, column.width)) for column in columns] for k in sizes]
    sums = FeatureSums(parts.n_described, sizes, parts.is_sparse)
    joint = {(a, b): np.zeros((sizes[a], sizes[b])) for a, b in combinations(range(len(sizes)), 2)}
    with closing(iter(parts)) as stream:
        for part in stream:
            located = geometry.locate(part.rows)
            found = [
                account.add(places, part.weights, labels)
                for account, (places, labels) in zip(accounts, located)
            ]
            sums.add(part.described, part.weights, [labels for _, labels in located])
            for c, (_, labels) in enumerate(located):
                extremes[c].add(part.first, labels, found[c].own)
                counts[c] += np.bincount(labels, minlength=sizes[c])
                for column, table in zip(columns, tables[c]):
                    table += column.count(labels, part.weights, part.first, sizes[c])
            for (a, b), table in joint.items():
                np.add.at(table, (located[a][1], located[b][1]), part.weights)
            if sample is not None:
                own = [distances.own for distances in found]
                sample.add(part.first, part.rows.shape[0], located, own)
    if _features_mean_nothing(parts.last):
        n_features = 0
        geometry.notes.append(
            'With kernel="precomputed" X has kernel values, not features: none are described.'
        )
    writer = _Writer(parts, sums, columns, n_features)
    for c, each in enumerate(clusterings):
        found_there = accounts[c].result(), counts[c], extremes[c], tables[c]
        writer.add(each, c, *found_there)
        if each.kind == "cells":
            writer.add_sets(each, c, *found_there)
    return Findings(writer.table(geometry.notes), clusterings, sample, joint, sums)


def _features_mean_nothing(model: Any) -> bool:
    return isinstance(getattr(model, "kernel", None), str) and model.kernel == "precomputed"


class _Writer:
    """Makes the table of what was added up."""

    def __init__(
        self, parts: RowParts, sums: FeatureSums, columns: list[Column], n_features: int
    ) -> None:
        self._parts, self._sums, self._columns, self._n = parts, sums, columns, n_features
        self._rows: list[ClusterRow] = []
        self._summaries: list[ClusteringSummary] = []
        self._crosstabs: list[Crosstab] = []
        self._means: list[ColumnMeans] = []

    def add(
        self,
        part: Clustering,
        number: int,
        quality: CentroidQuality,
        counts: NDArray[np.int64],
        extremes: Extremes,
        tables: list[NDArray[np.float64]],
        merged: NDArray[np.int64] | None = None,
    ) -> None:
        """Write the rows of a clustering, or of clusters merged into groups."""
        self._summaries.append(
            ClusteringSummary(
                part.name,
                part.kind,
                len(counts),
                int(np.count_nonzero(counts == 0)),
                part.metric,
                part.space,
                float(quality.inertia.sum()),
                quality.silhouette,
                quality.calinski_harabasz,
                quality.davies_bouldin,
            )
        )
        for column, table in zip(self._columns, tables):
            found = column.result(part.name, table)
            if isinstance(found, Crosstab):
                self._crosstabs.append(found)
            else:
                self._means.append(found)
        total = float(quality.weight.sum())
        features = self._features(number, merged)
        nearest, farthest = extremes.rows_of(merged)
        for c, count in enumerate(counts):
            self._rows.append(
                ClusterRow(
                    clustering=part.name,
                    cluster=c,
                    title=self._title(part, c),
                    size=int(count),
                    weight=float(quality.weight[c]),
                    share=float(quality.weight[c]) / total,
                    spread=float(quality.mean_distance[c]),
                    separation=float(quality.separation[c]),
                    nearest=int(quality.nearest[c]),
                    silhouette=float(quality.silhouette_per_cluster[c]),
                    features=features[c],
                    representatives=tuple(nearest[c][0].tolist()),
                    suspects=tuple(farthest[c][0].tolist()),
                )
            )

    def add_sets(
        self,
        cells: Clustering,
        number: int,
        quality: CentroidQuality,
        counts: NDArray[np.int64],
        extremes: Extremes,
        tables: list[NDArray[np.float64]],
    ) -> None:
        """Write the rows of each set of protocentroids: every member with all its cells."""
        sets = self._parts.last.protocentroids_
        sizes = [len(part) for part in sets]
        if len(sizes) == 1:
            return
        digits = digits_of(np.arange(cells.n_clusters), sizes).astype(np.int64)
        for q, (members, merged) in enumerate(zip(sets, digits)):
            own = _of_sets(quality, members, merged)
            joined = [_summed(table, merged, sizes[q]) for table in tables]
            some = Clustering(f"set {q}", "set", members, cells.metric, cells.space)
            sums = _summed(counts[:, None], merged, sizes[q])[:, 0].astype(np.int64)
            self.add(some, number, own, sums, extremes, joined, merged)

    def _title(self, part: Clustering, c: int) -> str:
        if part.kind != "cells":
            return str(c)
        sizes = [len(members) for members in self._parts.last.protocentroids_]
        digits = digits_of(np.array([c]), sizes)[:, 0]
        return str(c) if len(sizes) == 1 else f"{c} ({', '.join(map(str, digits))})"

    def _features(
        self, number: int, merged: NDArray[np.int64] | None
    ) -> list[tuple[FeatureDifference, ...]]:
        top = self._sums.top(number, self._n, merged)
        names = self._parts.names
        return [
            tuple(
                FeatureDifference(names[j], int(j), float(away), float(mean), float(overall))
                for j, away, mean, overall in zip(*each)
            )
            for each in zip(top.index, top.difference, top.mean, top.overall)
        ]

    def table(self, notes: list[str]) -> ClusterTable:
        """All of it."""
        parts = self._parts
        return ClusterTable(
            tuple(self._rows),
            tuple(self._summaries),
            type(parts.last).__name__,
            parts.n_samples,
            tuple(self._crosstabs),
            tuple(notes),
            parts.frame_library,
            tuple(self._means),
            self._index_labels(),
        )

    def _index_labels(self) -> dict[int, Any]:
        index = self._parts.index
        if index is None:
            return {}
        listed = {number for row in self._rows for number in (*row.representatives, *row.suspects)}
        return {number: index[number] for number in sorted(listed)}


def _summed(table: NDArray[Any], merged: NDArray[np.int64], n_groups: int) -> NDArray[np.float64]:
    """Rows of a table added up by group."""
    total = np.zeros((n_groups, table.shape[1]))
    np.add.at(total, merged, table)
    return total


def _of_sets(
    quality: CentroidQuality, members: NDArray[Any], merged: NDArray[np.int64]
) -> CentroidQuality:
    """Measures of cells, averaged over the cells of each protocentroid.

    Separation is the distance between protocentroids of the set.
    """
    h = len(members)
    apart = QualityAccount(members).result()

    def total(values: NDArray[np.float64]) -> NDArray[np.float64]:
        return _summed(values[:, None], merged, h)[:, 0]

    weight = total(quality.weight)
    some = np.where(weight > 0, weight, 1.0)

    def mean(values: NDArray[np.float64]) -> NDArray[np.float64]:
        return total(quality.weight * values) / some

    return CentroidQuality(
        weight,
        total(quality.inertia),
        mean(quality.mean_distance),
        mean(quality.silhouette_per_cluster),
        quality.silhouette,
        None,
        None,
        apart.nearest,
        apart.separation,
    )
