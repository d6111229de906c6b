"""What the documentation of the four deep estimators has in common, written once.

A docstring names a text of this file where it belongs, as ``%(training_parameters)s`` on a line of
its own, and :func:`with_shared_sections` puts it there when the class is made: ``help`` and the
site show the whole.
"""

import re
from typing import TypeVar

Class = TypeVar("Class", bound=type)

#: When to use the estimators, and what they cost.
_USE_AND_COST = r"""
**Use when** you want a small model that labels new rows, encodes and decodes them, of clusters
that are not round: digits, faces, curves. The decoder shows what a centroid looks like.

**Do not use when** plain k-means or a graph clustering of the rows is all you need: the network
does not find better clusters by itself, it carries those of its start. Not for few rows of many
unrelated columns.

**Cost.** Some thousand steps of an optimizer, seconds to a minute on a CPU, and for
``init="graph"`` all pairs of rows once (approximate neighbors above 30 000 rows), with
``n_samples * n_clusters`` numbers of targets.
"""

#: Parameters of the start and of the network.
_NETWORK_PARAMETERS = r"""
init : {"auto", "graph", "latent", "mixed"} or array-like of shape (n_samples,), default="auto"
    Where clusters come from. "graph": from a neighborhood graph of the rows; the network learns
    these labels, then trains on its own. "latent": from the latent space of the pretrained
    autoencoder, as published. "mixed": both in turn over the restarts, each with a schedule of
    its own. "auto": "graph". Labels from 0 to the number of clusters minus 1 are learned instead
    of those of the graph.
n_init : int, default=1
    Number of restarts. The one is kept for which the share of the variance within clusters, over
    all directions of the latent space, plus ``reconstruction_weight`` times the share of the rows'
    variance that is not reconstructed, is least. Values of ``objective_`` do not compare: latent
    spaces have units of their own.
pretrain_once : bool, default=True
    Whether all restarts of one kind, graph or latent, begin with the same pretrained autoencoder.
autoencoder : {"dense", "hadamard", "convolutional"} or pair of torch.nn.Module, default="dense"
    The network. "hadamard": the inner layers of a dense one are Hadamard products of low-rank
    factors. "convolutional": two strided convolutions on each side, for images. Encoder and
    decoder of your own are copied, not changed.
hidden_sizes : "auto" or tuple of int, default="auto"
    Widths of the layers between rows and latent space. "auto": (256, 128), for Hadamard layers
    (1024, 512, 256) as published. Not used for convolutions and networks of your own.
n_latent : int, default=10
    Dimensions of the latent space. A network of your own has its own.
activation : {"gelu", "leaky_relu", "relu"}, default="gelu"
    Function between layers.
n_factors : int, default=2
    Factors of a Hadamard layer; 1 is a low-rank layer.
rank : "auto" or int, default="auto"
    Rank of each factor. "auto": the root of the smaller side of the layer, 10 at least, and
    multiples of it until reconstructions are as good as those of the dense network. Layers whose
    factors would be no smaller stay dense.
image_shape : tuple of int or None, default=None
    Height and width, or channels, height and width of the rows, for convolutions.
"""

#: Parameters of training.
_TRAINING_PARAMETERS = r"""
reconstruction_weight : float, default=1.0
    Weight of the reconstruction error beside the loss of the clusters.
pretrain_epochs : "auto" or int, default="auto"
    Epochs in which the autoencoder learns to reconstruct. "auto": 15 or more, such that there
    are 600 steps; 150 for ``init="latent"``.
distill_epochs : "auto" or int, default="auto"
    Epochs in which labels of the graph are learned. "auto": 10 or more, such that there are 500
    steps and 10 for each cluster.
max_epochs : "auto" or int, default="auto"
    Epochs of self-training at most. "auto": 5 or more, such that there are 150 steps; 150 for
    ``init="latent"``.
tol : float or None, default=0.0
    Self-training ends when at most this share of the labels changes in each of five epochs.
    None: it goes on for all epochs.
batch_size : "auto" or int, default="auto"
    Rows of a step, about. "auto": 256; 512 for ``init="latent"``.
learning_rate : "auto" or float, default="auto"
    Of pretraining and distillation; that of self-training is a fixed part of it. "auto": 0.002;
    0.001 for ``init="latent"``.
warm_start : bool, default=False
    Whether ``fit`` goes on with self-training of the fitted network and centroids.
dtype : {"float32", "float64"}, default="float32"
    Numbers of the network; rows are converted.
device : str, default="auto"
    Where the network is trained, by PyTorch's names. "auto": a GPU if PyTorch finds one.
random_state : int, RandomState instance or None, default=None
    Determines all random draws. An integer makes results repeatable.
n_threads : int or None, default=1
    Threads of PyTorch during the call; the last digits of results depend on their number, see
    Notes. More are faster for wide networks and many features. None: as many as PyTorch is set
    to. -1: all cores.
verbose : int, default=0
    1 logs each phase, 2 each epoch, to the logger "polymeans" at level INFO.
"""

