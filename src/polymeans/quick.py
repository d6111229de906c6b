"""QuicK-means: centroids that are a product of sparse factors."""

import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from polymeans._base import logger
from polymeans._compat import HAS_CALLBACKS, FitProgress
from polymeans._fit_state import FitState, warn_of_missing_clusters
from polymeans._rows import chunk_by_chunk, is_blocks
from polymeans._seeded import SeededEstimator
from polymeans._validation import check_finite, check_range, check_rows, is_plain, one_row
from polymeans.codebooks.base import BaseCodebook
from polymeans.codebooks.factored import FactoredCodebook, balanced_weights, multiplied_out
from polymeans.core.frame import Frame
from polymeans.engine.assignment import make_codebook
from polymeans.engine.factored_assigner import label_in_one_pass
from polymeans.engine.factored_row import FewRows
from polymeans.engine.labeling import SMALL_WORK, n_multiplications
from polymeans.engine.labeling_choice import fewer_multiplications, shorter_time
from polymeans.engine.lloyd import Run, Step, descend
from polymeans.engine.relocation import relocations
from polymeans.engine.runners import BaseRunner
from polymeans.factorization._checks import DEFAULT_LEVEL, check_sparsity
from polymeans.factorization.operator import FastOperator
from polymeans.factorization.plan import FactorPlan, choose_plan, is_chain
from polymeans.parameters.quick import check_parameters

#: Iterations at most and tolerance of the plain k-means before the factorization: the defaults of
#: :class:`polymeans.KMeans`.
_PLAIN_ITER, _PLAIN_TOL = 300, 1e-4

#: Iterations over which the objective must have fallen by ``tol`` for a fit to go on. Supports are
#: selected anew in every third one, so each window of four contains at least one selection.
_GAIN_WINDOW = 4

#: Entries of a mean, as a share of the largest of that feature, that are what summing about another
#: origin leaves of a zero: thousands of units of rounding in float64.
_ZERO = 1e-12

#: Multiplications up to which rows are labeled one by one: preparing more than that takes longer.
_FEW = 2**23


@dataclass
class QuickState(FitState):
    """One plan for all starts, and the objective of the present one."""

    plan: FactorPlan | None = None
    trace: list[float] = field(default_factory=list)  #: objective of the present start


