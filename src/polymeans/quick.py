"""QuicK-means: centroids that are a product of sparse factors."""

import time
import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import assert_all_finite
from sklearn.utils.validation import check_is_fitted

from polymeans._base import FitState, is_name, logger, work_of
from polymeans._compat import HAS_CALLBACKS, FitProgress
from polymeans._seeded import SeededEstimator
from polymeans._validation import check_choice, check_integer, check_positive, check_rows
from polymeans.codebooks.base import BaseCodebook
from polymeans.codebooks.factored import FactoredCodebook, balanced_weights, multiplied_out
from polymeans.core.frame import Frame
from polymeans.core.threads import running_threads
from polymeans.engine.assignment import make_assigner, make_codebook
from polymeans.engine.factored_assigner import FactoredScores, unmeasured_block
from polymeans.engine.labelling import SMALL_WORK
from polymeans.engine.lloyd import Run, Step, descend
from polymeans.engine.relocation import relocations
from polymeans.engine.runners import BaseRunner
from polymeans.engine.survey import glance
from polymeans.factorization._checks import (
    DEFAULT_LEVEL,
    check_n_factors,
    check_problem,
    check_sparsity,
)
from polymeans.factorization.factorize import METHODS, budget_for, factorize, factorize_in_two
from polymeans.factorization.operator import FastOperator
from polymeans.factorization.two_factors import trial_error
from polymeans.factorization.update import ChainUpdate, PairUpdate, PalmUpdate

CENTERS = ("factored", "means")
OFFSETS = ("auto", "zero", "median")

#: Iterations and tolerance of the plain k-means that everything starts from.
_PLAIN_ITER, _PLAIN_TOL = 300, 1e-4

#: Steps over which the objective must have fallen noticeably: supports are selected within them.
_STEPS_OF_GAIN = 4

#: Sweeps of palm4MSA in each iteration of the paper's scheme.
_PALM_SWEEPS = 50

#: Sizes whose squares, and sums of them, are far from leaving the range of float32.
_ORDINARY = (1e-12, 1e12)

#: Multiplications below which it is not worth measuring which way of labelling is faster, and the
#: rows it is measured on.
_WORTH_MEASURING, _MEASURED_ROWS = 2**24, 8192


@dataclass(frozen=True)
class _Plan:
    """What all starts of a fit have in common."""

    offset: NDArray[np.float64]
    budget: int  #: non-zeros
    level: int  #: sparsity level, no larger than there is room for


@dataclass
class QuickState(FitState):
    """One plan for all starts, and how the present one is getting on."""

    plan: _Plan | None = None
    trace: list[float] = field(default_factory=list)  #: objective of the present start


