"""Networks that memory cannot hold are refused before anything is allocated."""

import os

from polymeans.deep.autoencoder import dense_n_parameters
from polymeans.deep.convolutional import CHANNELS
from polymeans.deep.networks import NetworkPlan

#: Copies of all numbers of a network while it learns: weights, gradients, and two moments of Adam.
_COPIES = 4

#: Bytes beyond which a network is refused if the size of the memory is not known.
_MOST = 2**40


def check_memory(plan: NetworkPlan, n_features: int) -> None:
    """Raise if the memory of the machine cannot hold a network while it learns.

    That is no promise that it fits: other data and other processes need memory, too.

    Parameters
    ----------
    plan : NetworkPlan
    n_features : int
    """
    if plan.kind == "given":
        return  # it is in memory already
    needed = _COPIES * _n_numbers(plan, n_features) * plan.dtype.itemsize
    there = _memory()
    if needed <= there:
        return
    what = f"hidden_sizes={plan.hidden_sizes} and n_latent={plan.n_latent}"
    remedy = "smaller hidden_sizes or a smaller n_latent"
    if plan.kind == "convolutional":
        what, remedy = f"n_latent={plan.n_latent}", "a smaller n_latent"
    raise ValueError(
        f"{what} with n_features={n_features} ask for a network that takes "
        f"{needed / 2**30:.3g} GB of memory while it learns, but there are {there / 2**30:.3g} GB. "
        f"Use {remedy}, such as the defaults."
    )


def _n_numbers(plan: NetworkPlan, n_features: int) -> int:
    """Weights and biases; of convolutions, only those of the layers around the latent space."""
    if plan.image_shape is None:
        return dense_n_parameters(n_features, plan.hidden_sizes, plan.n_latent)
    _, height, width = plan.image_shape
    for _ in CHANNELS:
        height, width = -(-height // 2), -(-width // 2)
    return 2 * CHANNELS[-1] * height * width * plan.n_latent


def _memory() -> int:
    """Bytes of memory of the machine."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # not on Windows
        return _MOST
