"""Clusters in the latent space of an autoencoder, with free centroids or grids of protocentroids.

Needs PyTorch, the extra ``deep``. Nothing else of this library imports this package.
"""

try:
    import torch as _torch  # noqa: F401 (only to say what is missing)
except ImportError as error:
    raise ImportError(
        'polymeans.deep needs PyTorch, which cannot be imported: pip install "polymeans[deep]"'
    ) from error

from polymeans.deep.displays import (
    plot_decoded_centroids,
    plot_latent_map,
    plot_losses,
    plot_network_sizes,
)
from polymeans.deep.dkm import DKM
from polymeans.deep.idec import IDEC
from polymeans.deep.khatri_rao_dkm import KhatriRaoDKM
from polymeans.deep.khatri_rao_idec import KhatriRaoIDEC
from polymeans.deep.persistence import from_arrays, load, save, to_arrays

__all__ = [
    "DKM",
    "IDEC",
    "KhatriRaoDKM",
    "KhatriRaoIDEC",
    "from_arrays",
    "load",
    "plot_decoded_centroids",
    "plot_latent_map",
    "plot_losses",
    "plot_network_sizes",
    "save",
    "to_arrays",
]
