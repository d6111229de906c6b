"""How compact and how far apart clusters are, judged by their centroids in one pass over the rows.

``QualityAccount`` takes rows in parts and adds up what the measures need; ``centroid_quality``
feeds it with an array, a CSR matrix or blocks.
"""

from collections.abc import Generator
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array

from polymeans._validation import check_choice, check_weights
from polymeans.blocks import Blocks, read_ahead
from polymeans.blocks.checked import check_blocks, refuse_one_shot
from polymeans.core.sparse_structure import checked_matrix

METRICS = ("euclidean", "cosine")

#: Rows and their weights, part by part.
WeightedRows = Generator[tuple[Any, NDArray[np.float64]], None, None]

#: Entries of the table of distances that is made at a time: 16 MiB of float64.
_TABLE_ENTRIES = 2**21

#: Squared distance over the squared lengths of a CSR row and its centroid below which products
#: leave fewer than about ten digits of it.
_CLOSE = 1e-6

#: Centroids whose largest entry is outside of these are brought to a unit, so that squares of
#: distances stay finite and above zero.
_USUAL = (2.0**-300, 2.0**300)


@dataclass(frozen=True)
class CentroidQuality:
    """What :func:`centroid_quality` measures.

    Parameters
    ----------
    weight : ndarray of shape (n_clusters,)
        Total weight of the rows of each cluster; their number without weights.
    inertia : ndarray of shape (n_clusters,)
        Weighted squared distances of the rows to their centroid ("cosine": cosine distances).
    mean_distance : ndarray of shape (n_clusters,)
        Weighted mean distance of the rows to their centroid; 0 for clusters without rows.
    silhouette_per_cluster : ndarray of shape (n_clusters,)
        Weighted mean of the rows' simplified silhouettes; 0 for clusters without rows.
    silhouette : float or None
        The same for all rows. None if there is only one centroid.
    calinski_harabasz : float or None
        Scatter that the centroids explain over what they leave, each per degree of freedom; the
        larger, the better. None if fewer than two clusters have rows, if there are no more rows
        than clusters, or if all rows are at their centroids.
    davies_bouldin : float or None
        Mean over clusters of the worst ratio of spreads to separation; the smaller, the better.
        None if fewer than two clusters have rows.
    nearest : ndarray of shape (n_clusters,)
        The nearest other centroid of each; -1 if there is only one.
    separation : ndarray of shape (n_clusters,)
        Distance to it; 0 if there is only one.

    See Also
    --------
    centroid_quality : Makes it.

    Examples
    --------
    >>> import numpy as np
    >>> from polymeans.metrics import centroid_quality
    >>> X = np.array([[0.0], [2.0], [10.0], [12.0]])
    >>> quality = centroid_quality(X, [[1.0], [11.0]])
    >>> quality.weight, quality.mean_distance, quality.separation
    (array([2., 2.]), array([1., 1.]), array([10., 10.]))
    """

    weight: NDArray[np.float64]
    inertia: NDArray[np.float64]
    mean_distance: NDArray[np.float64]
    silhouette_per_cluster: NDArray[np.float64]
    silhouette: float | None
    calinski_harabasz: float | None
    davies_bouldin: float | None
    nearest: NDArray[np.int64]
    separation: NDArray[np.float64]


