"""Fitted deep clusterings as arrays and plain values, and in files of the format safetensors.

Nothing is pickled, so reading a file runs no code of whoever wrote it. Networks that users gave
are stored as numbers only; they have to be given again.
"""

from collections.abc import Mapping
from importlib import import_module
from itertools import pairwise
from os import PathLike
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from polymeans._validation import shown
from polymeans.deep.codebook import LatentCodebook
from polymeans.deep.compression import inner_layers, ranks_of
from polymeans.deep.devices import DTYPES
from polymeans.deep.hadamard import HadamardLinear
from polymeans.deep.networks import NetworkPlan, new_network
from polymeans.deep.training import HISTORY
from polymeans.persistence import files

_FORMAT = 1
_CLASSES = ("DKM", "IDEC", "KhatriRaoDKM", "KhatriRaoIDEC")

#: Parameters that are no plain values: they are stored as arrays, or not at all.
_OTHER_PARAMETERS = ("autoencoder", "random_state")

#: Fitted attributes that are numbers or names.
_NUMBERS = (
    "inertia_",
    "reconstruction_error_",
    "objective_",
    "n_clusters_",
    "n_latent_",
    "n_parameters_",
    "compression_",
    "n_iter_",
    "start_source_",
    "n_features_in_",
)

#: Entries of a layer that may be made before its numbers are compared with those of a file.
_SMALL_LAYER = 2**22


def to_arrays(model: Any) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """A fitted deep clustering as arrays and values that JSON can hold.

    Parameters
    ----------
    model : DKM, IDEC, KhatriRaoDKM or KhatriRaoIDEC
        Fitted.

    Returns
    -------
    arrays : dict of ndarray
        Weights of the network, protocentroids, labels, history.
    values : dict
        Name of the class, parameters, shapes: strings, numbers, lists and None only.

    See Also
    --------
    from_arrays : The way back.

    Examples
    --------
    >>> from polymeans.deep import DKM, from_arrays, to_arrays
    >>> from sklearn.datasets import make_blobs
    >>> X, _ = make_blobs(60, centers=[[0, 0], [5, 0], [0, 5]], random_state=0)
    >>> quick = {"pretrain_epochs": 2, "distill_epochs": 20, "max_epochs": 1, "random_state": 0}
    >>> model = DKM(3, hidden_sizes=(8,), n_latent=2, **quick).fit(X)
    >>> arrays, values = to_arrays(model)
    >>> values["class"]
    'DKM'
    >>> again = from_arrays(arrays, values)
    >>> bool((again.predict(X) == model.labels_).all())
    True
    """
    check_is_fitted(model)
    network, plan = model._network, model._fitted_plan
    arrays = {
        f"network.{name}": value.cpu().numpy() for name, value in network.state_dict().items()
    }
    for q, part in enumerate(model._codebook.to_arrays()):
        arrays[f"protocentroids.{q}"] = part
    arrays["labels_"], arrays["start_labels_"] = model.labels_, model.start_labels_
    phases = np.unique(model.history_["phase"])
    arrays["history.phase"] = np.searchsorted(phases, model.history_["phase"]).astype(np.int64)
    for name in HISTORY.names[1:]:  # type: ignore[index]
        arrays[f"history.{name}"] = np.ascontiguousarray(model.history_[name])
    for number, (_, latent) in enumerate(model.latent_maps_):
        arrays[f"map.{number}"] = latent
    values: dict[str, Any] = {
        "format": _FORMAT,
        "class": type(model).__name__,
        "parameters": _plain_parameters(model),
        "numbers": {name: _plain(getattr(model, name)) for name in _NUMBERS},
        "aggregator": model._codebook.aggregator,
        "n_sets": len(model._codebook.sets),
        "network": _plan_values(plan, network),
        "objective": {
            "alpha": model._fitted_loss.alpha,
            "reconstruction_weight": model._fitted_weight,
        },
        "phases": phases.tolist(),
        "maps": [name for name, _ in model.latent_maps_],
    }
    if hasattr(model, "feature_names_in_"):
        values["feature_names"] = [str(name) for name in model.feature_names_in_]
    if not isinstance(model.init, str):
        arrays["parameter.init"] = np.asarray(model.init, dtype=np.int64)
    # Not ascontiguousarray: it makes vectors of single numbers.
    return {name: np.array(value, order="C") for name, value in arrays.items()}, values


