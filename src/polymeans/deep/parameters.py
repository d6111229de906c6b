"""Checks of the parameters of deep clusterings, and the plan of a fit that follows from them."""

import warnings
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from polymeans._compat import HAS_CALLBACKS
from polymeans._validation import (
    check_boolean,
    check_choice,
    check_integer,
    check_labels,
    check_n_threads,
    check_positive,
    check_real,
    check_verbose,
    is_flat_sequence,
    is_name,
    shown,
)
from polymeans.deep.autoencoder import ACTIVATIONS
from polymeans.deep.devices import DTYPES
from polymeans.deep.fitting import Plan
from polymeans.deep.hadamard import largest_rank
from polymeans.deep.memory import check_memory
from polymeans.deep.networks import HIDDEN_SIZES, KINDS, WIDE_HIDDEN_SIZES, NetworkPlan
from polymeans.deep.rows import RowSource
from polymeans.deep.schedule import make_schedule

INITS = ("auto", "graph", "latent", "mixed")

#: Starts that follow each other over the restarts.
_STARTS = {
    "auto": ("graph",),
    "graph": ("graph",),
    "latent": ("latent",),
    "mixed": ("graph", "latent"),
}


def check_parameters(model: Any) -> None:
    """Raise if a parameter cannot be used, whatever the rows are."""
    if isinstance(model.init, str):
        check_choice("init", model.init, INITS, "Or give labels, one for each row.")
    check_integer("n_init", model.n_init, 1)
    _check_network(model)
    for name in ("pretrain_epochs", "distill_epochs", "max_epochs"):
        if not is_name(getattr(model, name), "auto"):
            check_integer(name, getattr(model, name), 0, 'Use "auto" if unsure.')
    if not is_name(model.batch_size, "auto"):
        check_integer("batch_size", model.batch_size, 1, 'Use "auto" if unsure.')
    if not is_name(model.learning_rate, "auto"):
        check_positive("learning_rate", model.learning_rate, 'Use "auto" if unsure.')
    check_real("reconstruction_weight", model.reconstruction_weight, 0.0)
    if model.alpha is not None:
        check_positive("alpha", model.alpha, "None: as published.")
    if model.tol is not None:
        check_real("tol", model.tol, 0.0, "None: train for all epochs.", 1.0)
    check_boolean("pretrain_once", model.pretrain_once)
    check_boolean("warm_start", model.warm_start)
    check_choice("dtype", model.dtype, tuple(DTYPES))
    check_n_threads(model.n_threads)
    check_verbose(model.verbose)


def _check_network(model: Any) -> None:
    check_integer("n_latent", model.n_latent, 1)
    if isinstance(model.autoencoder, str):
        check_choice("autoencoder", model.autoencoder, KINDS, "Or give (encoder, decoder).")
    else:
        _check_pair(model.autoencoder)
    if not is_name(model.hidden_sizes, "auto"):
        if not is_flat_sequence(model.hidden_sizes):
            raise TypeError(
                'hidden_sizes must be "auto" or a tuple of integers such as (256, 128), got '
                f"{shown(model.hidden_sizes)}."
            )
        for position, size in enumerate(model.hidden_sizes):
            check_integer(f"hidden_sizes[{position}]", size, 1)
    check_choice("activation", model.activation, tuple(ACTIVATIONS))
    check_integer("n_factors", model.n_factors, 1, "1 is a plain low-rank layer.")
    if not is_name(model.rank, "auto"):
        check_integer("rank", model.rank, 1, 'Use "auto" if unsure.')


def _check_pair(given: Any) -> None:
    modules = isinstance(given, tuple | list) and len(given) == 2
    if not modules or not all(isinstance(part, torch.nn.Module) for part in given):
        raise TypeError(
            f"autoencoder must be one of {', '.join(map(repr, KINDS))}, or a pair of "
            f"torch.nn.Module (encoder, decoder), got {shown(given)}."
        )


