"""What was fitted: parameters, sizes, convergence and versions, as plain data."""

import inspect
import platform
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymeans._validation import shown
from polymeans.inspection._models import in_latent_space

#: Packages whose versions decide the numbers of a fit.
_PACKAGES = ("polymeans", "numpy", "scipy", "scikit-learn", "numba")

#: Iterations that a report lists; more are thinned out.
_MOST_STEPS = 200


def finite(value: Any) -> float | None:
    """A number as JSON has it; None for infinity, NaN and what is missing."""
    if value is None:
        return None
    number = float(value)
    return number if np.isfinite(number) else None


def model_facts(model: Any, last: Any) -> dict[str, Any]:
    """The fitted estimator in plain data.

    Parameters
    ----------
    model : estimator
        As it was given: a clustering, or a Pipeline.
    last : estimator
        The clustering.

    Returns
    -------
    dict
    """
    steps = [type(step).__name__ for _, step in getattr(model, "steps", [])]
    seconds = None
    history = getattr(last, "history_", None)
    if history is not None and len(history):
        seconds = finite(np.sum(history["seconds"]))
    latent = in_latent_space(last)
    free = _n_clusters(last) * int(last.n_features_in_)
    if latent:
        free = round(float(last.compression_) * int(last.n_parameters_))
    return {
        "class": type(last).__name__,
        "steps": steps,
        "parameters": _parameters(last),
        "n_clusters": _n_clusters(last),
        "n_parameters": _integer(getattr(last, "n_parameters_", None)),
        "free_parameters": free,
        "n_latent": int(last.n_latent_) if latent else None,
        "inertia": finite(getattr(last, "inertia_", None)),
        "n_iter": _integer(getattr(last, "n_iter_", None)),
        "seconds": seconds,
        "seed": shown(getattr(last, "random_state", None)),
    }


def _n_clusters(model: Any) -> int:
    found = getattr(model, "n_clusters_", None)
    if found is None:
        centers = getattr(model, "centroids_in_space_", None)
        return len(model.cluster_centers_ if centers is None else centers)
    return int(np.sum(found))


def _integer(value: Any) -> int | None:
    return None if value is None else int(value)


def _parameters(model: Any) -> list[dict[str, Any]]:
    defaults = {
        name: parameter.default
        for name, parameter in inspect.signature(type(model)).parameters.items()
    }
    return [
        {"name": name, "value": shown(value), "default": _same(value, defaults.get(name))}
        for name, value in model.get_params(deep=False).items()
    ]


def _same(value: Any, default: Any) -> bool:
    if value is default:
        return True
    return (
        type(value) is type(default)
        and isinstance(value, str | int | float | tuple)
        and (value == default)
    )


def convergence(model: Any) -> list[dict[str, Any]]:
    """Iterations of the best start; epochs of a network.

    Parameters
    ----------
    model : estimator
        Fitted.

    Returns
    -------
    list of dict
    """
    history = getattr(model, "history_", None)
    if history is None or not len(history):
        return []
    chosen = np.arange(len(history))
    if len(chosen) > _MOST_STEPS:
        chosen = np.unique(np.linspace(0, len(history) - 1, _MOST_STEPS).round().astype(int))
    return [
        {
            "iteration": int(i) + 1,
            "inertia": _of(history, "inertia", i),
            "loss": _of(history, "loss", i),
            "phase": str(history["phase"][i]) if "phase" in history.dtype.names else None,
            "moved": int(history["n_moved"][i]),
            "seconds": finite(history["seconds"][i]),
        }
        for i in chosen.tolist()
    ]


def _of(history: NDArray[Any], name: str, i: int) -> float | None:
    """A number of a step, where steps have it."""
    return finite(history[name][i]) if name in (history.dtype.names or ()) else None


def versions(last: Any) -> dict[str, str]:
    """Versions of Python and of the packages that compute.

    Parameters
    ----------
    last : estimator
        The clustering.

    Returns
    -------
    dict
    """
    found = {"python": platform.python_version()}
    for name in (*_PACKAGES, *(["torch"] if in_latent_space(last) else [])):
        try:
            found[name] = version(name)
        except PackageNotFoundError:  # a checkout that was not installed
            continue
    return found
