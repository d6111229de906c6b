"""How much of a clustering other fits find again, as plain data."""

from contextlib import closing
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score

from polymeans._validation import check_integer
from polymeans.inspection._row_parts import RowParts
from polymeans.reporting.facts import finite


def stability_facts(stability: Any, model: Any, X: Any) -> dict[str, Any] | None:
    """What a report says about stability.

    Parameters
    ----------
    stability : None, int or object
        None: nothing. A number: fits with as many other seeds. An object, or a dict: see
        :func:`polymeans.report`.
    model : estimator
        Fitted.
    X : rows

    Returns
    -------
    dict or None
    """
    if stability is None:
        return None
    if isinstance(stability, int | np.integer) and not isinstance(stability, bool):
        check_integer("stability", stability, 1, "It is the number of fits with other seeds.")
        return _by_seeds(model, X, int(stability))
    scores = _pairs(_read(stability, "scores"))
    mean = _read(stability, "mean")
    if mean is None and not scores:
        raise TypeError(
            "stability must be None, a number of fits, or an object or dict with scores (agreement "
            f"of each run, from 0 to 1) or mean, got {type(stability).__name__}."
        )
    per_cluster = _read(stability, "per_cluster")
    if per_cluster is not None:
        per_cluster = [finite(value) for value in _in_our_order(stability, per_cluster, model, X)]
    return {
        "scores": scores,
        "mean": finite(np.mean(scores) if mean is None else mean),
        "per_cluster": per_cluster,
        "method": _method(stability),
    }


def _read(thing: Any, name: str) -> Any:
    """An entry or an attribute, with or without the underscore of fitted attributes."""
    if isinstance(thing, dict):
        return thing.get(name)
    return getattr(thing, name, getattr(thing, f"{name}_", None))


def _pairs(scores: Any) -> list[float]:
    """One score for each run, or for each pair of runs if they are a square."""
    if scores is None:
        return []
    array = np.asarray(scores, dtype=np.float64)
    if array.ndim == 2:
        array = array[np.triu_indices(len(array), 1)]
    return [float(value) for value in array.ravel() if np.isfinite(value)]


def _method(stability: Any) -> str:
    method, vary = _read(stability, "method"), _read(stability, "vary")
    if method is None and vary is not None:
        return f"mean agreement of fits with other {vary}; of a cluster, its mean Jaccard index"
    return "as given" if method is None else str(method)


def _in_our_order(stability: Any, per_cluster: Any, model: Any, X: Any) -> NDArray[np.float64]:
    """Figures of clusters in the order of the model's clusters.

    Where they belong to a fit of their own (``estimator_``), each cluster of the model gets the
    figure of the most similar cluster of that fit.
    """
    given = np.ravel(np.asarray(per_cluster, dtype=np.float64))
    fit = _read(stability, "estimator")
    if fit is None:
        return given
    parts = RowParts(model, X, None, None)
    own, other = [], []
    with closing(iter(parts)) as stream:
        for part in stream:
            own.append(np.asarray(parts.last.predict(part.rows)))
            other.append(np.asarray(fit.predict(part.rows)))
    overlap = _overlaps(np.concatenate(own), np.concatenate(other))
    return given[np.minimum(overlap.argmax(axis=1), len(given) - 1)]


def _by_seeds(model: Any, X: Any, n_runs: int) -> dict[str, Any]:
    """Agreement of the model's labels with those of fits that begin elsewhere."""
    own = np.asarray(model.predict(X))
    scores, found = [], []
    for run in range(n_runs):
        other = clone(model)
        last = other.steps[-1][1] if hasattr(other, "steps") else other
        last.set_params(random_state=run + 1)
        labels = np.asarray(other.fit(X).predict(X))
        scores.append(float(adjusted_rand_score(own, labels)))
        found.append(_overlaps(own, labels).max(axis=1))
    return {
        "scores": scores,
        "mean": float(np.mean(scores)),
        "per_cluster": np.mean(found, axis=0).tolist(),
        "method": (
            f"adjusted Rand index with {n_runs} fit{'s' * (n_runs != 1)} from other seeds; of a "
            "cluster, the mean of its best Jaccard index; of several views, the main one"
        ),
    }


def _overlaps(own: NDArray[Any], other: NDArray[Any]) -> NDArray[np.float64]:
    """The Jaccard index of each cluster with each cluster of other labels."""
    shape = int(own.max()) + 1, int(other.max()) + 1
    joint = np.zeros(shape)
    np.add.at(joint, (own, other), 1.0)
    union = joint.sum(axis=1)[:, None] + joint.sum(axis=0) - joint
    return np.divide(joint, union, out=np.zeros(shape), where=union > 0)
