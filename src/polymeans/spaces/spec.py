"""Which space to cluster in: what the parameters of an estimator mean for given rows."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from polymeans._validation import is_name
from polymeans.spaces.glimpse import Glimpse
from polymeans.spaces.maps import Kernel

EMBEDDINGS = ("auto", "cut", "white", "svd")

#: Share of entries other than zero up to which rows without negative entries are taken for text:
#: documents of TDT2 and 20 Newsgroups have 0.4 percent, images of handwritten digits 19.
_TEXT = 0.1

#: Dimensions of an embedding for each cluster where none are given: of one to five for each
#: cluster, two were best for documents, see docs/explanation/constants.rst.
_DIMENSIONS_PER_CLUSTER = 2

#: Features up to which "auto" whitens rows, and rows for each cluster and feature that it needs:
#: the scatter within clusters can be estimated in all directions then. Tables such as wine (4.6
#: rows) gain, images of digits (2.8) lose, see docs/explanation/constants.rst.
_WHITENED_FEATURES, _WHITENED_ROWS = 100, 4

#: Where rows and features are both more than this, the full space is not decomposed (which took 1.2
#: seconds for 2000, and grows with the cube) but conjugate gradients solve with the rows.
_DECOMPOSED = 1000

#: Sparse rows are not decomposed either if they became more numbers than these: 512 MiB of float64.
_DENSE_NUMBERS = 2**26


@dataclass(frozen=True)
class SpaceSpec:
    """Everything that determines a space besides the rows."""

    embedding: str | None  #: "cut", "white", "svd", None; "auto": depends on the kernel's values
    n_components: int | None  #: None: all there are
    spherical: bool  #: rows are brought to length one first
    kernel: Kernel | None
    kernel_params: dict[str, Any]
    solver: str

    @property
    def normalizes_embedding(self) -> bool:
        """Whether rows are brought to length one in the embedding: always after a cut."""
        return self.embedding == "cut" or (self.spherical and self.embedding == "svd")


def specify_space(
    seen: Glimpse,
    n_clusters: int,
    *,
    embedding: str | None,
    n_components: Any,
    spherical: Any,
    kernel: Kernel | None,
    kernel_params: dict[str, Any] | None,
    solver: str,
    gradients_suffice: bool,
    free_units: bool,
) -> SpaceSpec:
    """Replace what is "auto" by what suits the rows.

    Parameters
    ----------
    seen : Glimpse
        Of the rows.
    n_clusters : int
    embedding : {"auto", "cut", "white", "svd"} or None
    n_components : int or "auto"
    spherical : bool or "auto"
    kernel : str, callable or None
    kernel_params : dict or None
    solver : str
    gradients_suffice : bool
        Nothing else in the fit needs a decomposed space, so that "auto" may choose "cg".
    free_units : bool
        No other parameter is in the units of the features, so that "auto" may choose "white".

    Returns
    -------
    SpaceSpec
    """
    if is_name(spherical, "auto"):
        spherical = kernel is None and looks_like_text(seen)
    if kernel is None:  # otherwise "auto" depends on the kernel's values
        whitens = (
            free_units and is_name(n_components, "auto") and has_few_features(seen, n_clusters)
        )
        embedding = _embedding_of_rows(seen, embedding, spherical, whitens)
    if is_name(n_components, "auto"):
        full_rank = embedding is None or is_name(embedding, "white")
        n_components = None if full_rank else _DIMENSIONS_PER_CLUSTER * n_clusters
    full = embedding is None and kernel is None and n_components is None
    if solver == "auto" and full and gradients_suffice and is_large(seen):
        solver = "cg"
    params = dict(kernel_params or {})
    return SpaceSpec(embedding, n_components, bool(spherical), kernel, params, solver)


def _embedding_of_rows(
    seen: Glimpse, embedding: str | None, spherical: bool, whitens: bool
) -> str | None:
    if is_name(embedding, "auto"):
        if spherical:
            return "svd" if seen.smallest < 0 else "cut"
        return "white" if whitens else "svd"
    if is_name(embedding, "cut") and seen.smallest < 0:
        raise ValueError(
            'embedding="cut" needs rows without negative entries, got entries down to '
            f'{seen.smallest:g}. Use embedding="svd".'
        )
    return embedding


def looks_like_text(seen: Glimpse) -> bool:
    """Whether rows, dense or sparse, are non-negative and mostly zero."""
    if seen.smallest < 0:
        return False
    return seen.n_nonzeros <= _TEXT * np.prod(seen.shape, dtype=float)


def has_few_features(seen: Glimpse, n_clusters: int) -> bool:
    """Whether the scatter of these rows within clusters can be estimated in all directions."""
    n, d = seen.shape
    return d <= _WHITENED_FEATURES and n >= _WHITENED_ROWS * n_clusters * d


def is_large(seen: Glimpse) -> bool:
    """Whether decomposing the full space of these rows would take too much time or memory."""
    n, smaller = seen.shape[0], min(seen.shape)
    return smaller > _DECOMPOSED or (seen.is_sparse and n * smaller > _DENSE_NUMBERS)