#: Centroids, as attributes.
_VECTORS = r"""
cluster_centers_ : ndarray of shape (n_clusters_, n_latent_)
    Centroids in the latent space; formed at each access.
decoded_centroids_ : ndarray of shape (n_clusters_, n_features)
    What the decoder makes of them; formed at each access.
"""

#: Protocentroids, as attributes.
_GRID_VECTORS = r"""
protocentroids_ : list of p ndarray of shape (h_q, n_latent_)
    The vectors all centroids are made of. What could be shifted from set to set is fixed as in
    :class:`polymeans.KhatriRaoKMeans`.
protolabels_ : ndarray of shape (n_samples, p), int32
    The protocentroid of each set a row's centroid is made of.
"""

#: Attributes that say how well a fit went.
_FIT_ATTRIBUTES = r"""
n_clusters_ : int
    Number of centroids.
n_latent_ : int
    Dimensions of the latent space.
inertia_ : float
    Sum of the squared latent distances to the nearest centroids.
reconstruction_error_ : float
    Mean squared error of an entry of the rows.
objective_ : float
    Published loss of the clusters, a mean over rows, plus the weighted reconstruction error.
"""

#: Attributes that say how a fit went.
_HISTORY_ATTRIBUTES = r"""
compression_ : float
    How many times more a dense network of the same sizes with free centroids would store.
history_ : ndarray
    One record for each epoch: ``phase`` ("pretraining", "compression", "distillation" or
    "self-training"), ``loss``, its parts ``clustering`` and ``reconstruction``, ``n_moved``
    rows whose nearest centroid was another one when they were last seen, and ``seconds``. While
    there are no centroids, ``clustering`` and ``n_moved`` are zero.
n_iter_ : int
    Epochs of self-training.
start_labels_ : ndarray of shape (n_samples,), int32
    Labels that training began with, as numbers of centroids.
start_source_ : str
    Where they came from: "spectral" or "k-means" (of the graph), "given", "latent space" or
    "warm start".
latent_maps_ : list of tuple
    Name of a phase and the latent vectors of at most 500 rows after it; see
    :func:`polymeans.deep.plot_latent_map`.
n_features_in_ : int
    Number of features seen during fit.
feature_names_in_ : ndarray of shape (`n_features_in_`,)
    Names of features seen during fit, where X has string names.
"""

#: The sections after *See Also*.
_NOTES_AND_REFERENCES = r"""
Notes
-----
Batches, first weights and starts are drawn from ``random_state`` alone, and PyTorch's global
random numbers are left as they are. On a CPU, the same seed gives the same bits with
``n_threads=1``, the default. With more threads PyTorch may add up in another order for another
number of threads; on a GPU, also from call to call.

Rows should have entries of about one: divide images by their largest value, standardize columns
of different units. If the loss diverges, the last state with a finite loss is kept, with
a ``ConvergenceWarning``; while the autoencoder is pretrained, that is an error.

References
----------
.. [1] "Khatri-Rao Clustering for Data Summarization", sections 4 and 7.
"""

_SECTIONS = {
    "use_and_cost": _USE_AND_COST,
    "network_parameters": _NETWORK_PARAMETERS,
    "training_parameters": _TRAINING_PARAMETERS,
    "vectors": _VECTORS,
    "grid_vectors": _GRID_VECTORS,
    "fit_attributes": _FIT_ATTRIBUTES,
    "history_attributes": _HISTORY_ATTRIBUTES,
    "notes_and_references": _NOTES_AND_REFERENCES,
}


def with_shared_sections(kind: Class) -> Class:
    """Replace names of shared texts in the docstring of a class by the texts.

    Parameters
    ----------
    kind : type
        A class; it is changed. Without docstrings (``python -OO``) it stays as it is.

    Returns
    -------
    type
        The same class.
    """

    def filled(place: re.Match[str]) -> str:
        indentation, name = place.groups()
        lines = _SECTIONS[name].strip("\n").splitlines()
        return "\n".join(indentation + line if line else "" for line in lines)

    if kind.__doc__ is not None:
        kind.__doc__ = re.sub(r"^( *)%\((\w+)\)s$", filled, kind.__doc__, flags=re.MULTILINE)
    return kind