def network_plan(model: Any, n_features: int) -> NetworkPlan:
    """Which autoencoder is to be trained for rows of this width."""
    kind = model.autoencoder if isinstance(model.autoencoder, str) else "given"
    hidden: tuple[int, ...] = WIDE_HIDDEN_SIZES if kind == "hadamard" else HIDDEN_SIZES
    if not is_name(model.hidden_sizes, "auto"):
        hidden = tuple(int(size) for size in model.hidden_sizes)
    if kind == "hadamard" and len(hidden) < 2:
        raise ValueError(
            f'autoencoder="hadamard" compresses layers between two hidden ones, but hidden_sizes='
            f"{hidden} has {len(hidden)}. Give two sizes at least."
        )
    image_shape = None
    if kind == "convolutional":
        image_shape = _image_shape(model.image_shape, n_features)
    rank = None if is_name(model.rank, "auto") else int(model.rank)
    given = model.autoencoder if kind == "given" else None
    if kind == "hadamard" and rank is not None:
        _warn_of_dense_layers(hidden, rank, int(model.n_factors))
    plan = NetworkPlan(
        kind,
        hidden,
        int(model.n_latent),
        model.activation,
        int(model.n_factors),
        rank,
        image_shape,
        given,
        DTYPES[model.dtype],
    )
    check_memory(plan, n_features)
    return plan


def _warn_of_dense_layers(hidden: tuple[int, ...], rank: int, n_factors: int) -> None:
    """Warn of layers whose factors of the given rank would be no smaller than the layers are."""
    dense = []
    for n_in, n_out in pairwise(hidden):
        most, n_stored = largest_rank(n_in, n_out, n_factors), n_factors * rank * (n_in + n_out)
        if rank > most:
            limit = f"up to rank {most} they have fewer" if most else "no rank has fewer"
            counts = f"{n_in * n_out} numbers, {n_stored} in factors"
            dense.append(f"{n_in} x {n_out}: {counts}, {limit}")
    if dense:
        warnings.warn(
            f"With rank={rank} and n_factors={n_factors}, Hadamard factors are no smaller than "
            f"layers of hidden_sizes={hidden}, which stay dense ({'; '.join(dense)}). Use a "
            'smaller rank, rank="auto", or autoencoder="dense".',
            UserWarning,
            stacklevel=5 + HAS_CALLBACKS,
        )


def _image_shape(given: Any, n_features: int) -> tuple[int, int, int]:
    """Channels, height and width."""
    fits = is_flat_sequence(given) and len(given) in (2, 3)
    if not fits or int(np.prod(given)) != n_features:
        raise ValueError(
            'autoencoder="convolutional" needs image_shape=(height, width) or (channels, height, '
            f"width) whose product is n_features={n_features}, got {shown(given)}."
        )
    shape = tuple(int(size) for size in given)
    return shape if len(shape) == 3 else (1, *shape)  # type: ignore[return-value]


def check_row_count(n_samples: int, n_clusters: int, what: str) -> None:
    """Raise if there are fewer rows than clusters."""
    if n_samples < n_clusters:
        raise ValueError(
            f"n_samples={n_samples} should be >= {n_clusters}, the number of clusters of {what}. "
            "Ask for fewer clusters or give more rows."
        )


def make_plan(model: Any, rows: RowSource, sizes: tuple[int, ...], aggregator: str) -> Plan:
    """Everything the fit of these rows depends on."""
    n_clusters = int(np.prod(sizes))
    labels: NDArray[np.int32] | None = None
    starts = _STARTS["graph"]
    if isinstance(model.init, str):
        starts = _STARTS[model.init]
    else:
        labels = check_labels("init", model.init, rows.n_samples, (n_clusters,))[0]
    n_init = int(model.n_init)
    loss = model._loss(model.alpha)
    used = tuple(starts[number % len(starts)] for number in range(n_init))
    schedules = {
        start: make_schedule(model, start, rows.n_batches, n_clusters, loss, rows.n_samples)
        for start in used
    }
    return Plan(
        sizes,
        aggregator,
        loss,
        used,
        labels,
        network_plan(model, rows.n_features),
        schedules,
        float(model.reconstruction_weight),
        None if model.tol is None else float(model.tol),
        bool(model.pretrain_once),
        int(model.verbose),
    )
