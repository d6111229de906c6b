"""k-means with sparse centroids, by projection onto the l1 ball."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from polymeans._fit_state import FitState
from polymeans._seeded import SeededEstimator
from polymeans._validation import check_choice, check_integer, check_positive, is_name
from polymeans.codebooks.l1 import L1Codebook
from polymeans.core.frame import Frame
from polymeans.engine.assignment import ALGORITHMS
from polymeans.engine.lloyd import Run, descend
from polymeans.factorization.operator import FastOperator

#: Share of the mean l1 norm of k-means' centroids that ``radius="auto"`` leaves: half of it makes
#: centroids clearly sparse; how sparse they should be is the user's to decide.
_AUTO_RADIUS = 0.5

OFFSETS = ("zero", "mean", "median")


@dataclass
class L1State(FitState):
    """One ball for all starts: of several, the largest would have the lowest inertia."""

    ball: tuple[NDArray[np.float64], float] | None = None  #: center and radius, in engine units


class L1KMeans(SeededEstimator):
    """k-means whose centroids are kept inside an l1 ball and are therefore sparse.

    **Idea.** Due to Sculley: after each update, project every centroid onto the l1 ball of a given
    radius. The nearest point of the ball has few non-zeros, so a label costs as many
    multiplications as there are non-zeros. Of all points of the ball, the projection of the mean is
    the best centroid of a cluster, so the objective never rises. The projection is exact, where
    Sculley and the paper on QuicK-means bisect.

    **Use when** clusters differ in few features each and you want to read these off, or as the
    baseline for :class:`polymeans.QuickKMeans`.

    **Do not use when** you want the smallest loss for a number of non-zeros: the projection shrinks
    every centroid towards zero, and :class:`polymeans.QuickKMeans` loses far less. Centroids that
    are not near zero in most features (images with bright backgrounds, standardized rows) suffer
    most.

    **Cost.** Twice that of :class:`polymeans.KMeans`: plain k-means comes first (``init`` is where
    it begins; the centroids of a fitted :class:`polymeans.KMeans` save its time), then as many
    iterations at most after projecting. The projections take a few passes over the centroids. All
    distances of sparse rows are computed in each iteration.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    radius : float or "auto", default="auto"
        Of the l1 ball, in the units of the data. "auto": half the mean l1 norm of the centroids of
        plain k-means (each weighted by its rows, measured from the offset), found once at the
        start of the fit.
    n_nonzeros : int or None, default=None
        Instead of a radius: non-zeros of all centroids together, at most. Each update then takes
        the largest radius for which the projected means have no more, and is made only if it
        lowers the objective. Useful to compare at equal size, for instance with ``n_nonzeros_`` of
        :class:`polymeans.QuickKMeans`.
    offset : {"zero", "mean", "median"}, default="zero"
        Center of the ball. "zero": as Sculley, the centroids themselves are sparse. "mean": that of
        the rows, as if they had been centered first. "median": of k-means' centroids, feature by
        feature. Centroids are then sparse except for this vector, which no row is multiplied by.
    init : {"auto", "k-means++", "k-means||", "afk-mc2", "random"}, array-like or callable, \
            default="auto"
        Where to begin. "k-means++": greedy, the best of ``2 + log(n_clusters)`` candidates each
        time, and the same choice as scikit-learn for the same ``random_state``. "k-means||": a few
        rounds of drawing many rows at once. "auto": the first of them, or the second for rows in
        :class:`~polymeans.blocks.Blocks`, which it reads four times. "afk-mc2": sampled by Markov
        chains, for thousands of clusters. "random": rows at random. An array of shape (n_clusters,
        n_features), or a callable ``init(X, n_clusters, random_state)`` that returns one.
    n_init : "auto" or int, default="auto"
        Number of starts, of which the best is kept. "auto": 10 for "random" and callables, 1
        otherwise.
    max_iter : int, default=300
        Iterations of one start at most.
    tol : float, default=1e-4
        Stop when the squared shifts of all centroids add up to no more than this times the mean
        variance of the features, or when no label changes.
    algorithm : {"auto", "lazy", "lloyd", "elkan"}, default="auto"
        How labels are found; the result is the same. "lloyd" computes the distances to all
        centroids, "elkan" keeps a bound for each row and centroid, "lazy" one for each row and
        group of centroids (dense) or computes only distances to centroids that moved (sparse).
        "auto" is "lazy" unless there are few clusters.
    random_state : int, RandomState instance or None, default=None
        Determines all random draws. An integer makes results repeatable.
    n_threads : int or None, default=None
        Threads to use; the result does not depend on it. Resolved anew in each call. None: all
        cores, or one inside a joblib worker. -1: all cores.
    verbose : int, default=0
        1 logs each start, 2 each iteration, to the logger "polymeans" at level INFO.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Centroids, in the dtype of the data.
    sparse_centroids_ : scipy.sparse.csr_array of shape (n_clusters, n_features)
        The same less ``offset_``, without their zeros.
    offset_ : ndarray of shape (n_features,)
        Center of the ball.
    operator_ : FastOperator
        ``sparse_centroids_``, fast on rows: ``operator_.products(X)``.
    radius_ : float
        Radius of the ball the centroids are in.
    n_nonzeros_ : int
        Non-zeros of ``sparse_centroids_``.
    compression_ : float
        ``n_clusters * n_features / n_nonzeros_``.
    labels_ : ndarray of shape (n_samples,), int32
        Nearest centroid of each row; the lowest index among equals.
    inertia_ : float
        Weighted sum of squared distances to the nearest centroid.
    kmeans_inertia_ : float
        The same for the plain k-means it started from.
    n_iter_ : int
        Iterations of the best start, after projecting.
    n_parameters_ : int
        Numbers the centroids consist of: ``n_nonzeros_``, and the offset where it is not zero.
    history_ : ndarray
        One record for each of these iterations: ``inertia`` before the centroids moved, ``n_moved``
        rows that changed cluster, ``shift`` (sum of squared centroid shifts) and ``seconds``.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during fit, where X has string names.

    See Also
    --------
    polymeans.QuickKMeans : Centroids as products of sparse matrices.

    References
    ----------
    D. Sculley, "Web-scale k-means clustering", WWW 2010.

    L. Giffon, V. Emiya, H. Kadri, L. Ralaivola, "QuicK-means: accelerating inference for K-means by
    learning fast transforms", Machine Learning 110, 2021 (the comparison at equal non-zeros).

    Examples
    --------
    >>> import numpy as np
    >>> from polymeans import L1KMeans
    >>> X = np.array([[9, 1, 0], [8, 0, 1], [0, 1, 7], [1, 0, 8]], dtype=float)
    >>> model = L1KMeans(2, n_nonzeros=2, random_state=0).fit(X)
    >>> model.labels_[0] == model.labels_[1] != model.labels_[2] == model.labels_[3]
    np.True_
    >>> model.n_nonzeros_, model.compression_
    (2, 3.0)
    """

    _state_class = L1State

    #: Means and projections onto a ball need no squares of rows.
    _unit_of = "typical"

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        radius: Any = "auto",
        n_nonzeros: int | None = None,
        offset: str = "zero",
        init: Any = "auto",
        n_init: Any = "auto",
        max_iter: int = 300,
        tol: float = 1e-4,
        algorithm: str = "auto",
        random_state: Any = None,
        n_threads: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.radius = radius
        self.n_nonzeros = n_nonzeros
        self.offset = offset
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.algorithm = algorithm
        self.random_state = random_state
        self.n_threads = n_threads
        self.verbose = verbose

    @property
    def _algorithm(self) -> str:
        return self.algorithm

    def _label_table(self) -> NDArray[Any]:
        return self.cluster_centers_

    def _passes(self) -> int:
        return 2

    def _check_own_parameters(self) -> None:
        super()._check_own_parameters()
        check_choice("algorithm", self.algorithm, ALGORITHMS)
        check_choice("offset", self.offset, OFFSETS)
        if not is_name(self.radius, "auto"):
            check_positive("radius", self.radius, 'Use "auto" if unsure.')
        if self.n_nonzeros is None:
            return
        remedy = "Each centroid needs one to differ from zero."
        check_integer("n_nonzeros", self.n_nonzeros, int(self.n_clusters), remedy)
        if not is_name(self.radius, "auto"):
            raise ValueError(
                f"radius={self.radius!r} and n_nonzeros={self.n_nonzeros!r} were both given, but "
                'one follows from the other. Leave radius at "auto" or n_nonzeros at None.'
            )

    def _start(self, state: L1State) -> L1Codebook:
        runner = state.runner
        plain = descend(
            runner,
            self._free_start(state),
            algorithm=self.algorithm,
            max_iter=self.max_iter,
            tol=self._shift_tol,
        )
        means = plain.codebook.book.numerators.astype(np.float64)
        mass = runner.masses(plain.labels, len(means))
        mass /= mass.sum()
        if state.ball is None:
            center = self._center(means, mass)
            state.ball = center, self._radius(runner.frame, means - center, mass)
        center, radius = state.ball
        budget = None if self.n_nonzeros is None else int(self.n_nonzeros)
        state.notes["start_inertia"] = plain.inertia
        return L1Codebook(runner.frame, means, radius, budget, center)

    def __getstate__(self) -> dict[str, Any]:
        # The operator follows from the sparse centroids.
        state = super().__getstate__()
        return {name: part for name, part in state.items() if name != "operator_"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if "sparse_centroids_" in vars(self):
            self.operator_ = FastOperator([self.sparse_centroids_])

    def _center(
        self, means: NDArray[np.float64], shares: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Center of the ball in the rows' coordinates."""
        if self.offset == "mean":
            return shares @ means
        return np.median(means, axis=0) if self.offset == "median" else np.zeros(means.shape[1])

    def _radius(
        self, frame: Frame, means: NDArray[np.float64], shares: NDArray[np.float64]
    ) -> float:
        """Radius in the rows' unit."""
        if is_name(self.radius, "auto"):
            return _AUTO_RADIUS * float(shares @ np.abs(means).sum(axis=1))
        return float(self.radius) / frame.unit

    def _attributes(self, run: Run, state: FitState) -> dict[str, Any]:
        frame, codebook = state.frame, run.codebook
        assert isinstance(codebook, L1Codebook)
        sparse = sp.csr_array(frame.external(codebook.sparse))
        offset = frame.external(codebook.offset[None])[0]
        return {
            "cluster_centers_": codebook.to_array(frame),
            "labels_": run.labels,
            "inertia_": run.inertia,
            "n_iter_": run.n_iter,
            "history_": self._history(run),
            "sparse_centroids_": sparse,
            "operator_": FastOperator([sparse]),
            "offset_": offset,
            "radius_": float(codebook.radius or 0.0) * frame.unit,
            "n_nonzeros_": int(sparse.nnz),
            "n_parameters_": int(sparse.nnz + np.count_nonzero(offset)),
            "kmeans_inertia_": run.notes["start_inertia"],
            "compression_": sparse.shape[0] * sparse.shape[1] / max(1, sparse.nnz),
        }