class QuickKMeans(SeededEstimator):
    """k-means whose centroids are a product of sparse factors: small, and fast to assign to.

    **Idea.** All centroids together are a k x d matrix; it is kept as ``offset + S_1 S_2 ... S_Q``
    with sparse factors [1]_. A new row needs as many multiplications as the factors have non-zeros,
    not k d. Given labels, the best factors are a weighted factorization of the cluster means, so
    Lloyd's loop stays what it is: assign, add up, refit; the objective never rises. The paper has
    chains of ``log2`` many factors found by palm4MSA. Here two factors share one budget of
    non-zeros and their supports are selected (:func:`polymeans.factorization.factorize`), which
    loses a fraction as much at the same size.

    **Use when** there are many clusters or many features and rows keep coming: quantization,
    routing, coarse search, Nystroem landmarks. **Do not use when** d is small (there is nothing to
    save) or labels are needed once: plain :class:`KMeans` is the start of this fit.

    **Cost.** That of :class:`KMeans`, then seconds for the factorization (it grows with
    k d min(k, d), not with the rows), then up to ``max_iter`` iterations. Assigning a row:
    ``n_nonzeros_`` multiplications.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of centroids.
    sparsity_level : int, default=5
        The paper's: non-zeros per row or column of each of its factors. Here it stands for the
        number of non-zeros the paper's chain has at least,
        ``s * (k + (log2(max(k, d)) - 2) * min(k, d) + d)``. 3 is small, 5 loses little.
    n_nonzeros : int or None, default=None
        Non-zeros of all factors together, instead of ``sparsity_level``.
    n_factors : int or "auto", default="auto"
        "auto": two, or the paper's ``int(log2(max(k, d)))`` for method="palm4msa".
    method : {"select", "palm4msa"}, default="select"
        How supports are found. "palm4msa": as in the paper, for comparison.
    centers : {"factored", "means"}, default="factored"
        "factored": the centroids are the product itself. "means": the product only decides
        labels; ``cluster_centers_`` are the exact means of the labelled rows, and the inertia is
        measured from them, often as low as that of plain k-means.
    offset : {"auto", "zero", "median"}, default="auto"
        What is common to all centroids. It costs nothing when rows are assigned. "median": the
        median of k-means' centroids; "auto": whichever factorizes better.
    refit : bool, default=True
        False: the factors of converged k-means are kept as they are.
    effort : float, default=1.0
        Multiple of the usual number of rounds that look for factors at the start; 0.2 is a quick
        look.
    init : {"k-means++", "k-means||", "afk-mc2", "random"}, array-like or callable, \
            default="k-means++"
        Where plain k-means begins, as in :class:`KMeans`.
    n_init : "auto" or int, default="auto"
        Number of starts, of which the best is kept. "auto": 1 for the careful methods and for
        arrays, 10 for "random" and callables.
    max_iter : int, default=50
        Iterations with factored centroids at most.
    tol : float, default=1e-4
        Stop when four iterations together have lowered the objective by less than this share.
    random_state : int, RandomState instance or None, default=None
        Determines the starts.
    n_threads : int or None, default=None
        Threads to use; resolved anew in each call. None: all cores, or one inside a joblib worker.
        -1: all cores. The result does not depend on it.
    verbose : int, default=0
        1 logs each start, 2 each iteration, to the logger "polymeans" at level INFO.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Centroids in the dtype of the data, multiplied out when asked for (``centers="means"``:
        stored).
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
    A cluster that loses all rows gets a row that is badly served, if that lowers the objective.

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
        init: Any = "k-means++",
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
        """Centroids, multiplied out when asked for."""
        if "factors_" not in vars(self):
            raise AttributeError("cluster_centers_ are there after fit.")
        return self._table() if self._means is None else self._means

    def predict(self, X: Any) -> NDArray[np.int32]:
        """Nearest factored centroid of each row.

        Parameters
        ----------
        X : {array-like, CSR matrix or array} of shape (n_samples, n_features)
            Rows to label.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Index of the nearest factored centroid, the lowest among equals.
        """
        check_is_fitted(self)
        rows = check_rows(self, X, reset=False, finite=False)
        table = self._table()
        large = work_of(rows, len(table)) >= SMALL_WORK
        if large and self.assignment_ == "factored" and rows.dtype == table.dtype:
            labels = self._label_in_one_pass(rows, table)
            if labels is not None:
                return labels
        assert_all_finite(rows, estimator_name=type(self).__name__, input_name="X")
        return self._label(rows, np.ones(rows.shape[0]))[0]

    def _label_in_one_pass(self, X: Any, table: NDArray[Any]) -> NDArray[np.int32] | None:
        """Labels of dense rows of ordinary size, whatever else they hold is for others."""
        largest = float(np.abs(table).max())
        if sp.issparse(X) or not (largest == 0 or _ORDINARY[0] <= largest <= _ORDINARY[1]):
            return None
        labels = np.full(len(X), -1, dtype=np.int32)
        with self._threads(work_of(X, len(table))):
            rows = unmeasured_block(X, table)
            codebook = FactoredCodebook.given(rows.frame, self.factors_, self.offset_, table)
            scores = FactoredScores(rows, codebook)
            scores.assign(codebook, labels, labels)
        return labels if scores.finite else None

    def predict_one(self, x: NDArray[Any]) -> int:
        """Nearest factored centroid of one row, with as little around it as possible.

        Microseconds instead of the milliseconds that checks and threads of :meth:`predict` cost.
        Computed in the precision of the data: equally near centroids, as far as rounding can tell,
        get either. For float32 rows far from the origin that is many; ``offset="median"`` helps.

        Parameters
        ----------
        x : ndarray of shape (n_features,)
            Contiguous, of the dtype of the data the model was fitted to. Not checked.

        Returns
        -------
        label : int
            Index of the nearest factored centroid.
        """
        return self.operator_.nearest_one(x, self._offsets)

    # --- what the base asks ------------------------------------------------------------------

    def _passes(self) -> int:
        return 4

    def _check_own_parameters(self) -> None:
        super()._check_own_parameters()
        check_integer("sparsity_level", self.sparsity_level, 1)
        check_choice("method", self.method, METHODS)
        check_choice("centers", self.centers, CENTERS)
        check_choice("offset", self.offset, OFFSETS)
        if not is_name(self.n_factors, "auto"):
            check_n_factors(self.n_factors)
        check_positive("effort", self.effort)
        if not isinstance(self.refit, bool | np.bool_):
            raise TypeError(f"refit must be True or False, got {self.refit!r}.")
        if self.n_nonzeros is not None:
            check_integer("n_nonzeros", self.n_nonzeros, 2, "Each factor needs an entry.")
            if self.method == "palm4msa":
                raise ValueError(
                    f'n_nonzeros={self.n_nonzeros} was given, but method="palm4msa" counts entries '
                    'of rows and columns. Use sparsity_level, or method="select".'
                )

    @property
    def _shift_tol(self) -> float:
        return 0.0  # the objective tells better, see _report

    def _report(
        self, step: Step, progress: FitProgress, codebook: BaseCodebook, state: QuickState
    ) -> bool:
        state.trace.append(step.inertia)
        trace = state.trace[-_STEPS_OF_GAIN - 1 :]
        settled = len(trace) > _STEPS_OF_GAIN and trace[-1] >= trace[0] * (1 - self.tol)
        return super()._report(step, progress, codebook, state) or settled

    def _start(self, state: QuickState) -> FactoredCodebook:
        runner, rng = state.runner, state.rng
        plain = descend(runner, self._free_start(state), max_iter=_PLAIN_ITER, tol=_PLAIN_TOL)
        means = plain.codebook.book.numerators.astype(np.float64)
        # What summing about the rows' origin leaves of a zero is no entry.
        means[np.abs(means) <= 1e-12 * np.abs(means).max()] = 0.0
        weights = balanced_weights(runner.masses(plain.labels, len(means)))
        if state.plan is None:
            state.plan = self._plan(means, weights, runner.frame, rng)
        plan, state.trace = state.plan, []
        factors = self._factorize(means - plan.offset, weights, plan, rng)
        update = self._update(plan) if self.refit else None
        codebook = FactoredCodebook(runner.frame, factors, plan.offset, update)
        state.notes["start_inertia"] = plain.inertia
        if self.verbose:
            logger.info(
                "k-means: inertia %.6g; factors with %d non-zeros",
                plain.inertia,
                codebook.n_parameters,
            )
        return codebook

    def _plan(
        self,
        means: NDArray[np.float64],
        weights: NDArray[np.float64],
        frame: Frame,
        rng: np.random.RandomState,
    ) -> _Plan:
        level = 1
        if self.n_nonzeros is None or self.method == "palm4msa" or self._in_a_chain:
            shape = (len(means), frame.n_features)
            level = check_sparsity(self.sparsity_level, shape, stacklevel=6 + HAS_CALLBACKS)
        chain = int(self.n_factors) if self._in_a_chain else None
        budget = budget_for(means, self.n_nonzeros, level, chain)
        zero, median = np.zeros(means.shape[1]), np.median(means, axis=0)
        median = median.astype(frame.dtype).astype(np.float64)
        offset = median if self.offset == "median" else zero
        # The paper knows no offset; and where the median is zero there is nothing to choose.
        if self.offset == "auto" and self.method == "select" and median.any():
            seed = rng.randint(2**31 - 1)  # the same columns are drawn for both
            problems = [check_problem(means - choice, weights) for choice in (zero, median)]
            errors = [
                problem.unit**2 * trial_error(problem.target, budget, running_threads(), seed)
                for problem in problems
            ]
            offset = median if errors[1] < errors[0] else zero
        return _Plan(offset, budget, level)

    @property
    def _in_a_chain(self) -> bool:
        return not is_name(self.n_factors, "auto") and self.n_factors > 2

    def _factorize(
        self,
        target: NDArray[np.float64],
        weights: NDArray[np.float64],
        plan: _Plan,
        rng: np.random.RandomState,
    ) -> tuple[sp.csr_array, ...]:
        if self.method == "select" and not self._in_a_chain:
            problem, threads = check_problem(target, weights), running_threads()
            return factorize_in_two(problem, plan.budget, threads, rng, self.effort).factors
        return factorize(
            target,
            n_nonzeros=plan.budget if self.method == "select" else None,
            sparsity_level=plan.level,
            n_factors=self.n_factors,
            method=self.method,
            weights=weights,
        ).factors

    def _update(self, plan: _Plan) -> Any:
        if self.method == "palm4msa":
            return PalmUpdate(plan.level, _PALM_SWEEPS)
        if self._in_a_chain:
            return ChainUpdate(plan.budget)
        return PairUpdate(plan.budget)

    def _refined(self, run: Run, state: FitState) -> Run:
        """Rows for empty clusters, if that lowers the objective in the end."""
        remaining, runner, old = self.max_iter - run.n_iter, state.runner, run.codebook
        assert isinstance(old, FactoredCodebook)
        if old.update is None or remaining <= 0:
            return run
        counts = runner.statistics_of(run.labels, old).counts
        rows, targets = relocations(runner, old, counts)
        if not len(rows):
            return run
        labels = run.labels.copy()
        labels[rows] = targets
        codebook = FactoredCodebook(runner.frame, old.factors, old.offset, old.update)
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
            return super()._warn(run)
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
        # What factors can be multiplied out to need not be kept.
        return {**super().__getstate__(), "_known_table": None}

    def _table(self) -> NDArray[Any]:
        """Factored centroids, multiplied out."""
        if self._known_table is not None:
            return self._known_table
        return multiplied_out(self.factors_, self.offset_, self.factors_[0].dtype)

    def _fitted_vectors(self) -> list[NDArray[Any]]:
        return [self._table()]

    def _codebook(self, frame: Frame, vectors: list[NDArray[Any]]) -> BaseCodebook:
        if self.assignment_ == "dense" or frame.dtype != self.factors_[0].dtype:
            return make_codebook(frame, vectors[0])
        return FactoredCodebook.given(frame, self.factors_, self.offset_, vectors[0])

    def _kind_of(self, codebook: BaseCodebook) -> str | None:
        return "factors" if isinstance(codebook, FactoredCodebook) else None

    def _yardstick(self, frame: Frame, codebook: BaseCodebook) -> BaseCodebook:
        return codebook if self._means is None else make_codebook(frame, self._means)

    def _vectors(self, codebook: BaseCodebook, state: FitState) -> dict[str, Any]:
        frame = state.frame
        assert isinstance(codebook, FactoredCodebook)
        factors = codebook.to_factors(frame)
        offset = frame.external(codebook.offset[None])[0]
        table = frame.external(codebook.centers)
        wide, free = table.astype(np.float64), offset.astype(np.float64)
        # |x - offset - v|² less what all v have in common: |v|² + 2 v·offset - 2 v·x.
        with np.errstate(over="ignore"):
            offsets = (np.sum(wide * wide, axis=1) - free @ free).astype(frame.dtype)
        return {
            "factors_": list(factors),
            "offset_": offset,
            "operator_": FastOperator(factors),
            "assignment_": _cheaper(codebook),
            "_means": None,
            "_known_table": table,
            "_offsets": offsets,
        }

    def _attributes(self, run: Run, state: FitState) -> dict[str, Any]:
        attributes = self._vectors(run.codebook, state)
        operator, offset = attributes["operator_"], attributes["offset_"]
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
            "assignment_": _faster(state.runner, run.codebook),
            "n_iter_": run.n_iter,
            "n_parameters_": operator.nnz + int(np.count_nonzero(offset)) + stored,
            "history_": self._history(run),
        }


def _means(run: Run, runner: BaseRunner) -> tuple[NDArray[Any], float]:
    """Means of the labelled rows in the user's coordinates, and the inertia about them."""
    statistics = runner.statistics_of(run.labels, run.codebook)
    means = runner.frame.external(run.codebook.means(statistics))
    inertia = runner.measure(make_codebook(runner.frame, means))
    return means, runner.frame.to_user(inertia)


