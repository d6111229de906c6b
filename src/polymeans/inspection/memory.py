"""How much memory a fit takes, from the shape of the rows alone."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from polymeans._validation import check_integer, check_positive, shown
from polymeans.engine.assignment import _FEW_DENSE
from polymeans.engine.dense_assigners import _BOUND_BYTES, _BOUND_BYTES_LIMIT
from polymeans.inspection._about_rows import about_rows
from polymeans.inspection._models import in_latent_space

#: Bytes that are kept for each row in any fit: weights, norms, labels before and after.
_EACH_ROW = 24

#: Further bytes of a row of float64, whose sums have more rungs.
_EACH_WIDE_ROW = 16

#: Bytes for each stored entry of CSR rows: the order of features, and entries by feature.
_EACH_ENTRY = 16

#: Bytes for each entry of the centroids: themselves, exact sums in two threads, copies.
_EACH_CENTER_ENTRY = 40

#: The same for QuickKMeans, whose factorization works with several dense and sparse copies.
_EACH_FACTORED_ENTRY = 400

#: What a process has besides: buffers of threads and of assigners.
_FIXED = 2**19


@dataclass(frozen=True)
class MemoryEstimate:
    """What :func:`polymeans.memory_estimate` returns; bytes.

    Parameters
    ----------
    rows : int
        The rows themselves.
    fit : int
        What a fit adds to them at its peak.
    model : int
        What the fitted model keeps: its numbers and the labels of the rows.

    See Also
    --------
    polymeans.memory_estimate : Makes it.

    Examples
    --------
    >>> from polymeans import KMeans, memory_estimate
    >>> estimate = memory_estimate((1_000_000, 50), KMeans(100), dtype="float32")
    >>> estimate.rows, estimate.model
    (200000000, 4020000)
    """

    rows: int
    fit: int
    model: int

    @property
    def peak(self) -> int:
        """Rows and fit together."""
        return self.rows + self.fit

    def __str__(self) -> str:
        return (
            f"rows {_in_words(self.rows)}, a fit adds {_in_words(self.fit)} at its peak, the model "
            f"keeps {_in_words(self.model)}"
        )


def memory_estimate(
    shape: Any,
    estimator: Any = 8,
    *,
    dtype: Any = None,
    density: float | None = None,
) -> MemoryEstimate:
    """Bytes that rows, a fit and its model take, before anything is allocated.

    **Idea.** What a fit allocates follows from the numbers of rows, features and clusters. The
    formulas were compared with measured peaks: they are above these by less than a factor of two
    for thousands of rows and more.

    **Use when** you wonder whether rows and fit will fit into memory, or how many clusters will.
    **Do not use** for rows that are read in blocks, where a fit keeps two blocks and a few
    numbers for each row, or for networks (:mod:`polymeans.deep`), which are refused.

    **Cost.** None: nothing is allocated.

    Parameters
    ----------
    shape : tuple of int, array, sparse matrix or frame
        Numbers of rows and features, or rows that have them. Rows are not looked into.
    estimator : estimator or int, default=8
        What will be fitted, with its parameters; a number stands for
        :class:`KMeans` with as many clusters. Of a Pipeline the last step counts: ``shape`` is that
        of the rows which this step gets, and what the other steps allocate is not known.
    dtype : dtype or None, default=None
        Of the rows as they are clustered: float32 stays, other numbers become float64. A copy that
        such a conversion takes is not counted. None: that of the rows, if rows are given; else
        float64.
    density : float or None, default=None
        Share of the entries that are stored, for CSR rows. None: that of a sparse matrix, if one is
        given; else dense rows.

    Returns
    -------
    estimate : MemoryEstimate
        Bytes of the rows, of what a fit adds at its peak, and of the model.

    See Also
    --------
    polymeans.blocks : Readers of files that are larger than memory.
    polymeans.inspection.MemoryEstimate : What it returns.

    Examples
    --------
    >>> from polymeans import KMeans, memory_estimate
    >>> estimate = memory_estimate((1_000_000, 50), KMeans(100), dtype="float32")
    >>> estimate.rows, estimate.fit < estimate.rows
    (200000000, True)
    >>> print(memory_estimate((1_000_000, 10_000), 100, density=0.005))
    rows 604 MB, a fit adds 929 MB at its peak, the model keeps 12.0 MB
    """
    if not isinstance(shape, tuple | list):
        shape, own_dtype, own_density = about_rows(shape)
        dtype = own_dtype if dtype is None else dtype
        density = own_density if density is None else density
    n, d = _check_shape(shape)
    if hasattr(estimator, "steps"):  # a Pipeline
        estimator = estimator.steps[-1][1]
    if isinstance(estimator, int | np.integer) and not isinstance(estimator, bool):
        from polymeans.kmeans import KMeans

        check_integer("estimator", estimator, 1, "A number stands for KMeans of so many clusters.")
        estimator = KMeans(int(estimator))
    size = 4 if np.dtype("float64" if dtype is None else dtype) == np.float32 else 8
    rows = _Rows(n, d, size, None if density is None else _check_density(density))
    structure = _structure(estimator, d)
    fit = _FITS[structure.kind](rows, structure, estimator)
    return MemoryEstimate(rows.bytes, int(fit), structure.n_parameters * size + 4 * n)


@dataclass(frozen=True)
class _Rows:
    """What is known about the rows."""

    n: int
    d: int
    size: int  #: bytes of a value
    density: float | None

    @property
    def n_stored(self) -> int:
        return math.ceil(self.n * self.d * (1.0 if self.density is None else self.density))

    @property
    def bytes(self) -> int:
        if self.density is None:
            return self.n * self.d * self.size
        # An index has four bytes as long as there are fewer than 2**31 entries.
        index = 4 if self.n_stored < 2**31 else 8
        return self.n_stored * (self.size + index) + (self.n + 1) * index


@dataclass(frozen=True)
class _Structure:
    """What is known about the centroids."""

    kind: str
    k: int  #: centroids
    vectors: int  #: vectors they are made of
    n_parameters: int


def _structure(estimator: Any, d: int) -> _Structure:
    """Kind and number of the centroids of an estimator that need not be fitted."""
    name = type(estimator).__name__
    if in_latent_space(estimator):
        raise NotImplementedError(
            f"estimator={name}(): what a fit takes depends on the network and on PyTorch, and is "
            "not estimated. Fit a tenth of the rows and measure; if all of them are too many, fit "
            "blocks (polymeans.blocks), of which a few are in memory at a time."
        )
    if name == "KhatriRaoKMeans":
        sizes = [int(h) for h in estimator.n_protocentroids]
        return _Structure("search", math.prod(sizes), sum(sizes), sum(sizes) * d)
    if name == "NonRedundantKMeans":
        given = estimator.n_clusters
        if isinstance(given, str):
            raise ValueError(
                f"n_clusters={given!r} leaves the number of clusters open, and with it the memory. "
                "Give the clusters of each view, as in NonRedundantKMeans((3, 4))."
            )
        sizes = [int(given)] if np.ndim(given) == 0 else [int(k) for k in given]
        return _Structure("views", sum(sizes), sum(sizes), 2 * sum(sizes) * d)
    known = {"KMeans": "plain", "L1KMeans": "plain", "QuickKMeans": "factored"}
    known["TransformedKMeans"] = "space"
    if name not in known:
        raise TypeError(
            "estimator must be one of polymeans', a Pipeline that ends with one, or a number of "
            f"clusters, got {name}. Nothing is known about the memory of others."
        )
    k = int(estimator.n_clusters)
    return _Structure(known[name], k, k, k * d)


# --- what fits add -------------------------------------------------------------------------------


def _plain(rows: _Rows, structure: _Structure, estimator: Any) -> float:
    """k-means: numbers for each row, bounds, exact sums of the centroids, a copy if spherical."""
    k, n = structure.k, rows.n
    trials = 2 + int(math.log(k))  # candidates of k-means++, a distance for each row
    each = _EACH_ROW + (_EACH_WIDE_ROW if rows.size == 8 else 0) + 8 * trials
    total = float(_FIXED + n * each + _EACH_CENTER_ENTRY * k * rows.d)
    algorithm = getattr(estimator, "algorithm", "auto")
    if algorithm == "elkan":
        total += 4.0 * n * k
    elif rows.density is None and algorithm != "lloyd" and k >= _FEW_DENSE:
        total += _bounds(rows, k)
    if rows.density is not None:
        total += _EACH_ENTRY * rows.n_stored
    if getattr(estimator, "metric", "euclidean") == "cosine":
        total += rows.size * rows.n_stored  # rows of length one
    return total


def _bounds(rows: _Rows, k: int) -> float:
    """A lower bound for each row and group of centroids, as the assigner keeps them."""
    panels = -(-k // (16 if rows.size == 4 else 8))
    room = min(max(rows.bytes // 2, _BOUND_BYTES), _BOUND_BYTES_LIMIT)
    affordable = room // (4 * rows.n)
    affordable = max(1, affordable // 16 * 16 if affordable > 16 else affordable)
    groups = -(-panels // -(-panels // affordable))
    return 4.0 * rows.n * (16 * -(-groups // 16) + 1)


def _factored(rows: _Rows, structure: _Structure, estimator: Any) -> float:
    return _plain(rows, structure, estimator) + _EACH_FACTORED_ENTRY * structure.k * rows.d


def _search(rows: _Rows, structure: _Structure, estimator: Any) -> float:
    """Khatri-Rao k-means: copies of the rows beside products with all protocentroids."""
    _refuse_sparse(rows, estimator)
    each = (12 + rows.size) * rows.d + 8 * structure.vectors + 2 * structure.k + 80
    return 4 * _FIXED + rows.n * each + 8 * _EACH_CENTER_ENTRY * structure.vectors * rows.d


def _views(rows: _Rows, structure: _Structure, estimator: Any) -> float:
    """Several views: a search on a sample, then products with all centers."""
    _refuse_sparse(rows, estimator)
    sample = min(rows.n, 3000) * (8.0 * rows.d + 40 * structure.vectors)
    return 8 * _FIXED + rows.n * (72 + 2 * structure.vectors) + 2 * sample


def _space(rows: _Rows, structure: _Structure, estimator: Any) -> float:
    """A learned metric: the rows in the coordinates of the space, several times."""
    if estimator.kernel is not None:
        return 8.0 * rows.n * rows.n * 3 + 60.0 * rows.n * structure.k
    _refuse_sparse(rows, estimator)
    given = estimator.n_components
    wanted = 2 * structure.k if isinstance(given, str) else int(given)
    dims = min(rows.d, rows.n, rows.d if estimator.embedding is None else wanted)
    return 4 * _FIXED + rows.n * (24.0 * dims + 80)


def _refuse_sparse(rows: _Rows, estimator: Any) -> None:
    if rows.density is not None:
        raise NotImplementedError(
            f"density={rows.density}: what {type(estimator).__name__} takes for CSR rows depends "
            "on where their entries are. Fit a tenth of the rows and measure; it grows with their "
            "number at most."
        )


_FITS = {
    "plain": _plain,
    "factored": _factored,
    "search": _search,
    "views": _views,
    "space": _space,
}


# --- checks and words ----------------------------------------------------------------------------


def _check_shape(shape: Any) -> tuple[int, int]:
    try:
        n, d = shape
    except (TypeError, ValueError):
        raise TypeError(
            f"shape must be the numbers of rows and features, as in (1000, 20), or rows that have "
            f"them, got {shown(shape)}."
        ) from None
    check_integer("shape[0]", n, 1)
    check_integer("shape[1]", d, 1)
    return int(n), int(d)


def _check_density(density: Any) -> float:
    return check_positive("density", density, "It is the share of stored entries.", 1.0)


def _in_words(n_bytes: float) -> str:
    for unit in ("bytes", "kB", "MB", "GB"):
        if n_bytes < 999.5:
            return f"{n_bytes:#.3g}".rstrip(".") + f" {unit}"
        n_bytes /= 1000
    return f"{n_bytes:#.3g}".rstrip(".") + " TB"
