"""Estimators that learn from one batch of rows after another."""

from abc import abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polymeans._base import CentroidEstimator
from polymeans._fit_state import FitState, all_or_nothing, matrices_explained
from polymeans._rows import RowsInfo, refuse_parts
from polymeans._validation import (
    check_initial_centers,
    check_n_threads,
    check_range,
    check_rows,
    check_seed,
    check_weights,
)
from polymeans.engine.batch_runner import BatchRunner
from polymeans.engine.labeling import n_multiplications
from polymeans.engine.lloyd import Run
from polymeans.engine.online import Memory, absorb
from polymeans.engine.online_refit import best_centroids, best_protocentroids
from polymeans.engine.runners import LocalRunner

#: What partial_fit keeps beside the weights of clusters: a fit removes it.
_REMEMBERED = ("_seen_means", "_given")


class BatchEstimator(CentroidEstimator):
    """Base of estimators with ``partial_fit`` and parameters ``half_life`` and ``warm_start``."""

    def partial_fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from one batch of rows, and remember what earlier batches came to.

        **Idea.** Each row of the batch is given to its nearest centroid. Masses and means of what
        was seen decay (``half_life``), those of the batch are added, and the centroids become the
        best ones for both together. A row keeps the cluster it got when it was seen.

        **Use when** rows arrive over time, clusters move (with ``half_life``), or one pass over the
        rows has to do. **Do not use when** the rows can be read again: this is an approximation.
        The result depends on the order and the size of the batches, and its inertia is above that
        of :meth:`fit`, which can start from it (``warm_start``).

        **Cost.** Two assignments of the batch, and ``n_clusters * n_features`` float64 numbers
        that are kept beside the centroids (sums of protocentroids: as many as these have).

        Parameters
        ----------
        X : {array-like, CSR matrix or array} of shape (n_samples, n_features)
            Rows. float32 stays float32; anything else becomes float64.
        y : Ignored
            Present by convention.
        sample_weight : array-like of shape (n_samples,), default=None
            How much each row counts. None: all alike.

        Returns
        -------
        self : estimator
            Fitted estimator. If the call fails or is interrupted, the estimator is as it was.

        Notes
        -----
        Of blocks and Dask collections, pass one part after the other.

        The first call finds a start in its batch by ``init``, given centroids as they are. Give it
        some rows for each cluster: fewer rows than clusters are allowed, and clusters without any
        then wait for rows of later batches that are far from all centroids. After :meth:`fit` the
        first call goes on from the fitted centroids, which weigh as much as their rows.

        A cluster of which nothing is left (by ``half_life``: less than a hundredth of an average
        row of the batch) and that gets no row is moved to a row far from its centroid, unless its
        place was given by ``init`` and it had no row yet.

        ``labels_`` and ``inertia_`` are those of this batch under the new centroids. ``n_init``,
        ``max_iter``, ``tol`` and callbacks are not used. Centroids are float64 if any batch was.
        The same batches give the same bits for any number of threads.

        Examples
        --------
        >>> import numpy as np
        >>> from polymeans import KMeans
        >>> rng = np.random.default_rng(0)
        >>> model = KMeans(n_clusters=2, random_state=0, half_life=500)
        >>> for step in range(20):
        ...     drift = 0.1 * step  # one of two clusters moves
        ...     left, right = rng.normal(0, 0.1, (50, 1)), rng.normal(5 + drift, 0.1, (50, 1))
        ...     model = model.partial_fit(np.concatenate([left, right]))
        >>> model.n_steps_
        20
        >>> np.sort(model.cluster_centers_.ravel()).round(1) + 0.0
        array([0. , 6.4])
        """
        refuse_parts(X)
        with all_or_nothing(self):
            first = not self._has_centroids
            if first:
                self._check_parameters()
                self._fix_parameters()
            else:  # others are not used any more
                self._check_own_parameters()
                check_n_threads(self.n_threads)
                self._check_unchanged()
            rows = check_rows(self, X, reset=first)
            weights = check_weights(sample_weight, rows)
            with matrices_explained(self):
                attributes = self._learn(rows, weights, first)
            for name, value in attributes.items():
                setattr(self, name, value)
        return self

    # --- what subclasses give ----------------------------------------------------------------

    @abstractmethod
    def _check_unchanged(self) -> None:
        """Raise if parameters that say what fitted centroids are have changed since."""

    @abstractmethod
    def _labeled(self, vectors: list[NDArray[Any]], labels: NDArray[np.int32]) -> dict[str, Any]:
        """Attributes of centroids made of these vectors, and of rows with these labels."""

    @property
    def _combined_by(self) -> str:
        """How vectors combine, where there are several sets of them."""
        return "sum"

    def _check_first_start(self, info: RowsInfo) -> Any:
        """The start for a first batch, which may have fewer rows than there are clusters."""
        return self._check_start(info)

    # --- the parts of a step -----------------------------------------------------------------

    @property
    def _has_centroids(self) -> bool:
        return "cluster_weights_" in vars(self)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.warm_start and self._has_centroids:
            self._check_unchanged()

    def _warm_vectors(self, info: RowsInfo) -> list[NDArray[Any]] | None:
        """Where a fit with ``warm_start`` begins; None: nothing is fitted, or it is not wanted."""
        if not (self.warm_start and self._has_centroids):
            return None
        choices, meaning = "False for rows like these", "(n_clusters, n_features)"
        return [
            check_initial_centers(
                "warm_start", part, (len(part), info.shape[1]), meaning, choices, info.dtype
            )
            for part in self._fitted_vectors()
        ]

    def _fix_parameters(self) -> None:
        super()._fix_parameters()
        for name in _REMEMBERED:
            if name in vars(self):
                delattr(self, name)

    def _learn(self, X: Any, weights: NDArray[np.float64], first: bool) -> dict[str, Any]:
        """What a batch leaves on the estimator."""
        # Two assignments; the first batch takes a start as well.
        work = n_multiplications(X, self._n_requested) * (2 + (self._passes() if first else 0))
        with self._threads(work), np.errstate(all="ignore"):
            memory = self._begin(X, weights) if first else self._remembered()
            vectors = self._fitted_vectors()
            # Of two dtypes the wider one counts, as for predictions.
            if X.dtype != vectors[0].dtype:
                X = X.astype(np.float64, copy=False)
                vectors = [part.astype(np.float64, copy=False) for part in vectors]
            largest = 0.0 if self._spherical else self._largest_center(vectors)
            runner = BatchRunner(X, weights, self._spherical, largest, memory.by_set)
            codebook = self._codebook(runner.frame, vectors)
            runner.begin(codebook)
            runner.assign(codebook)
            half_life = None if self.half_life is None else float(self.half_life)
            memory = absorb(runner, codebook, memory, half_life)
            if len(vectors) > 1:
                vectors = best_protocentroids(vectors, memory, self._combined_by)
            else:
                vectors = [best_centroids(vectors[0], memory, self._spherical)]
            check_range("Centroids", vectors)
            codebook = self._codebook(runner.frame, vectors)
            runner.assign(codebook)
            inertia = runner.measure_in_user_units(codebook)
        return self._labeled(vectors, runner.labels()) | {
            "cluster_weights_": memory.mass,
            "inertia_": self._inertia_scale() * inertia,
            "n_steps_": getattr(self, "n_steps_", 0) + 1,
            "_seen_means": memory.means,
            "_given": memory.given,
        }

    def _begin(self, X: Any, weights: NDArray[np.float64]) -> Memory:
        """Set the vectors of a start in the first batch; nothing is remembered yet."""
        info = RowsInfo.of((X, weights))
        start = self._check_first_start(info)
        given = not isinstance(start, str) and not callable(start)
        state = self._state_class((X, weights), start, check_seed(self.random_state))
        largest = self._largest_center(start) if given and not self._spherical else 0.0
        state.runner = LocalRunner(X, weights, self._spherical, largest, self._unit_of)
        for name, value in self._vectors(self._start(state), state).items():
            setattr(self, name, value)
        return Memory.empty(self._set_sizes, self._by_set, info.shape[1], given)

    @property
    def _set_sizes(self) -> tuple[int, ...]:
        return tuple(len(part) for part in self._fitted_vectors())

    @property
    def _by_set(self) -> bool:
        """Whether sums of the rows of each vector are enough."""
        return len(self._set_sizes) > 1 and self._combined_by == "sum"

    def _remembered(self) -> Memory:
        """What earlier batches, or a fit, have left."""
        mass = self.cluster_weights_
        if "_seen_means" not in vars(self):
            return Memory.of_centroids(self._fitted_vectors(), self._combined_by, mass)
        return Memory(self._set_sizes, self._by_set, mass, self._seen_means, self._given)


def weights_of_clusters(run: Run, state: FitState) -> dict[str, Any]:
    """The attribute with the weight of each cluster's rows after a fit, in the user's units.

    Nothing where the runner does not know them, as of rows at other sites.
    """
    if "masses" not in getattr(state.runner, "provides", ()):
        return {}
    masses = state.runner.masses(run.labels, run.codebook.n_clusters)
    return {"cluster_weights_": masses * state.runner.frame.weight_unit}