def from_arrays(
    arrays: Mapping[str, NDArray[Any]], values: Mapping[str, Any], autoencoder: Any = None
) -> Any:
    """The fitted model that :func:`to_arrays` took apart.

    Parameters
    ----------
    arrays : mapping of ndarray
        As returned by :func:`to_arrays`.
    values : mapping
        As returned by :func:`to_arrays`.
    autoencoder : pair of torch.nn.Module or None, default=None
        Encoder and decoder, of the same layers as those that were fitted. Needed if the model was
        fitted with networks of the user's own, and only then.

    Returns
    -------
    model : DKM, IDEC, KhatriRaoDKM or KhatriRaoIDEC
        Fitted, with the same predictions to the last bit.

    See Also
    --------
    to_arrays : Takes a model apart.

    Examples
    --------
    >>> from polymeans.deep import DKM, from_arrays, to_arrays
    >>> from sklearn.datasets import make_blobs
    >>> X, _ = make_blobs(60, centers=[[0, 0], [5, 0], [0, 5]], random_state=0)
    >>> quick = {"pretrain_epochs": 2, "distill_epochs": 20, "max_epochs": 1, "random_state": 0}
    >>> model = DKM(3, hidden_sizes=(8,), n_latent=2, **quick).fit(X)
    >>> again = from_arrays(*to_arrays(model))
    >>> again.n_parameters_ == model.n_parameters_, again.labels_.shape
    (True, (60,))
    """
    if values.get("format") != _FORMAT or values.get("class") not in _CLASSES:
        raise ValueError(
            f"This is no deep clustering of format {_FORMAT}, but {shown(values.get('class'))} of "
            f"format {shown(values.get('format'))}. Read it with the version that wrote it."
        )
    given = values["network"]["kind"] == "given"
    if given != (autoencoder is not None):
        raise ValueError(
            "The model was fitted with networks of its user, which are not stored. Give them "
            "again: autoencoder=(encoder, decoder)."
            if given
            else "The model has an autoencoder of its own; autoencoder must be None."
        )
    parameters = dict(values["parameters"])
    if given:
        parameters["autoencoder"] = autoencoder
    if "parameter.init" in arrays:
        parameters["init"] = arrays["parameter.init"]
    for name, value in parameters.items():
        if isinstance(value, list):
            parameters[name] = tuple(value)
    model = getattr(import_module("polymeans.deep"), values["class"])(**parameters)
    for name, value in values["numbers"].items():
        setattr(model, name, value)
    if "feature_names" in values:
        model.feature_names_in_ = np.array(values["feature_names"], dtype=object)
    model._fitted_plan = plan = _plan_of(values["network"], autoencoder)
    _check_sizes(values, arrays)
    try:
        model._network = _network_of(plan, values["network"], model.n_features_in_, arrays)
    except (RuntimeError, AssertionError) as error:  # torch's word for numbers that do not fit
        raise ValueError(f"the network does not fit its numbers: {error}") from error
    sets = [arrays[f"protocentroids.{q}"] for q in range(values["n_sets"])]
    model._codebook = LatentCodebook(sets, values["aggregator"])
    # Files of earlier versions have the parameters only, which may have been set after the fit.
    objective = values.get("objective", parameters)
    model._fitted_loss = model._loss(objective["alpha"])
    model._fitted_weight = float(objective["reconstruction_weight"])
    model.labels_ = np.array(arrays["labels_"])
    model.start_labels_ = np.array(arrays["start_labels_"])
    model.latent_maps_ = [
        (name, np.array(arrays[f"map.{number}"])) for number, name in enumerate(values["maps"])
    ]
    history = np.empty(len(arrays["history.phase"]), dtype=HISTORY)
    history["phase"] = np.array(values["phases"])[arrays["history.phase"]]
    for name in HISTORY.names[1:]:  # type: ignore[index]
        history[name] = arrays[f"history.{name}"]
    model.history_ = history
    for name, value in model._of_codebook(model._codebook, model.labels_).items():
        setattr(model, name, value)
    return model


def save(model: Any, path: str | PathLike[str]) -> None:
    """Write a fitted deep clustering to a file, without pickle: :func:`polymeans.save`.

    Parameters
    ----------
    model : DKM, IDEC, KhatriRaoDKM or KhatriRaoIDEC
        Fitted.
    path : path
        File to write, in the layout of safetensors.

    See Also
    --------
    load : The way back.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from polymeans.deep import DKM, load, save
    >>> from sklearn.datasets import make_blobs
    >>> X, _ = make_blobs(60, centers=[[0, 0], [5, 0], [0, 5]], random_state=0)
    >>> quick = {"pretrain_epochs": 2, "distill_epochs": 20, "max_epochs": 1, "random_state": 0}
    >>> model = DKM(3, hidden_sizes=(8,), n_latent=2, **quick).fit(X)
    >>> with TemporaryDirectory() as folder:
    ...     save(model, Path(folder) / "blobs.safetensors")
    ...     again = load(Path(folder) / "blobs.safetensors")
    >>> bool((again.predict(X) == model.labels_).all())
    True
    """
    files.save(model, path)