def centroid_quality(
    X: Any,
    centers: ArrayLike,
    labels: ArrayLike | None = None,
    *,
    metric: str = "euclidean",
    sample_weight: ArrayLike | None = None,
) -> CentroidQuality:
    """Simplified silhouette, Calinski-Harabasz and Davies-Bouldin of given centroids.

    **Idea.** Distances between rows and centroids replace those between all pairs of rows. The
    simplified silhouette of a row is ``(b - a) / max(a, b)``, a being its distance to the own
    centroid and b that to the nearest other one (0 where both are 0). Calinski-Harabasz is
    ``((T - W) / (k - 1)) / (W / (n - k))``, with the scatter T about the mean of all rows, W about
    the centroids, and k clusters that have rows. Davies-Bouldin is the mean over clusters i of
    ``max_j (d_i + d_j) / |c_i - c_j|``, with mean distances d to the centroids. The last two are
    scikit-learn's where centroids are the means of their rows; other centroids are judged as they
    are, and W counts what a structure loses.

    **Use when** rows are too many for the silhouette of all pairs, or to compare numbers of
    clusters and structures of centroids. **Do not use** to compare results in different spaces or
    metrics: all three measures are of the space that rows and centroids are given in.

    **Cost.** One pass of ``n_samples * n_clusters * n_features`` multiplications, and some tens of
    MiB; all pairs of centroids once.

    Parameters
    ----------
    X : {array-like, CSR matrix or array} of shape (n_samples, n_features) or Blocks
        Rows.
    centers : array-like of shape (n_clusters, n_features)
        Centroids. All of them count as other centroids of a row, also those without rows.
    labels : array-like of shape (n_samples,), default=None
        Centroid of each row. None: the nearest one, the lowest index among equals.
    metric : {"euclidean", "cosine"}, default="euclidean"
        "cosine": distances are one minus the cosine of the angle, and the scatter about the mean is
        that about the mean direction. Rows of zeros have distance 1 to all centroids.
    sample_weight : array-like of shape (n_samples,), default=None
        How much each row counts. None: all alike.

    Returns
    -------
    quality : CentroidQuality
        Measures of all clusters together and of each cluster.

    See Also
    --------
    polymeans.describe : These figures and what sets clusters apart.
    sklearn.metrics.silhouette_score : Silhouettes from distances between all rows.

    Examples
    --------
    >>> import numpy as np
    >>> from polymeans.metrics import centroid_quality
    >>> X = np.array([[0.0], [2.0], [10.0], [12.0]])
    >>> quality = centroid_quality(X, [[1.0], [11.0]])
    >>> quality.silhouette_per_cluster.round(3), quality.davies_bouldin
    (array([0.899, 0.899]), 0.2)
    >>> quality.calinski_harabasz
    50.0
    """
    centers = _check_centers(centers)
    account = QualityAccount(centers, metric)
    n_samples, parts = _parts(X, sample_weight, centers.shape[1])
    given = None if labels is None else check_row_labels(labels, n_samples, len(centers))
    first = 0
    with closing(parts):
        for rows, weights in parts:
            last = first + rows.shape[0]
            account.add(rows, weights, None if given is None else given[first:last])
            first = last
    return account.result()


@dataclass(frozen=True)
class RowDistances:
    """Rows of a part beside their centroids.

    Parameters
    ----------
    labels : ndarray of shape (n,)
    own : ndarray of shape (n,)
        Distance to the centroid of the label.
    other : ndarray of shape (n,)
        Distance to the nearest other centroid; infinite if there is none.
    """

    labels: NDArray[np.int64]
    own: NDArray[np.float64]
    other: NDArray[np.float64]

    @property
    def silhouettes(self) -> NDArray[np.float64]:
        """Simplified silhouette of each row; 0 where it is not defined."""
        larger = np.maximum(self.own, self.other)
        with np.errstate(invalid="ignore", divide="ignore"):
            ratio = (self.other - self.own) / larger
        return np.where((larger > 0) & np.isfinite(larger), ratio, 0.0)