def _cheaper(codebook: FactoredCodebook) -> str:
    """Which way of labelling rows takes fewer multiplications."""
    dense = codebook.n_clusters * codebook.n_features
    return "factored" if 2 * codebook.n_parameters < dense else "dense"


def _faster(runner: BaseRunner, codebook: FactoredCodebook) -> str:
    """Which way of labelling rows is faster, measured where it matters."""
    if runner.n_stored * codebook.n_clusters < _WORTH_MEASURING:
        return _cheaper(codebook)
    # All that predict has to do, in the rows' own coordinates.
    n_rows = min(_MEASURED_ROWS, runner.frame.n_samples)
    X = runner.rows_at(np.arange(n_rows))
    weights, labels = np.ones(n_rows), np.full(n_rows, -1, dtype=np.int32)
    given = codebook.factors, codebook.offset, codebook.centers

    def factored() -> None:
        sparse = runner.frame.is_sparse
        new = glance(X, weights) if sparse else unmeasured_block(X, codebook.centers)
        book = FactoredCodebook.given(new.frame, *given)
        FactoredScores(new, book).assign(book, labels, labels)

    def dense() -> None:
        new = glance(X, weights)
        book = make_codebook(new.frame, codebook.centers)
        make_assigner(new, book, "lloyd").assign(book, labels, labels)

    ways = {"factored": factored, "dense": dense}
    seconds = dict.fromkeys(ways, np.inf)
    for _ in range(3):  # the first time may have to compile
        for name, label in ways.items():
            began = time.perf_counter()
            label()
            seconds[name] = min(seconds[name], time.perf_counter() - began)
    faster = min(seconds, key=seconds.__getitem__)
    logger.debug("predict will use %s centroids: %s seconds", faster, seconds)
    return faster
