"""The exact method under differential privacy: a fixed number of rounds with noisy totals.

Nothing that depends on rows is known before the first round: the frame follows from the radius, the
start from ``init`` or from random points in the ball.
"""

from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from polymeans._rows import RowsInfo
from polymeans._validation import check_seed
from polymeans.codebooks.dense import DenseCodebook
from polymeans.core.exact_sums import ExactSum, Ladder
from polymeans.core.frame import MeasuredFrame
from polymeans.engine.lloyd import Run
from polymeans.federated.codebooks import codebook_message
from polymeans.federated.coordinator import Coordinator
from polymeans.federated.exact import finished
from polymeans.federated.privacy import Privacy
from polymeans.federated.starts import given_start
from polymeans.federated.totals import Layout, Totals, members_of, statistics_of
from polymeans.khatri_rao import KhatriRaoKMeans
from polymeans.kmeans import KMeans


def fit_privately(estimator: Any, coordinator: Coordinator, privacy: Privacy) -> Any:
    """Fit with noisy totals.

    Parameters
    ----------
    estimator : KMeans (Euclidean) or KhatriRaoKMeans with two sets
    coordinator : Coordinator
    privacy : Privacy
        What all sites have agreed on.

    Returns
    -------
    estimator
        A fitted copy without labels; ``inertia_`` is NaN, since sites were not asked for it.
    """
    model = clone(estimator)
    model._check_parameters()
    model._fix_parameters()
    is_grid = isinstance(model, KhatriRaoKMeans)
    if not is_grid and not (isinstance(model, KMeans) and not model._spherical):
        raise ValueError(f"privacy is for KMeans and KhatriRaoKMeans, not {model!r}.")
    if is_grid and len(model._sizes) != 2:
        raise ValueError(
            f"privacy is for two sets of protocentroids, got n_protocentroids={model._sizes}. "
            "Use two sets, or KMeans."
        )
    n_features, dtype, is_sparse, n_samples = coordinator.gather()
    if is_sparse:
        raise ValueError(
            "privacy needs dense rows, and the sites have CSR rows. Reduce the rows to few "
            "features at the sites, for instance by hashing, or leave out privacy."
        )
    rng = check_seed(model.random_state)
    worker = clone(model)
    if not given_start(model):
        worker.set_params(init=_anywhere(model, privacy, n_features, dtype, rng))
    if is_grid:
        worker.set_params(store_centroids=True)
    worker._fix_parameters()
    info = RowsInfo((n_samples, n_features), dtype, n_samples * n_features, True)
    state = worker._state_class((None, None), worker._check_start(info), rng)
    frame = _frame(privacy, n_samples, n_features, dtype)
    coordinator.show(frame)
    totals: Totals = {}
    with worker._threads(n_features), np.errstate(all="ignore"):
        state.runner = SimpleNamespace(frame=frame)
        codebook = worker._start(state)
        layout = Layout.of(codebook, frame)
        shapes = {name: layout.shapes[name] for name in ("counts", "sums")}
        for _ in range(privacy.rounds):
            asked = {"codebook": codebook_message(codebook), "measured": False}
            totals = coordinator.ask("step", asked, shapes, frame=True).totals
            n_noisy = len(coordinator.rounds[-1].present)
            _refit(codebook, layout, totals, privacy, n_noisy)
        run = Run(codebook, np.empty(0, np.int32), np.nan, converged=False, n_relocated=0)
        attributes = worker._attributes(run, state)
    attributes["n_iter_"] = privacy.rounds
    members = members_of(layout, totals)
    return finished(model, attributes, n_features, run, SimpleNamespace(members=lambda: members))


def _refit(codebook: Any, layout: Layout, totals: Totals, privacy: Privacy, n_noisy: int) -> None:
    """Refit to noisy totals; clusters that may have no rows at all are left where they are."""
    noise = privacy.count_scale * np.sqrt(n_noisy)
    counts = totals["counts"]
    least = noise if layout.needs == "cells" else 0.0
    totals["counts"] = np.where(counts > max(least, 0.5), counts, 0)
    totals["square"] = np.zeros_like(ExactSum().bins)
    codebook.refit(statistics_of(layout, totals))
    if isinstance(codebook, DenseCodebook):  # rows are in the ball, so their means are
        lengths = np.linalg.norm(codebook.centers.astype(np.float64), axis=1)
        codebook.centers *= np.minimum(1.0, privacy.radius / np.maximum(lengths, 1e-300))[
            :, None
        ].astype(codebook.centers.dtype)


def _frame(
    privacy: Privacy, n_samples: int, n_features: int, dtype: np.dtype[Any]
) -> MeasuredFrame:
    """A frame that depends on the radius alone."""
    square = n_samples * privacy.radius**2
    return MeasuredFrame(
        n_samples=n_samples,
        n_features=n_features,
        dtype=dtype,
        is_sparse=False,
        spherical=False,
        zeros_count=False,
        unit=1.0,
        weight_unit=1.0,
        shift=np.zeros(n_features, dtype=dtype),
        shifted=False,
        guarded=False,
        hides=False,
        order=np.empty(0, dtype=np.int64),
        rank=np.empty(0, dtype=np.int32),
        ladder=Ladder((privacy.grid,)),
        mass_ladder=Ladder((1.0,)),
        mass=float(n_samples),
        mean=np.zeros(n_features),
        total_square=square,
        spread=square,
        reach=1.0,
        n_stored=n_samples * n_features,
        unweighted=True,
        n_directionless=0,
    )


def _anywhere(model: Any, privacy: Privacy, n_features: int, dtype: np.dtype[Any], rng: Any) -> Any:
    """Random points in the ball, which say nothing about rows."""

    def points(n: int, radius: float) -> NDArray[Any]:
        directions = rng.normal(size=(n, n_features))
        directions /= np.linalg.norm(directions, axis=1)[:, None]
        lengths = radius * rng.random_sample(n) ** (1 / n_features)
        return (directions * lengths[:, None]).astype(dtype)

    if isinstance(model, KMeans):
        return points(model.n_clusters, privacy.radius)
    h, g = model._sizes
    if model.aggregator == "sum":
        return [points(h, privacy.radius / 2), points(g, privacy.radius / 2)]
    return [points(h, privacy.radius), (1 + 0.1 * rng.normal(size=(g, n_features))).astype(dtype)]