class QuickKMeans(SeededEstimator):
    """k-means whose centroids are a product of sparse factors: small, and fast to assign to.

    **Idea.** All centroids together are a k x d matrix; it is kept as ``offset + S_1 S_2 ... S_Q``
    with sparse factors [1]_. A new row needs as many multiplications as the factors have non-zeros,
    not k d. Given labels, the best factors are a weighted factorization of the cluster means, so
    Lloyd's loop is unchanged: assign, add up, refit; the objective never rises. The paper has
    chains of ``log2`` many factors found by palm4MSA. Here two factors share one budget of
    non-zeros and their supports are selected (:func:`polymeans.factorization.factorize`), which
    loses a fraction as much at the same size.

    **Use when** there are many clusters or many features and many rows are labeled after the fit:
    quantization, routing, coarse search, Nystroem landmarks. **Do not use when** d is small (there
    is nothing to save) or labels are needed once: plain :class:`KMeans` is the start of this fit.

    **Cost.** That of :class:`KMeans`, then seconds for the factorization (it grows with
    k d min(k, d), not with the rows), then up to ``max_iter`` iterations. Assigning a row:
    ``n_nonzeros_`` multiplications.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    sparsity_level : int, default=5
        As in the paper: non-zeros per row or column of each of its factors. With "select", all
        factors together have as many non-zeros as the paper's chain has at least,
        ``s * (k + (log2(max(k, d)) - 2) * min(k, d) + d)``. 3 is small, 5 loses little.
    n_nonzeros : int or None, default=None
        Non-zeros of all factors together, instead of ``sparsity_level``.
    n_factors : int or "auto", default="auto"
        "auto": two, or the paper's ``int(log2(max(k, d)))`` for method="palm4msa".
    method : {"select", "palm4msa"}, default="select"
        How supports are found. "palm4msa": as in the paper, for comparison.
    centers : {"factored", "means"}, default="factored"
        "factored": the centroids are the product itself. "means": the product only decides
        labels; ``cluster_centers_`` are the exact means of the labeled rows, and the inertia is
        measured from them, often as low as that of plain k-means.
    offset : {"auto", "zero", "median"}, default="auto"
        Vector that is common to all centroids; labeling rows takes no longer with it. "median":
        the median of k-means' centroids; "auto": zero or the median, whichever factorizes better.
    refit : bool, default=True
        False: the factors of converged k-means are kept as they are.
    effort : float, default=1.0
        Multiple of the usual work that goes into finding a start: 0.25 is quick, 4 is thorough.
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
    max_iter : int, default=50
        Iterations of one start at most.
    tol : float, default=1e-4
        Stop when four iterations together have lowered the objective by less than this share.
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
        Centroids in the dtype of the data, multiplied out at access (``centers="means"``: stored).
    factors_ : list of csr_array
        From left to right, in the dtype of the data. ``offset_ + S_1 @ ... @ S_Q`` are the
        factored centroids.
    offset_ : ndarray of shape (n_features,)
        Common to all centroids.
    operator_ : FastOperator
        The product of the factors, fast on rows: ``operator_.products(X)``,
        ``operator_.nearest_one(x, offsets)``.
    labels_ : ndarray of shape (n_samples,), int32
        Nearest factored centroid of each row; the lowest index among equals.
    inertia_ : float
        Weighted sum of squared distances to ``cluster_centers_``.
    kmeans_inertia_ : float
        The same for the plain k-means it started from.
    n_nonzeros_ : int
        Non-zeros of all factors.
    compression_ : float
        ``n_clusters * n_features / n_nonzeros_``.
    flops_per_row_ : int
        Additions, multiplications and comparisons to label one row.
    assignment_ : {"factored", "dense"}
        How ``predict`` labels many rows: whichever was faster when it was measured at the end of
        the fit. The labels are the same.
    n_iter_ : int
        Iterations with factored centroids of the best start.
    n_parameters_ : int
        Numbers the model consists of.
    history_ : ndarray
        One record for each iteration of the best start: ``inertia`` of the factored centroids
        before they moved, ``n_moved`` rows that changed cluster, ``shift`` (sum of squared
        centroid shifts) and ``seconds``.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during fit, where X has string names.

    See Also
    --------
    KMeans : Free centroids.
    L1KMeans : Sparse centroids.
    KhatriRaoKMeans : Centroids that are sums or products of few vectors.
    polymeans.factorization.factorize : The factorization alone.

    Notes
    -----
    ``init`` is where plain k-means begins; it has the default ``max_iter`` and ``tol`` of
    :class:`KMeans`. Those here are for the iterations with factored centroids that follow.

    A cluster that loses all rows gets a row far from its centroid, if that lowers the objective.

    References
    ----------
    .. [1] L. Giffon, V. Emiya, H. Kadri, L. Ralaivola, "QuicK-means: accelerating inference for
       K-means by learning fast transforms", Machine Learning, 2021.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from polymeans import QuickKMeans
    >>> X = load_digits().data
    >>> model = QuickKMeans(n_clusters=64, n_nonzeros=1200, random_state=0).fit(X)
    >>> round(model.compression_, 1), model.inertia_ < 1.1 * model.kmeans_inertia_
    (3.4, True)
    >>> bool((model.predict(X) == model.labels_).all())
    True
    """

    _uses_blas = True
    _state_class = QuickState

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        sparsity_level: int = DEFAULT_LEVEL,
        n_nonzeros: int | None = None,
        n_factors: Any = "auto",
        method: str = "select",
        centers: str = "factored",
        offset: str = "auto",
        refit: bool = True,
        effort: float = 1.0,
        init: Any = "auto",
        n_init: Any = "auto",
        max_iter: int = 50,
        tol: float = 1e-4,
        random_state: Any = None,
        n_threads: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.sparsity_level = sparsity_level
        self.n_nonzeros = n_nonzeros
        self.n_factors = n_factors
        self.method = method
        self.centers = centers
        self.offset = offset
        self.refit = refit
        self.effort = effort
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_threads = n_threads
        self.verbose = verbose

    @property
    def cluster_centers_(self) -> NDArray[Any]:
        """Centroids; factored ones are multiplied out unless their table is at hand."""
        if "factors_" not in vars(self):
            raise AttributeError("cluster_centers_ are there after fit.")
        return self._table() if self._means is None else self._means

    @chunk_by_chunk
    def predict(self, X: Any) -> NDArray[np.int32]:
        """Nearest factored centroid of each row.

        Parameters
        ----------
        X : {array-like, CSR matrix or array} of shape (n_samples, n_features), \
                Blocks or Dask collection
            Rows. float32 stays float32; anything else becomes float64.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Index of the nearest factored centroid, the lowest among equals.
        """
        if "operator_" in vars(self) and is_plain(self, X, reset=False) and X.flags.c_contiguous:
            labels = self._label_few(X)
            if labels is not None:
                return labels
        check_is_fitted(self)
        if is_blocks(X):
            return super().predict(X)
        return self._predict(check_rows(self, X, reset=False, finite=False))

    def _label_few(self, X: NDArray[Any]) -> NDArray[np.int32] | None:
        """Labels of a few dense rows; None if they are many, or rounding leaves one open."""
        if not 0 < len(X) * self.operator_.nnz <= _FEW:
            return None
        kept = self.operator_.kept
        few = kept.get("few rows")
        if few is None or few.offset is not self.offset_:
            few = kept["few rows"] = FewRows(self.factors_, self.offset_)
        return few.label(X)

    def _predict(self, rows: Any) -> NDArray[np.int32]:
        if not sp.issparse(rows):
            labels = self._label_few(rows)
            if labels is not None:
                return labels
        table = self._table()
        large = n_multiplications(rows, len(table)) >= SMALL_WORK
        if large and self.assignment_ == "factored" and rows.dtype == table.dtype:
            with self._threads(n_multiplications(rows, len(table))):
                labels = label_in_one_pass(rows, self.factors_, self.offset_, table)
            if labels is not None:
                return labels
        check_finite(self, rows)
        return self._label(rows, np.ones(rows.shape[0]))[0]

    def predict_one(self, x: NDArray[Any]) -> int:
        """Nearest factored centroid of one row, without threads and almost without checks.

        The label is that of :meth:`predict`.

        Parameters
        ----------
        x : array-like of shape (n_features,)
            Contiguous arrays of float32 or float64 are used as they are; anything else is copied.

        Returns
        -------
        label : int
            Index of the nearest factored centroid.
        """
        row = one_row(self, x)[None]
        labels = self._label_few(row)
        return int((self._predict(row) if labels is None else labels)[0])

    # --- parameters and starts ---------------------------------------------------------------

    def _passes(self) -> int:
        # Plain k-means, the factorization, and the iterations after it.
        return 4

    def _check_own_parameters(self) -> None:
        super()._check_own_parameters()
        check_parameters(self)

    @property
    def _shift_tol(self) -> float:
        return 0.0  # the objective decides when to stop, see _report

    def _report(
        self, step: Step, progress: FitProgress, codebook: BaseCodebook, state: QuickState
    ) -> bool:
        state.trace.append(step.inertia)
        trace = state.trace[-_GAIN_WINDOW - 1 :]
        settled = len(trace) > _GAIN_WINDOW and trace[-1] >= trace[0] * (1 - float(self.tol))
        return super()._report(step, progress, codebook, state) or settled

    def _start(self, state: QuickState) -> FactoredCodebook:
        runner, rng = state.runner, state.rng
        plain = descend(runner, self._free_start(state), max_iter=_PLAIN_ITER, tol=_PLAIN_TOL)
        means = plain.codebook.book.numerators.astype(np.float64)
        means[np.abs(means) <= _ZERO * np.abs(means).max(axis=0)] = 0.0
        weights = balanced_weights(runner.masses(plain.labels, len(means)))
        if state.plan is None:
            state.plan = choose_plan(
                means,
                weights,
                rng,
                method=self.method,
                n_factors=self.n_factors,
                effort=float(self.effort),
                level=self._level((len(means), runner.frame.n_features)),
                n_nonzeros=self.n_nonzeros,
                offset=self.offset,
                dtype=runner.frame.dtype,
            )
        plan, state.trace = state.plan, []
        factors = plan.factorize(means, weights, rng)
        update = plan.update() if self.refit else None
        codebook = FactoredCodebook(runner.frame, factors, plan.offset, update)
        state.notes["start_inertia"] = plain.inertia
        if self.verbose:
            logger.info(
                "k-means: inertia %.6g; factors with %d non-zeros",
                plain.inertia,
                codebook.n_parameters,
            )
        return codebook

    def _level(self, shape: tuple[int, int]) -> int:
        """The sparsity level, where it determines anything."""
        if self.n_nonzeros is None or self.method == "palm4msa" or is_chain(self.n_factors):
            return check_sparsity(self.sparsity_level, shape, stacklevel=6 + HAS_CALLBACKS)
        return 1

    def _refined(self, run: Run, state: FitState) -> Run:
        """Give rows to empty clusters, and keep the outcome if its objective is lower."""
        remaining, runner, old = self.max_iter - run.n_iter, state.runner, run.codebook
        assert isinstance(old, FactoredCodebook)
        if old.update is None or remaining <= 0:
            return run
        counts = runner.mass_totals(run.labels, old.n_clusters).counts
        runner.adopt(run.labels, old)
        rows, targets = relocations(runner, old, counts)
        if not len(rows):
            return run
        labels = run.labels.copy()
        labels[rows] = targets
        codebook = FactoredCodebook(
            runner.frame, old.factors, old.offset, old.update, n_updates=old.n_updates
        )
        codebook.refit(runner.statistics_of(labels, codebook))
        other = descend(runner, codebook, max_iter=remaining, tol=0.0)
        if not other.inertia < run.inertia:
            return run
        other.steps = run.steps + [s for s in other.steps if s.inertia <= run.steps[-1].inertia]
        other.notes = run.notes
        return other

    def _warn(self, run: Run) -> None:
        n_found = len(np.unique(run.labels))
        if n_found == self.n_clusters or run.notes["start_inertia"] == 0:
            return warn_of_missing_clusters(run.labels, self.n_clusters)
        warnings.warn(
            f"Number of distinct clusters ({n_found}) found smaller than n_clusters "
            f"({self.n_clusters}). Factors with {run.codebook.n_parameters} non-zeros cannot tell "
            "more apart, or X has duplicate points; raise n_nonzeros or sparsity_level, or ask "
            "for fewer clusters.",
            ConvergenceWarning,
            stacklevel=3 + HAS_CALLBACKS,
        )

    # --- labels ------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        # What follows from the factors.
        derived = ("operator_", "_known_table")
        return {name: part for name, part in super().__getstate__().items() if name not in derived}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if "factors_" in vars(self):
            self.operator_: FastOperator = FastOperator(self.factors_)
            self.factors_: list[Any] = list(self.operator_.factors)  # stored once
            self._known_table: NDArray[Any] | None = None

    def _table(self) -> NDArray[Any]:
        """Factored centroids, multiplied out."""
        table: NDArray[Any] | None = self._known_table
        if table is None:  # of a model that was loaded, once
            table = multiplied_out(self.factors_, self.offset_, self.factors_[0].dtype)
            self._known_table = table
        return table

    @property
    def _n_centroids(self) -> int:
        return self.factors_[0].shape[0]

    def _fitted_vectors(self) -> list[NDArray[Any]]:
        return [self._table()]

    def _codebook(self, frame: Frame, vectors: list[NDArray[Any]]) -> BaseCodebook:
        if self.assignment_ == "dense" or frame.dtype != self.factors_[0].dtype:
            return make_codebook(frame, vectors[0])
        return FactoredCodebook.given(frame, self.factors_, self.offset_, vectors[0])

    def _kind_of(self, codebook: BaseCodebook) -> str | None:
        return "factors" if isinstance(codebook, FactoredCodebook) else None

    def _inertia_codebook(self, frame: Frame, codebook: BaseCodebook) -> BaseCodebook:
        return codebook if self._means is None else make_codebook(frame, self._means)

    def _vectors(self, codebook: BaseCodebook, state: FitState) -> dict[str, Any]:
        frame = state.frame
        assert isinstance(codebook, FactoredCodebook)
        factors = codebook.to_factors(frame)
        offset = frame.external(codebook.offset[None])[0]
        table = frame.external(codebook.centers)
        if frame.unit != 1.0:  # small numbers have digits here that they lack beside large ones
            table = multiplied_out(factors, offset, frame.dtype)
        wide, free = table.astype(np.float64), offset.astype(np.float64)
        # |x - offset - v|² less what all v have in common: |v|² + 2 v·offset - 2 v·x.
        with np.errstate(over="ignore"):
            offsets = (np.sum(wide * wide, axis=1) - free @ free).astype(frame.dtype)
        operator = FastOperator(factors)
        return {
            "factors_": list(operator.factors),  # stored once
            "offset_": offset,
            "operator_": operator,
            "assignment_": fewer_multiplications(codebook),
            "_means": None,
            "_known_table": table,
            "_offsets": offsets,
        }

    def _attributes(self, run: Run, state: FitState) -> dict[str, Any]:
        attributes = self._vectors(run.codebook, state)
        operator, offset = attributes["operator_"], attributes["offset_"]
        check_range("Factored centroids", [attributes["_known_table"]])
        means, inertia = None, run.inertia
        if self.centers == "means":
            means, inertia = _means(run, state.runner)
        stored = 0 if means is None else means.size
        return attributes | {
            "_means": means,
            "labels_": run.labels,
            "inertia_": inertia,
            "kmeans_inertia_": run.notes["start_inertia"],
            "n_nonzeros_": operator.nnz,
            "compression_": operator.compression,
            "flops_per_row_": 2 * operator.nnz + 2 * operator.shape[0],
            "assignment_": shorter_time(state.runner, run.codebook),
            "n_iter_": run.n_iter,
            "n_parameters_": operator.nnz + int(np.count_nonzero(offset)) + stored,
            "history_": self._history(run),
        }


def _means(run: Run, runner: BaseRunner) -> tuple[NDArray[Any], float]:
    """Means of the labeled rows in the user's coordinates, and the inertia about them."""
    statistics = runner.statistics_of(run.labels, run.codebook)
    means = runner.frame.external(run.codebook.means(statistics))
    inertia = runner.measure(make_codebook(runner.frame, means))
    return means, runner.frame.to_user(inertia)
