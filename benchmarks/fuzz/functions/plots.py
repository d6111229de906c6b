"""Plots draw on the axes they get, for every estimator, and change nothing."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.fuzz.case import Case, require
from benchmarks.fuzz.containers import fingerprint
from benchmarks.fuzz.watch import watched

MODELS = ("KMeans", "KhatriRaoKMeans", "QuickKMeans", "NonRedundantKMeans", "TransformedKMeans")
PLOTS = (
    "convergence",
    "cluster_sizes",
    "centers_as_images",
    "objective",
    "operations",
    "own",
)


def draw(rng: np.random.Generator, area: str, seed: int, number: int) -> Case:
    """An estimator and a plot of it."""
    X = rng.normal(size=(int(rng.integers(8, 30)), 4)) + rng.integers(0, 3, (1, 4))
    params = {"model": str(rng.choice(MODELS)), "plot": str(rng.choice(PLOTS))}
    params["kernel"] = bool(rng.random() < 0.3)
    traits = frozenset(
        {params["model"], params["plot"]} | ({"kernel"} if params["kernel"] else set())
    )
    return Case(area, seed, number, X, params=params, traits=traits)


def check(case: Case) -> Iterator[str]:
    """Draw on a figure of its own; a plot that does not suit says so."""
    import polymeans

    quick = {
        "KhatriRaoKMeans": {"effort": 0.01},
        "NonRedundantKMeans": {"effort": 0.01, "n_clusters": (2, 2)},
        "TransformedKMeans": {"n_clusters": 3, "n_init": 1},
        "QuickKMeans": {"n_clusters": 3, "effort": 0.1},
        "KMeans": {"n_clusters": 3},
    }
    name = case.params["model"]
    if case.params["kernel"] and name == "TransformedKMeans":
        quick[name]["kernel"] = "rbf"
    with watched(refusable=False):
        model = getattr(polymeans, name)(random_state=0, **quick[name]).fit(case.X)
    before = fingerprint(case.X)
    yield from _drawn(case, model)
    yield require(fingerprint(case.X) == before, "input is unchanged", "rows differ")


def _drawn(case: Case, model: Any) -> Iterator[str]:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    from polymeans import inspection

    figure, ax = pyplot.subplots()
    try:
        with watched(refusable=True):
            match case.params["plot"]:
                case "convergence":
                    drawn = inspection.plot_convergence(model, ax=ax)
                case "cluster_sizes":
                    drawn = inspection.plot_cluster_sizes(model, ax=ax)
                case "centers_as_images":
                    drawn = inspection.plot_centroids(model, (2, 2), ax=ax)
                case "objective":
                    drawn = inspection.plot_objective([model], ax=ax)
                case "operations":
                    drawn = inspection.plot_operations([model], ax=ax)
                case _:
                    drawn = _own_plot(inspection, model, case.X, ax)
            figure.canvas.draw()
        yield require(drawn is not None, "plots return their axes", case.params["plot"])
    finally:
        pyplot.close("all")


def _own_plot(inspection: Any, model: Any, X: Any, ax: Any) -> Any:
    name = type(model).__name__
    if name == "KhatriRaoKMeans":
        return inspection.plot_protocentroids(model, ax=ax)
    if name == "QuickKMeans":
        return inspection.plot_factors(model.operator_, ax=ax)
    if name == "NonRedundantKMeans":
        inspection.plot_views(model, X)
        return inspection.plot_view_information(model, ax=ax)
    if name == "TransformedKMeans":
        return inspection.plot_learned_space(model, X, ax=ax)
    return inspection.plot_matched_centroids([model], (2, 2))
