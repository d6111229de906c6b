"""How much of a clustering other starts find again, as plain data."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score

from polymeans._validation import check_integer
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
    read = stability.get if isinstance(stability, dict) else lambda name: _read(stability, name)
    scores = read("scores")
    listed = [] if scores is None else [finite(value) for value in np.ravel(scores)]
    mean = read("mean")
    known = [value for value in listed if value is not None]
    if mean is None and not known:
        raise TypeError(
            "stability must be None, a number of fits, or an object or dict with scores (agreement "
            f"of each run, from 0 to 1) or mean, got {type(stability).__name__}."
        )
    per_cluster = read("per_cluster")
    return {
        "scores": listed,
        "mean": finite(np.mean(known) if mean is None else mean),
        "per_cluster": (
            None if per_cluster is None else [finite(value) for value in np.ravel(per_cluster)]
        ),
        "method": str(read("method") or "as given"),
    }


def _read(thing: Any, name: str) -> Any:
    """An attribute, with or without the underscore of fitted attributes."""
    return getattr(thing, name, getattr(thing, f"{name}_", None))


def _by_seeds(model: Any, X: Any, n_runs: int) -> dict[str, Any]:
    """Agreement of the model's labels with those of fits that begin elsewhere."""
    own = np.asarray(model.predict(X))
    scores, found = [], []
    for run in range(n_runs):
        other = clone(model)
        last_step_of(other).set_params(random_state=run + 1)
        labels = np.asarray(other.fit(X).predict(X))
        scores.append(float(adjusted_rand_score(own, labels)))
        found.append(_best_overlap(own, labels))
    return {
        "scores": scores,
        "mean": float(np.mean(scores)),
        "per_cluster": np.mean(found, axis=0).tolist(),
        "method": (
            f"adjusted Rand index with {n_runs} fit{'s' * (n_runs != 1)} from other seeds; of a "
            "cluster, the mean of its best Jaccard index"
        ),
    }


def last_step_of(model: Any) -> Any:
    """The clustering of a model that need not be fitted."""
    return model.steps[-1][1] if hasattr(model, "steps") else model


def _best_overlap(own: NDArray[Any], other: NDArray[Any]) -> NDArray[np.float64]:
    """Of each cluster, the largest Jaccard index with a cluster of other labels."""
    shape = int(own.max()) + 1, int(other.max()) + 1
    joint = np.zeros(shape)
    np.add.at(joint, (own, other), 1.0)
    union = joint.sum(axis=1)[:, None] + joint.sum(axis=0) - joint
    ratio = np.divide(joint, union, out=np.zeros(shape), where=union > 0)
    return ratio.max(axis=1)