def load(path: str | PathLike[str], autoencoder: Any = None) -> Any:
    """Read a fitted deep clustering from a file.

    :func:`polymeans.load` does the same for models whose networks are not a user's own.

    Parameters
    ----------
    path : path
        File that :func:`save` wrote.
    autoencoder : pair of torch.nn.Module or None, default=None
        Encoder and decoder, of the same layers as those that were fitted. Needed if the model was
        fitted with networks of the user's own, and only then.

    Returns
    -------
    model : DKM, IDEC, KhatriRaoDKM or KhatriRaoIDEC
        Fitted, with the same predictions to the last bit.

    See Also
    --------
    save : Writes the file.
    polymeans.load : The same for the models of all estimators.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from polymeans.deep import DKM, load, save
    >>> from sklearn.datasets import make_blobs
    >>> X, _ = make_blobs(60, centers=[[0, 0], [5, 0], [0, 5]], random_state=0)
    >>> quick = {"pretrain_epochs": 2, "distill_epochs": 20, "max_epochs": 1, "random_state": 0}
    >>> model = DKM(3, hidden_sizes=(8,), n_latent=2, **quick).fit(X)
    >>> with TemporaryDirectory() as folder:
    ...     save(model, Path(folder) / "blobs.safetensors")
    ...     again = load(Path(folder) / "blobs.safetensors")
    >>> bool((again.transform(X) == model.transform(X)).all())
    True
    """
    given = {} if autoencoder is None else {"autoencoder": autoencoder}
    return files.read_model(path, **given).model


def _check_sizes(values: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Refuse layers that are larger than all arrays of a file: they would only take memory."""
    plan, n_features = values["network"], values["numbers"]["n_features_in_"]
    sizes = [n_features, *plan["hidden_sizes"], plan["n_latent"]]
    if not all(type(size) is int and size > 0 for size in sizes):
        raise ValueError("sizes of layers must be whole numbers above zero")
    stored = sum(array.size for array in arrays.values())
    if max(one * two for one, two in pairwise(sizes)) > max(stored, _SMALL_LAYER):
        raise ValueError("layers are larger than all that is stored")


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _plain_parameters(model: Any) -> dict[str, Any]:
    """Parameters that are strings, numbers, sequences of them, or None."""
    parameters = model.get_params(deep=False)
    plain: dict[str, Any] = {}
    for name, value in parameters.items():
        if name == "autoencoder" and isinstance(value, str):
            plain[name] = value
        elif name == "random_state" and isinstance(value, int | np.integer):
            plain[name] = int(value)
        elif name == "init" and not isinstance(value, str):
            continue  # labels are an array
        elif name not in _OTHER_PARAMETERS:
            is_sequence = isinstance(value, tuple | list | np.ndarray)
            plain[name] = [_plain(part) for part in value] if is_sequence else _plain(value)
    return plain


def _plan_values(plan: NetworkPlan, network: Any) -> dict[str, Any]:
    values = {
        "kind": plan.kind,
        "hidden_sizes": list(plan.hidden_sizes),
        "n_latent": network.n_latent,
        "activation": plan.activation,
        "n_factors": plan.n_factors,
        "rank": plan.rank,
        "image_shape": None if plan.image_shape is None else list(plan.image_shape),
        "dtype": str(plan.dtype).removeprefix("torch."),
    }
    if plan.kind == "hadamard":
        values["ranks"] = [ranks_of(half) for half in (network.encoder, network.decoder)]
    return values


def _plan_of(values: Mapping[str, Any], given: Any) -> NetworkPlan:
    shape = values["image_shape"]
    return NetworkPlan(
        values["kind"],
        tuple(values["hidden_sizes"]),
        values["n_latent"],
        values["activation"],
        values["n_factors"],
        values["rank"],
        None if shape is None else tuple(shape),
        given,
        DTYPES[values["dtype"]],
    )


def _network_of(
    plan: NetworkPlan,
    values: Mapping[str, Any],
    n_features: int,
    arrays: Mapping[str, NDArray[Any]],
) -> Any:
    generator = torch.Generator()
    network = new_network(plan, n_features, generator)
    if plan.kind == "hadamard":
        for half, ranks in zip((network.encoder, network.decoder), values["ranks"]):
            assert isinstance(half, torch.nn.Sequential)
            for position, rank in zip(inner_layers(half), ranks):
                if rank is None:
                    continue
                layer: Any = half[position]
                half[position] = HadamardLinear(
                    layer.in_features,
                    layer.out_features,
                    rank,
                    plan.n_factors,
                    generator,
                    plan.dtype,
                )
    prefix = "network."
    state = {
        name.removeprefix(prefix): torch.from_numpy(np.array(value))
        for name, value in arrays.items()
        if name.startswith(prefix)
    }
    network.load_state_dict(state)
    return network.eval()
