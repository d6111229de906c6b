"""Checks of the parameters of TransformedKMeans."""

from typing import Any

from polymeans._rows import RowsInfo
from polymeans._validation import (
    check_choice,
    check_integer,
    check_labels,
    check_positive,
    is_name,
    shown,
)
from polymeans.engine.directions import SOLVERS
from polymeans.spaces.glimpse import Glimpse
from polymeans.spaces.spec import EMBEDDINGS, SpaceSpec, specify_space

ALGORITHMS = ("profile", "alternating")
METRICS = ("auto", "euclidean", "cosine")
INITS = ("auto", "k-means", "k-means++", "mixed")


def check_parameters(model: Any) -> None:
    """Raise if a parameter cannot be used, whatever the rows are."""
    check_integer("n_clusters", model.n_clusters, 1)
    _check_weights_of_the_objective(model)
    if model.embedding is not None:
        check_choice("embedding", model.embedding, EMBEDDINGS, "Or None for the full space.")
    if not is_name(model.n_components, "auto"):
        check_integer("n_components", model.n_components, 1, 'Use "auto" if unsure.')
    check_choice("metric", model.metric, METRICS)
    _check_kernel(model)
    check_choice("algorithm", model.algorithm, ALGORITHMS)
    check_choice("solver", model.solver, (*SOLVERS, "cg"))
    if model.refine is not None:
        check_choice("refine", model.refine, ("exchange",), "Or None.")
    if isinstance(model.init, str):
        check_choice("init", model.init, INITS, "Or give labels, one for each row.")
    if model.solver == "cg":
        _check_gradients(model)


def _check_weights_of_the_objective(model: Any) -> None:
    if not is_name(model.rho, "auto"):
        check_positive("rho", model.rho, 'Use "auto" if unsure.')
        if model.lam is not None:
            raise ValueError(
                f"rho={model.rho!r} and lam={model.lam!r} were both given, but each determines "
                'the other. Leave rho at "auto" or lam at None.'
            )
    if model.lam is not None:
        check_positive("lam", model.lam, "Or give rho.")
    check_positive("mu", model.mu)


def _check_kernel(model: Any) -> None:
    if isinstance(model.kernel, str):
        from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS

        names = (*sorted(PAIRWISE_KERNEL_FUNCTIONS), "precomputed")
        check_choice("kernel", model.kernel, names, "Or give a function of two sets of rows.")
    elif model.kernel is not None and not callable(model.kernel):
        raise TypeError(
            "kernel must be None, a name, a function of two sets of rows, or "
            f'"precomputed", got {shown(model.kernel)}.'
        )
    if model.kernel_params is not None and not isinstance(model.kernel_params, dict):
        raise TypeError(
            'kernel_params must be a dictionary such as {"gamma": 0.1}, got '
            f"{shown(model.kernel_params)}."
        )
    if model.kernel is not None and is_name(model.embedding, "white"):
        raise ValueError(
            f'embedding="white" whitens features, but kernel={shown(model.kernel)} has none. Use '
            'embedding="svd" or kernel=None.'
        )
    if is_name(model.kernel, "precomputed") and is_name(model.metric, "cosine"):
        raise ValueError(
            'metric="cosine" needs rows, but kernel="precomputed" gives products. Divide them '
            "by the roots of their diagonal instead: K / np.sqrt(np.outer(d, d))."
        )


def _check_gradients(model: Any) -> None:
    if is_name(model.init, "mixed"):
        raise ValueError(
            'solver="cg" has no whitened space for init="mixed" to start in. Use '
            'init="k-means" or solver="exact".'
        )
    others = {
        "embedding": (model.embedding, None),
        "kernel": (model.kernel, None),
        "refine": (model.refine, None),
        "n_components": (model.n_components, "auto"),
        "algorithm": (model.algorithm, "profile"),
    }
    for name, (value, needed) in others.items():
        if value is not needed and not (isinstance(value, str) and value == needed):
            raise ValueError(
                f'solver="cg" clusters in the full space and needs {name}={needed!r}, got '
                f'{value!r}. Use solver="auto".'
            )


def check_blocks_suffice(model: Any) -> None:
    """Raise if a parameter needs all rows at the same time, which blocks never are."""
    needed = {
        "kernel": (model.kernel is None, "its values are those of all pairs of rows", "None"),
        "embedding": (model.embedding is not None, "all directions are kept", '"svd" or "cut"'),
        "refine": (model.refine is None, "it moves single rows back and forth", "None"),
        "solver": (not is_name(model.solver, "cg"), "it solves with all rows", '"auto"'),
    }
    for name, (suffices, reason, instead) in needed.items():
        if not suffices:
            raise ValueError(
                f"{name}={shown(getattr(model, name))} needs all rows in memory ({reason}), but X "
                f"is read in blocks. Use {name}={instead}."
            )


def check_start(model: Any, info: RowsInfo) -> Any:
    """The name of a method, or labels; an error if these rows do not suffice."""
    n_samples, n_features = info.shape
    if n_samples < model.n_clusters:
        raise ValueError(
            f"n_samples={n_samples} should be >= n_clusters={model.n_clusters}. "
            "Ask for fewer clusters or give more rows."
        )
    if is_name(model.kernel, "precomputed") and n_samples != n_features:
        raise ValueError(
            f'kernel="precomputed" needs the values of all pairs of rows, a square matrix, got '
            f"X of shape {info.shape}."
        )
    largest = n_samples if model.kernel is not None else min(info.shape)
    if not is_name(model.n_components, "auto") and model.n_components > largest:
        raise ValueError(
            f"n_components={model.n_components} is more than the {largest} dimensions that "
            f'{n_samples} rows of {n_features} features can have. Use "auto".'
        )
    if isinstance(model.init, str):
        return model.init
    return check_labels("init", model.init, n_samples, (model.n_clusters,))[0]


def space_of(model: Any, seen: Glimpse) -> SpaceSpec:
    """The space that the parameters mean for rows of which this was seen."""
    simple = model.refine is None and model.algorithm == "profile"
    return specify_space(
        seen,
        model.n_clusters,
        embedding=model.embedding,
        n_components=model.n_components,
        spherical="auto" if is_name(model.metric, "auto") else model.metric == "cosine",
        kernel=model.kernel,
        kernel_params=model.kernel_params,
        solver=model.solver,
        gradients_suffice=simple and not is_name(model.init, "mixed"),
        free_units=is_name(model.rho, "auto") and model.lam is None,
    )


def unsettled(codebook: Any) -> list[str]:
    """What to say about steps that did not come to an end, and which parameters help."""
    messages = []
    if not getattr(codebook, "settled", True):
        messages.append(
            'algorithm="alternating" did not settle: the smaller rho is, the slower transform '
            'and targets follow each other. Use algorithm="profile" or a larger rho.'
        )
    if not getattr(codebook.solve, "settled", True):
        messages.append(
            'solver="cg" did not settle: the smaller rho is, the more steps it takes. Use a '
            'larger rho, or solver="exact" where rows or features are few.'
        )
    return messages