class QualityAccount:
    """Adds up what the measures need, part by part.

    Parameters
    ----------
    centers : ndarray of shape (n_clusters, n_features)
        Centroids.
    metric : {"euclidean", "cosine"}, default="euclidean"
        How distances are measured.
    """

    def __init__(self, centers: NDArray[Any], metric: str = "euclidean") -> None:
        check_choice("metric", metric, METRICS)
        centers = np.asarray(centers, dtype=np.float64)
        self._cosine = metric == "cosine"
        self._unit = 1.0 if self._cosine else _unit_of(centers)
        self._centers = _directions(centers) if self._cosine else centers / self._unit
        k, d = centers.shape
        # Distances far from zero would lose digits: dense rows are measured from here.
        self._origin = np.zeros(d) if self._cosine else self._centers.mean(axis=0)
        self._about = self._centers - self._origin
        self._squares = np.einsum("ij,ij->i", self._about, self._about)
        self._plain_squares = np.einsum("ij,ij->i", self._centers, self._centers)
        self.n_samples = 0
        self._weight, self._squared, self._distance, self._silhouette = np.zeros((4, k))
        self._n_rows = np.zeros(k, dtype=np.int64)
        # About the origin for dense rows, about zero for CSR rows; all rows are of one kind.
        self._sum, self._total_square = np.zeros(d), 0.0

    def add(
        self,
        rows: Any,
        weights: NDArray[np.float64] | None = None,
        labels: NDArray[Any] | None = None,
    ) -> RowDistances:
        """Count some rows in.

        Parameters
        ----------
        rows : ndarray or CSR of shape (n, n_features)
        weights : ndarray of shape (n,), default=None
            None: ones.
        labels : ndarray of shape (n,), default=None
            Centroid of each row; None: the nearest.

        Returns
        -------
        RowDistances
            In the units of the rows.
        """
        n = rows.shape[0]
        weights = np.ones(n) if weights is None else weights
        found = RowDistances(np.empty(n, dtype=np.int64), np.empty(n), np.empty(n))
        step = max(1, _TABLE_ENTRIES // max(self._centers.shape))
        for lo in range(0, n, step):
            here = slice(lo, lo + step)
            given = None if labels is None else np.asarray(labels[here], dtype=np.int64)
            self._add_few(rows[here], weights[here], given, found, here)
        return found

    def _add_few(
        self,
        rows: Any,
        weights: NDArray[np.float64],
        given: NDArray[np.int64] | None,
        found: RowDistances,
        here: slice,
    ) -> None:
        """Count in so few rows that their distances to all centroids are at hand at once."""
        with np.errstate(over="ignore", invalid="ignore"):
            table, squares, total = self._table(rows)
            labels = table.argmin(axis=1) if given is None else given
            each = np.arange(len(labels))
            own = self._own_squares(rows, labels, table[each, labels], squares)
            table[each, labels] = np.inf
            other = table.min(axis=1)
            squared = own  # in the unit, where squares are in range
            if not self._cosine:
                own, other = np.sqrt(own) * self._unit, np.sqrt(other) * self._unit
            found.labels[here], found.own[here], found.other[here] = labels, own, other
            few = RowDistances(labels, own, other)
            self.n_samples += len(labels)
            k = len(self._weight)
            self._n_rows += np.bincount(labels[weights > 0], minlength=k)
            for account, values in (
                (self._weight, 1.0),
                (self._squared, squared),
                (self._distance, own),
                (self._silhouette, few.silhouettes),
            ):
                account += np.bincount(labels, weights=weights * values, minlength=k)
            self._sum += weights @ total
            self._total_square += float(weights @ squares)

    def _table(self, rows: Any) -> tuple[NDArray[np.float64], NDArray[np.float64], Any]:
        """Squared (or cosine) distances to all centroids, the rows' squares, and rows to add up."""
        if sp.issparse(rows):
            rows = sp.csr_array(rows, dtype=np.float64)
            if self._cosine:
                lengths = np.sqrt(_row_squares(rows))
                rows = sp.diags_array(_inverse(lengths)) @ rows
            elif self._unit != 1.0:
                rows = rows / self._unit
            squares, product = _row_squares(rows), rows @ self._centers.T
            if self._cosine:
                return _from_cosines(product), squares, rows
            return _squared(squares, self._plain_squares, product), squares, rows
        rows = np.asarray(rows, dtype=np.float64)
        rows = _directions(rows) if self._cosine else rows / self._unit - self._origin
        squares = np.einsum("ij,ij->i", rows, rows)
        product = rows @ self._about.T
        if self._cosine:
            return _from_cosines(product), squares, rows
        return _squared(squares, self._squares, product), squares, rows

    def _own_squares(
        self,
        rows: Any,
        labels: NDArray[np.int64],
        from_table: NDArray[np.float64],
        squares: NDArray[np.float64],
    ) -> NDArray[np.float64]:
        """Squared distances to the own centroids, by differences where products lose digits."""
        if self._cosine:
            return from_table
        close = np.arange(len(labels))
        if sp.issparse(rows):
            close = np.flatnonzero(from_table <= _CLOSE * (squares + self._plain_squares[labels]))
            rows = rows[close].toarray()
        apart = np.asarray(rows, dtype=np.float64) / self._unit - self._centers[labels[close]]
        from_table[close] = np.einsum("ij,ij->i", apart, apart)
        return from_table

    def result(self) -> CentroidQuality:
        """The measures of all rows so far."""
        used = self._n_rows > 0
        mass = np.where(used, self._weight, 1.0)
        mean_distance = np.where(used, self._distance / mass, 0.0)
        per_cluster = np.where(used, self._silhouette / mass, 0.0)
        nearest, separation, worst = self._pairs(mean_distance, used)
        total, single = float(self._weight.sum()), len(self._weight) == 1
        overall = None if single or not total else float(self._silhouette.sum() / total)
        with np.errstate(over="ignore"):
            inertia = self._squared * self._unit * self._unit
        return CentroidQuality(
            self._weight.copy(),
            inertia,
            mean_distance,
            per_cluster,
            overall,
            self._explained_ratio(total, int(used.sum())),
            float(worst[used].mean()) if used.sum() > 1 else None,
            nearest,
            separation,
        )

    def _explained_ratio(self, total: float, k: int) -> float | None:
        left = float(self._squared.sum())
        if k < 2 or self._n_rows.sum() <= k or not 0 < left < np.inf:
            return None
        if self._cosine:  # rows of zeros have distance 1 to any direction
            scatter = total - float(np.linalg.norm(self._sum))
        else:
            scatter = self._total_square - float(self._sum @ self._sum) / total
        if not np.isfinite(scatter):
            return None
        return max(0.0, (scatter - left) / (k - 1) / (left / (total - k))) if total > k else None

    def _pairs(
        self, spread: NDArray[np.float64], used: NDArray[np.bool_]
    ) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
        """The nearest other centroid, its distance, and the worst ratio of Davies and Bouldin."""
        k = len(spread)
        nearest, separation, worst = np.full(k, -1, dtype=np.int64), np.zeros(k), np.zeros(k)
        if k == 1:
            return nearest, separation, worst
        step = max(1, _TABLE_ENTRIES // k)
        for lo in range(0, k, step):
            some = np.arange(lo, min(lo + step, k))
            product = self._about[some] @ self._about.T
            if self._cosine:
                apart = _from_cosines(product)
            else:
                apart = _squared(self._squares[some], self._squares, product)
                noise = 8 * np.finfo(np.float64).eps
                apart[apart <= noise * (self._squares[some][:, None] + self._squares)] = 0.0
                apart = np.sqrt(apart) * self._unit
            each = np.arange(len(some))
            with np.errstate(divide="ignore", invalid="ignore"):
                ratio = (spread[some][:, None] + spread) / apart
            # As scikit-learn: equal centroids are left out. So are clusters without rows.
            ratio[(apart == 0) | ~used] = 0.0
            ratio[each, some] = 0.0
            apart[each, some] = np.inf
            worst[some] = ratio.max(axis=1)
            nearest[some] = apart.argmin(axis=1)
            separation[some] = apart[each, nearest[some]]
        return nearest, separation, worst


# --- parts of the calculation --------------------------------------------------------------------


def _squared(
    rows: NDArray[np.float64], centers: NDArray[np.float64], product: NDArray[np.float64]
) -> NDArray[np.float64]:
    """``|x|² + |c|² - 2 x·c`` in place of the products."""
    product *= -2.0
    product += rows[:, None]
    product += centers
    return np.maximum(product, 0.0, out=product)


def _from_cosines(product: NDArray[np.float64]) -> NDArray[np.float64]:
    """``1 - cos`` in place of the cosines; 0 where there is nothing but rounding."""
    np.subtract(1.0, product, out=product)
    product[product <= 8 * np.finfo(np.float64).eps] = 0.0
    return product


def _row_squares(rows: Any) -> NDArray[np.float64]:
    """Squared lengths of CSR rows."""
    return np.asarray(rows.multiply(rows).sum(axis=1), dtype=np.float64).reshape(-1)


def _inverse(lengths: NDArray[np.float64]) -> NDArray[np.float64]:
    """One over each length; 0 for 0."""
    return np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0)


def _directions(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Vectors of length one; those of zeros stay zeros."""
    largest = np.abs(vectors).max(axis=1, initial=0.0)
    vectors = vectors * _inverse(largest)[:, None]  # so that squares stay within the range
    return vectors * _inverse(np.sqrt(np.einsum("ij,ij->i", vectors, vectors)))[:, None]


def _unit_of(centers: NDArray[np.float64]) -> float:
    """A power of two near the largest entry of extreme centroids; one for all others."""
    largest = float(np.abs(centers).max(initial=0.0))
    if largest == 0 or _USUAL[0] <= largest <= _USUAL[1]:
        return 1.0
    return float(2.0 ** np.floor(np.log2(largest)))


# --- checks --------------------------------------------------------------------------------------


def _check_centers(centers: ArrayLike) -> NDArray[np.float64]:
    return check_array(centers, dtype=np.float64, input_name="centers")


def check_row_labels(labels: Any, n_samples: int, n_clusters: int) -> NDArray[np.int64]:
    """Labels as numbers of centroids, one for each row."""
    array = np.asarray(labels)
    if array.shape != (n_samples,):
        raise ValueError(
            f"labels must have one entry for each of {n_samples} rows, got shape {array.shape}. "
            "Pass the labels of the rows of X."
        )
    if array.dtype.kind not in "biu" or array.min() < 0 or array.max() >= n_clusters:
        raise ValueError(
            f"labels must be integers from 0 to {n_clusters - 1}, the numbers of the centroids. "
            "Leave them out to take the nearest centroid of each row."
        )
    return array.astype(np.int64)


def _parts(X: Any, sample_weight: Any, n_features: int) -> tuple[int, WeightedRows]:
    """The number of rows, and rows with weights: all of them at once, or block by block."""
    refuse_one_shot(X, "X")
    if isinstance(X, Blocks) and not isinstance(X, np.ndarray):
        blocks = check_blocks(X)
        shape = blocks.n_samples, blocks.n_features
        given = sample_weight
        if given is not None:
            given = check_weights(given, np.empty((shape[0], 0)))
        parts = _block_parts(blocks, given)
    else:
        X = checked_matrix(X)
        shape = X.shape
        parts = _single_part(X, check_weights(sample_weight, X))
    if shape[1] != n_features:
        raise ValueError(
            f"X has {shape[1]} features, but centers have {n_features}. Give both in the same "
            "space."
        )
    return shape[0], parts


def _single_part(X: Any, weights: NDArray[np.float64]) -> WeightedRows:
    yield X, weights


def _block_parts(blocks: Any, given: NDArray[np.float64] | None) -> WeightedRows:
    first = 0
    with closing(read_ahead(blocks)) as ahead:
        for block in ahead:
            rows, weights = block if isinstance(block, tuple) else (block, None)
            n_rows = rows.shape[0]
            if weights is not None and given is not None:
                raise ValueError(
                    "sample_weight was given, but the blocks bring weights of their own. Leave "
                    "out one of them."
                )
            if given is not None:
                weights = given[first : first + n_rows]
            first += n_rows
            yield rows, np.ones(n_rows) if weights is None else weights
