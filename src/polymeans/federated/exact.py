"""The exact method: Lloyd's loop with the rows at sites, bit for bit the fit of all rows together.

Sites send sums, counts and one scalar; the server refits the centroids and sends them back. Sums
are exact before they are rounded once, so neither the number of sites nor their order matters.
"""

import logging
from typing import Any

import numpy as np
from sklearn.base import clone

from polymeans._rows import RowsInfo
from polymeans._validation import check_seed
from polymeans.engine.lloyd import Run, Step, descend
from polymeans.federated.coordinator import Coordinator
from polymeans.federated.placement import SitesPlacement
from polymeans.federated.runner import SiteRunner
from polymeans.federated.starts import given_start, start_vectors
from polymeans.federated.totals import marginal

logger = logging.getLogger("polymeans")

#: What only rows could tell: it stays at the sites.
_OF_ROWS = ("labels_", "protolabels_")


class _NoCallbacks:
    """Callbacks of estimators see rows, which are not here."""

    def step(self, attributes: Any) -> bool:
        return False


def fit_exactly(
    estimator: Any,
    coordinator: Coordinator,
    *,
    start: str = "auto",
    rounds: int | None = None,
) -> Any:
    """Fit an estimator to the rows of all sites.

    Parameters
    ----------
    estimator : KMeans, KhatriRaoKMeans, L1KMeans or QuickKMeans
        Not changed.
    coordinator : Coordinator
    start : {"auto", "summaries", "k-means||"}, default="auto"
        Where to begin unless ``init`` of the estimator has centroids, see
        :mod:`polymeans.federated.starts`.
    rounds : int or None, default=None
        Iterations at most. None: ``max_iter`` of the estimator.

    Returns
    -------
    estimator
        A fitted copy, without labels: these are known at the sites alone (``predict``).
    """
    model = clone(estimator)
    model._check_parameters()
    model._fix_parameters()
    placement = SitesPlacement(coordinator)
    n_samples, n_features = placement.shape
    info = RowsInfo(placement.shape, placement.dtype, n_samples * n_features, True)
    worker = _worker(model, coordinator, placement, start)
    checked, rng = worker._check_start(info), check_seed(worker.random_state)
    state = worker._state_class((None, None), checked, rng)
    max_iter = model.max_iter if rounds is None else min(int(rounds), model.max_iter)
    with worker._threads(info.n_stored * worker._n_requested), np.errstate(all="ignore"):
        largest = 0.0 if worker._spherical else worker._largest_center(checked)
        state.runner = runner = SiteRunner(
            coordinator, worker._spherical, largest, worker._unit_of, placement=placement
        )

        def report(step: Step, codebook: Any) -> bool:
            coordinator.rounds[-1].inertia = worker._inertia_scale() * step.inertia
            logger.info("inertia %.6g after %d rounds", step.inertia, len(coordinator.rounds))
            return worker._report(step, _NoCallbacks(), codebook, state)

        run = descend(
            runner,
            worker._start(state),
            algorithm="lloyd",
            max_iter=max_iter,
            tol=worker._shift_tol,
            on_step=report,
        )
        run.notes = state.notes
        run = worker._refined(run, state)
        attributes = worker._attributes(run, state)
    coordinator.rounds[-1].inertia = attributes["inertia_"]
    return finished(model, attributes, n_features, run, runner)


def finished(model: Any, attributes: dict[str, Any], n_features: int, run: Run, runner: Any) -> Any:
    """The model with what a fit leaves on it, but for what belongs to rows."""
    for name, value in attributes.items():
        if name not in _OF_ROWS:
            setattr(model, name, value)
    model.n_features_in_ = n_features
    members, sizes = runner.members(), run.codebook.sizes
    if len(sizes) > 1 and len(members) == np.prod(sizes):  # of products, which may be empty
        members = marginal(members.reshape(sizes))
    n_empty = int(np.count_nonzero(members <= 0))
    if n_empty:
        logger.warning("%d centroids or protocentroids have no rows at any site", n_empty)
    return model


def _worker(model: Any, coordinator: Coordinator, placement: SitesPlacement, start: str) -> Any:
    """The estimator with centroids to begin from."""
    parameters: dict[str, Any] = {}
    if "store_centroids" in model.get_params():
        parameters["store_centroids"] = True  # sums of all cells are sent at once
    if not given_start(model):
        vectors = start_vectors(model, coordinator, placement, start)
        parameters["init"] = vectors if len(vectors) > 1 or _is_grid(model) else vectors[0]
    worker = clone(model).set_params(n_init="auto", **parameters)
    worker._fix_parameters()
    return worker


def _is_grid(model: Any) -> bool:
    return hasattr(model, "n_protocentroids")
