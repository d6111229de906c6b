"""Fitted models that plots are given: checks, lists and names of them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from polymeans.inspection._style import count


def last_step(model: Any) -> Any:
    """The model itself, or the last step of a pipeline."""
    return model.steps[-1][1] if isinstance(model, Pipeline) else model


def unwrapped(model: Any, X: Any) -> tuple[Any, Any]:
    """The last step of a fitted pipeline, and the rows that the other steps give to it."""
    if not isinstance(model, Pipeline):
        return model, X
    check_is_fitted(model)
    return last_step(model), model[:-1].transform(X) if len(model.steps) > 1 else X


def in_latent_space(model: Any) -> bool:
    """Whether an estimator clusters what a network makes of the rows: those of polymeans.deep."""
    return bool(getattr(model, "_in_latent_space", False))


def centroids_as_rows(model: Any) -> NDArray[Any]:
    """Centroids of a fitted model among the features: decoded, where they are latent."""
    check_has(model, "cluster_centers_")
    latent = in_latent_space(model)
    return np.asarray(model.decoded_centroids_ if latent else model.cluster_centers_)


def refuse_latent(model: Any, needed: str, instead: str) -> None:
    """Raise if the model clusters in the latent space of a network."""
    if in_latent_space(model):
        raise TypeError(
            f"This plot needs {needed}, but {type(model).__name__} clusters in the latent space of "
            f"a network. Use {instead}."
        )


def check_has(model: Any, attribute: str) -> None:
    """Raise unless the model is fitted and has the attribute."""
    check_is_fitted(model)
    if not hasattr(model, attribute):
        raise TypeError(
            f"This plot needs {attribute}, which {type(model).__name__} does not have. "
            "polymeans.report shows every estimator."
        )
    if attribute == "cluster_centers_" and model.cluster_centers_ is None:
        raise TypeError(
            f"This plot needs cluster_centers_, which is None for {model!r}: centers in the space "
            "of a kernel are no vectors of features. Use plot_learned_space, or fit a model "
            "without a kernel."
        )


def as_models(estimators: Any, attribute: str) -> list[Any]:
    """One or several fitted models as a list; each must have the attribute."""
    models = list(estimators) if isinstance(estimators, list | tuple) else [estimators]
    models = [last_step(model) for model in models]
    if not models:
        raise ValueError("models must hold at least one fitted model, got none.")
    for model in models:
        if not hasattr(model, "fit"):
            raise TypeError(
                "models must be a fitted model or a list of them, got "
                f"{type(model).__name__}. Call fit first and pass the model."
            )
        check_has(model, attribute)
    return models


def model_names(
    names: Sequence[str] | None, estimators: Sequence[Any], describe: bool = False
) -> list[str]:
    """Names as given, or names of classes, numbered where several models have the same class.

    With ``describe`` the number of stored values is added to names that are not given.
    """
    if names is not None:
        names = [names] if isinstance(names, str) else [str(name) for name in names]
        if len(names) != len(estimators):
            raise ValueError(
                f"names must have one entry for each of {count(len(estimators), 'curve')}, got "
                f"{len(names)}: {names!r}. Name them in their order."
            )
        return names
    kinds = [type(model).__name__ for model in estimators]
    found = []
    for number, (kind, model) in enumerate(zip(kinds, estimators)):
        name = kind if kinds.count(kind) == 1 else f"{kind} {kinds[:number].count(kind)}"
        found.append(f"{name}\n{_stored_size(model)}" if describe else name)
    return found


def _stored_size(model: Any) -> str:
    if hasattr(model, "n_nonzeros_"):
        return count(int(model.n_nonzeros_), "non-zero")
    stored = getattr(model, "n_parameters_", np.size(model.cluster_centers_))
    return count(int(stored), "number")
