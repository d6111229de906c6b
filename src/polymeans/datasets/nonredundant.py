"""Rows that can be grouped in several ways at once, as in non-redundant clustering."""

from collections.abc import Callable, Sequence
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from polymeans._validation import check_integer, check_real, check_seed
from polymeans.datasets._common import balanced, check_range

#: Places drawn for each center before the scale of its view is raised. With the default scale and
#: separation few are needed; the number limits the draws where centers hardly fit.
_TRIES = 32

#: Factor by which the scale of a view is raised until its centers fit.
_LARGER_SCALE = 1.1


def make_nonredundant(
    n_samples: int = 1500,
    n_clusters: int | Sequence[int] = (3, 4, 5),
    *,
    n_dims: int | Sequence[int] | None = None,
    n_noise: int = 8,
    separation: float | None = 6.0,
    center_scale: float = 6.0,
    scales: float | Sequence[float] = 1.0,
    noise_scale: float = 1.0,
    dependence: float = 0.0,
    rotate: bool = True,
    random_state: Any = None,
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.float64]]:
    """Rows with several clusterings, each in separate dimensions.

    **Idea.** Every view is a few dimensions in which rows form clusters; clusters of different
    views are independent. Centers are normal, redrawn while they are too close to another, and
    rows scatter about them with standard deviation 1. Dimensions with noise only are added. At last
    all dimensions are mixed by a random rotation.

    **Use when** you need data with several clusterings, or with a clustering in a subspace. **Do
    not use** to judge how well such views fit real data, nor for one ordinary clustering: use
    ``sklearn.datasets.make_blobs``. **Cost:** for d dimensions
    ``n_samples · d`` draws; to rotate also ``n_samples · d² + d³`` operations.

    Parameters
    ----------
    n_samples : int, default=1500
        Number of rows.
    n_clusters : int or sequence of int, default=(3, 4, 5)
        Clusters of each view; any number of views. An integer makes a single view.
    n_dims : int, sequence of int or None, default=None
        Dimensions of each view, or one number for all. None: 1 for views of up to two clusters and
        2 for others.
    n_noise : int, default=8
        Dimensions that are only noise.
    separation : float or None, default=6.0
        Smallest distance between two centers of a view, in standard deviations of a cluster. At 6
        clusters hardly overlap. None or 0: any distance, which is harder.
    center_scale : float, default=6.0
        Standard deviation of the entries of centers, in those of a cluster. Where it is too small
        for ``separation``, it is raised as far as needed for that view.
    scales : float or sequence of float, default=1.0
        What each view, its centers and its scatter, is multiplied by: one number for all, or one
        for each. With unequal ones some views have more variance, but not clearer clusters.
    noise_scale : float, default=1.0
        Standard deviation of the dimensions that are only noise.
    dependence : float, default=0.0
        Share of rows, drawn anew for each later view, whose cluster there follows from the one in
        the first view, as closely as clusters of equal size allow. At 1 a view with as many
        clusters as the first repeats it, one with half as many joins its clusters in pairs. At 0
        views are independent.
    rotate : bool, default=True
        Whether to rotate. Without, the columns of the rows are the dimensions themselves.
    random_state : int, RandomState instance or None, default=None
        Determines the rows. Views, noise and rotation have separate random numbers: with the same
        seed an option changes only the parts it concerns, and further views leave earlier ones
        unchanged, up to the rotation.

    Returns
    -------
    X : ndarray of shape (n_samples, d), float64
        The rows; ``d = sum(n_dims) + n_noise``.
    labels : ndarray of shape (n_samples, n_views), int64
        Cluster in each view. Clusters of a view have equal sizes, give or take one row.
    rotation : ndarray of shape (d, d), float64
        Orthogonal, drawn uniformly (Haar), or the identity. ``X @ rotation`` undoes it: its
        columns are the dimensions of the first view, then those of the second and so on, and
        noise at the end. So the columns of ``rotation`` itself are directions in the space of
        rows, in the same order.

    See Also
    --------
    make_colored_letters : Images with three clusterings.
    make_khatri_rao : Clusterings that add up in the same columns.
    sklearn.datasets.make_blobs : Rows around centers, one clustering.

    Examples
    --------
    >>> import numpy as np
    >>> from polymeans import KMeans
    >>> from polymeans.datasets import make_nonredundant
    >>> from polymeans.metrics import unsupervised_accuracy
    >>> X, labels, rotation = make_nonredundant(
    ...     300, (3, 4), n_dims=(2, 2), n_noise=5, random_state=0
    ... )
    >>> X.shape, labels.shape, rotation.shape
    ((300, 9), (300, 2), (9, 9))
    >>> first, second, noise = np.split(X @ rotation, [2, 4], axis=1)
    >>> model = KMeans(4, n_init=5, random_state=0).fit(second)
    >>> unsupervised_accuracy(labels[:, 1], model.labels_) > 0.99
    True
    """
    check_integer("n_samples", n_samples, 1)
    counts = _check_clusters(n_clusters)
    dims = _check_dims(n_dims, counts)
    check_integer("n_noise", n_noise, 0)
    least = 0.0
    if separation is not None:
        least = check_real("separation", separation, 0, "None leaves the distance open.")
    center_scale = check_real("center_scale", center_scale, 0)
    if center_scale == 0 and least > 0 and max(counts) > 1:
        raise ValueError(
            f"center_scale must be above 0 for separation={separation!r}, got {center_scale!r}: "
            "all centers are the same. Raise it, or set separation to None."
        )
    factors = tuple(map(float, _one_for_each("scales", scales, len(counts), _check_scale)))
    noise_scale = check_real("noise_scale", noise_scale, 0)
    dependence = check_range("dependence", dependence, 0.0, 1.0)
    rng = check_seed(random_state)

    # A generator for each part, so that options of one do not change the draws of others.
    seeds = rng.randint(2**31 - 1, size=2 + len(counts))
    turns, rest, *streams = [np.random.RandomState(seed) for seed in seeds]
    labels = np.empty((n_samples, len(counts)), dtype=np.int64)
    parts = []
    for view, (k, m, factor, stream) in enumerate(zip(counts, dims, factors, streams)):
        labels[:, view] = balanced(stream, n_samples, k)
        followers = stream.permutation(n_samples)[: round(dependence * n_samples)]
        if view > 0:
            _follow(labels[:, view], labels[:, 0], followers)
        scatter = stream.standard_normal((n_samples, m))
        centers = _place_centers(stream, (k, m), center_scale, least)
        parts.append(factor * (centers[labels[:, view]] + scatter))
    # Drawn column by column: further columns do not change the first ones.
    parts.append(noise_scale * rest.standard_normal((n_noise, n_samples)).T)

    X = np.ascontiguousarray(np.concatenate(parts, axis=1))
    if not rotate:
        return X, labels, np.eye(X.shape[1])
    rotation = _random_rotation(turns, X.shape[1])
    return X @ rotation.T, labels, rotation


