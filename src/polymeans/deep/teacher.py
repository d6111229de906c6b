"""Labels to begin with, from the neighborhood graph of the rows: no network is needed for them."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.extmath import randomized_svd

from polymeans.deep.neighborhood import find_neighborhood
from polymeans.deep.rows import ArrayRows, RowSource, SparseRows
from polymeans.deep.spectral import RegularizedGraph
from polymeans.kmeans import KMeans

#: Features above which rows are reduced to principal components, and to how many. Distances to
#: neighbors are noise in hundreds of dimensions.
_MANY_FEATURES, _N_COMPONENTS = 100, 50

#: Features above which the principal components of rows that are not in memory are found after a
#: random projection to so many: a matrix of features by features would be too large.
_PROJECTED = 2048

#: Numbers above which rows are not copied in float64 but read in two passes.
_MANY_NUMBERS = 2**26

#: Rows for each cluster from which on more eigenvectors than clusters are used: those with at
#: least this share of the last one's eigenvalue.
_ROWS_FOR_MORE, _SHARE_FOR_MORE = 100, 0.95

#: Exponent of the eigenvalues that eigenvectors are scaled with.
_DECAY = 4

#: Standard errors by which spectral clusters have to cut the graph less than those of k-means;
#: else those are taken. A few rows on the border decide nothing, and eigenvectors are arbitrary
#: where clusters are separate components.
_STANDARD_ERRORS = 2.0

#: Share of the cut below which what is saved is rounding: the same clusters in another order.
_ROUNDING = 1e-9

_N_STARTS = 10


@dataclass(frozen=True)
class Lesson:
    """What a network is to learn.

    Parameters
    ----------
    labels : ndarray of shape (n,)
        From 0 to the number of clusters minus 1; clusters may be empty.
    source : str
        "spectral", "k-means" or "given".
    """

    labels: NDArray[np.int32]
    source: str


def reduced_rows(rows: RowSource, rng: RandomState) -> NDArray[np.float64]:
    """Rows in few coordinates, in memory: their principal components where there are many."""
    n, m = rows.shape
    if m <= _MANY_FEATURES:
        return np.concatenate([part.numpy() for part in rows.in_order()]).astype(np.float64)
    n_components = min(_N_COMPONENTS, n - 1)
    if n_components < 1:
        return np.zeros((n, 1))
    if isinstance(rows, ArrayRows) and n * m <= _MANY_NUMBERS:
        X = rows.rows.numpy().astype(np.float64)
        X -= X.mean(axis=0)
        left, values, _ = randomized_svd(X, n_components, random_state=rng)
        return left * values
    if isinstance(rows, SparseRows):
        centered = _CenteredRows(rows.rows.astype(np.float64))
        return centered.components(n_components, rng)
    return _streamed_components(rows, n_components, rng)


class _CenteredRows:
    """CSR rows less their mean, which are never formed."""

    def __init__(self, X: Any) -> None:
        self.X, self.mean = X, np.asarray(X.mean(axis=0)).ravel()

    def components(self, n_components: int, rng: RandomState) -> NDArray[np.float64]:
        """Principal components by block power steps."""
        width = n_components + 10
        basis = rng.standard_normal((self.X.shape[1], min(width, *self.X.shape)))
        for _ in range(6):
            basis = np.linalg.qr(self.X @ basis - self.mean @ basis)[0]
            basis = self.X.T @ basis - np.outer(self.mean, basis.sum(axis=0))
            basis = np.linalg.qr(basis)[0]
        scores = self.X @ basis - self.mean @ basis
        left, values, _ = np.linalg.svd(scores, full_matrices=False)
        return (left * values)[:, :n_components]


def _streamed_components(
    rows: RowSource, n_components: int, rng: RandomState
) -> NDArray[np.float64]:
    """Principal components of rows that are read batch by batch, in two passes."""
    project: Any = None
    if rows.n_features > _PROJECTED:
        project = rng.standard_normal((rows.n_features, 4 * n_components))
        project /= np.sqrt(4 * n_components)

    def batches() -> Any:
        for part in rows.in_order():
            batch = part.numpy().astype(np.float64)
            yield batch if project is None else batch @ project

    total: Any = 0.0
    gram: Any = 0.0
    for batch in batches():
        total, gram = total + batch.sum(axis=0), gram + batch.T @ batch
    mean = total / rows.n_samples
    covariance = gram - rows.n_samples * np.outer(mean, mean)
    vectors = np.linalg.eigh(covariance)[1][:, ::-1][:, :n_components]
    return np.concatenate([(batch - mean) @ vectors for batch in batches()])


class Teacher:
    """Clusters the graph of the rows; what does not depend on chance is computed once.

    Parameters
    ----------
    rows : RowSource
    n_clusters : int
    rng : RandomState
    given : ndarray of shape (n,) or None, default=None
        Labels of the user's own, which are taught instead.
    """

    def __init__(
        self,
        rows: RowSource,
        n_clusters: int,
        rng: RandomState,
        given: NDArray[np.int32] | None = None,
    ) -> None:
        self.n_clusters, self.given = n_clusters, given
        self.points = reduced_rows(rows, rng)
        self.neighborhood = find_neighborhood(self.points, rng)
        if given is None and n_clusters > 1:
            self.graph = RegularizedGraph(self.neighborhood.weights)
            self.embedding = _embedding(self.graph, n_clusters, rng)

    def lesson(self, rng: RandomState) -> Lesson:
        """Labels of a spectral clustering if it cuts the graph clearly less than k-means does."""
        if self.given is not None:
            return Lesson(self.given, "given")
        if self.n_clusters == 1:
            return Lesson(np.zeros(len(self.points), dtype=np.int32), "k-means")
        plain = _kmeans_labels(self.points, self.n_clusters, rng)
        spectral = _kmeans_labels(self.embedding, self.n_clusters, rng)
        cuts = self.graph.row_cuts(plain)
        saved = cuts - self.graph.row_cuts(spectral)
        doubt = max(_STANDARD_ERRORS * np.linalg.norm(saved), _ROUNDING * cuts.sum())
        if saved.sum() <= doubt:
            return Lesson(plain, "k-means")
        return Lesson(spectral, "spectral")


def _embedding(graph: RegularizedGraph, n_clusters: int, rng: RandomState) -> NDArray[np.float64]:
    """Eigenvectors, scaled by powers of their eigenvalues, rows of length one."""
    values, vectors = graph.leading(2 * n_clusters, rng)
    n_used = min(n_clusters, len(values))
    if graph.n >= _ROWS_FOR_MORE * n_clusters:
        n_used = max(n_used, int(np.sum(values >= _SHARE_FOR_MORE * values[n_used - 1])))
    embedded = vectors[:, :n_used] * np.maximum(values[:n_used], 0.0) ** _DECAY
    lengths = np.linalg.norm(embedded, axis=1, keepdims=True)
    return embedded / np.where(lengths > 0, lengths, 1.0)


def _kmeans_labels(points: NDArray[Any], n_clusters: int, rng: RandomState) -> NDArray[np.int32]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # duplicates: clusters may be empty
        return KMeans(n_clusters, n_init=_N_STARTS, random_state=rng).fit(points).labels_


def target_matrix(labels: NDArray[np.int32], n_clusters: int, smoothing: float) -> NDArray[Any]:
    """One-hot rows, of which a share is spread over all clusters."""
    targets = np.full((len(labels), n_clusters), smoothing / n_clusters)
    targets[np.arange(len(labels)), labels] += 1.0 - smoothing
    return targets