def _check_clusters(n_clusters: Any) -> tuple[int, ...]:
    remedy = "Give the number of clusters of each view, such as (3, 4)."
    if isinstance(n_clusters, Real):
        check_integer("n_clusters", n_clusters, 1, remedy)
        return (int(float(n_clusters)),)
    if isinstance(n_clusters, str | bytes) or not np.iterable(n_clusters):
        raise TypeError(
            f"n_clusters must be an integer or a sequence of integers, got {n_clusters!r}. {remedy}"
        )
    counts = tuple(n_clusters)
    if not counts:
        raise ValueError(f"n_clusters must have at least one view, got (). {remedy}")
    for view, k in enumerate(counts):
        check_integer(f"n_clusters[{view}]", k, 1, remedy)
    return tuple(int(k) for k in counts)


def _check_dims(n_dims: Any, counts: tuple[int, ...]) -> tuple[int, ...]:
    """Dimensions of each view; by default as many as its centers span, but no more than two."""
    if n_dims is None:
        return tuple(1 if k <= 2 else 2 for k in counts)
    dims = _one_for_each("n_dims", n_dims, len(counts), lambda name, m: check_integer(name, m, 1))
    return tuple(int(m) for m in dims)


def _check_scale(name: str, scale: Any) -> None:
    check_real(name, scale, 0)
    if scale == 0:
        raise ValueError(
            f"{name} must be above 0, got {scale!r}: the view would vanish. Leave it out of "
            "n_clusters instead."
        )


def _one_for_each(
    name: str, value: Any, n_views: int, check: Callable[[str, Any], None]
) -> tuple[Any, ...]:
    """A number repeated for every view, or a sequence that has one for each; all checked."""
    if isinstance(value, Real):
        check(name, value)
        return (value,) * n_views
    remedy = "Give one number for all views, or a sequence of one for each."
    if isinstance(value, str | bytes) or not np.iterable(value):
        raise TypeError(
            f"{name} must be a number or a sequence of numbers, got {value!r}. {remedy}"
        )
    values = tuple(value)
    if len(values) != n_views:
        raise ValueError(
            f"{name} must have {n_views} entries, as many as n_clusters has views, "
            f"got {len(values)}: {value!r}. {remedy}"
        )
    for view, one in enumerate(values):
        check(f"{name}[{view}]", one)
    return values


def _follow(labels: NDArray[np.int64], leader: NDArray[np.int64], rows: NDArray[np.int64]) -> None:
    """Exchange the labels of some rows, in place, so that among these they rise with the leader's.

    Rows only swap labels, so clusters keep their sizes. Rows come in random order, which decides
    which of them are separated where a cluster must be split.
    """
    rows = rows[np.argsort(leader[rows], kind="stable")]
    labels[rows] = np.sort(labels[rows])


def _place_centers(
    rng: np.random.RandomState, shape: tuple[int, int], scale: float, separation: float
) -> NDArray[np.float64]:
    """Normal centers at least ``separation`` apart, on a larger scale if they do not fit."""
    k, m = shape
    # All candidates are drawn beforehand; on a large enough scale the first of each are apart.
    candidates = rng.standard_normal((k, _TRIES, m))
    while True:
        centers = _first_apart(scale * candidates, separation)
        if centers is not None:
            return centers
        scale *= _LARGER_SCALE


def _first_apart(candidates: NDArray[np.float64], separation: float) -> NDArray[np.float64] | None:
    """The first candidate for each center that is far from the centers before, None if none is."""
    centers = candidates[:, 0].copy()
    for position in range(1, len(centers)):
        distances = cdist(candidates[position], centers[:position])
        far = (distances >= separation).all(axis=1)
        if not far.any():
            return None
        centers[position] = candidates[position, far.argmax()]
    return centers


def _random_rotation(rng: np.random.RandomState, d: int) -> NDArray[np.float64]:
    """An orthogonal matrix, uniformly distributed (it may also reflect)."""
    q, r = np.linalg.qr(rng.standard_normal((d, d)))
    # Signs are a convention of the factorization; with those of r taken out, q is uniform.
    return q * np.where(np.diag(r) < 0, -1.0, 1.0)
