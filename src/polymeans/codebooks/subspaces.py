"""The subspaces of views, in the user's coordinates: their directions and what they explain."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polymeans.codebooks.base import Centroids
from polymeans.codebooks.orthogonal import OrthogonalCodebook, basis_of
from polymeans.core.frame import MeasuredFrame

#: Lengths below this share of the longest are no direction: rounding of sums of float64 numbers
#: leaves less, and a direction with so little spread would change no label.
_NOTHING = 1e-10


class Subspaces(NamedTuple):
    """Where views lie, and how much of the rows' scatter they explain."""

    rotation: NDArray[np.float64]  #: (n_features, n_dims) orthonormal columns, view after view
    n_dims: tuple[int, ...]  #: of each view
    explained: NDArray[np.float64]  #: (n_views,) shares of the scatter of all rows


def describe_subspaces(
    codebook: Centroids,
    sets: Sequence[NDArray[Any]],
    shares: Sequence[NDArray[np.float64]],
    frame: MeasuredFrame,
) -> Subspaces:
    """Directions of all views, in each the one along which its clusters differ most first.

    Parameters
    ----------
    codebook : codebook
        An :class:`~polymeans.codebooks.orthogonal.OrthogonalCodebook`, or free centroids for a
        single view.
    sets : sequence of ndarray of shape (k, n_features)
        Its centers of each view in the user's coordinates, the first set including the mean.
    shares : sequence of ndarray of shape (k,)
        Of the rows, in each cluster of each view to be described.
    frame : MeasuredFrame

    Returns
    -------
    Subspaces
    """
    found = [
        _view_directions(codebook, s, sets[s], of_view, frame) for s, of_view in enumerate(shares)
    ]
    directions = [part for part, _ in found]
    total = frame.mean_variance * frame.n_features
    explained = np.array([variance for _, variance in found]) / (total if total > 0 else 1.0)
    rotation = np.concatenate([np.empty((0, frame.n_features)), *directions]).T
    return Subspaces(rotation, tuple(len(part) for part in directions), explained)


def completed_rotation(columns: NDArray[Any]) -> NDArray[Any]:
    """An orthogonal matrix that begins with these orthonormal columns."""
    wide = np.linalg.qr(columns, mode="complete")[0]
    return np.concatenate([columns, wide[:, columns.shape[1] :]], axis=1)


def _view_directions(
    codebook: Centroids,
    s: int,
    centers: NDArray[Any],
    shares: NDArray[np.float64],
    frame: MeasuredFrame,
) -> tuple[NDArray[np.float64], float]:
    """Directions of a view, and the variance along them (engine units)."""
    deviations = centers.astype(np.float64) / frame.unit
    if not isinstance(codebook, OrthogonalCodebook):
        # The mean of equal centers differs from them by rounding, which is no deviation.
        floor = 4 * np.finfo(centers.dtype).eps * float(np.linalg.norm(deviations, axis=1).max())
        return principal_directions(deviations - shares @ deviations, shares, None, floor)
    if s == 0:
        deviations -= frame.external(frame.mean[None])[0].astype(np.float64) / frame.unit
    basis = frame.external_directions(basis_of(codebook.views, s))
    return principal_directions(deviations, shares, basis)


def principal_directions(
    deviations: NDArray[np.float64],
    masses: NDArray[np.float64],
    basis: NDArray[np.float64] | None = None,
    floor: float = 0.0,
) -> tuple[NDArray[np.float64], float]:
    """Directions in which a view's centers vary, the strongest first, and their variance.

    The largest entry of every direction is positive, so that the result does not depend on how a
    basis was found.

    Parameters
    ----------
    deviations : ndarray of shape (k, n_features)
        Centers less the mean of all rows.
    masses : ndarray of shape (k,)
        Shares of the rows.
    basis : ndarray of shape (m, n_features), default=None
        Orthonormal rows that span the view; None: what the centers span.
    floor : float, default=0
        Lengths that rounding may account for.

    Returns
    -------
    directions : ndarray of shape (m, n_features)
        Orthonormal rows.
    variance : float
        Between the centers, along all of them.
    """
    weighted = np.sqrt(masses)[:, None] * deviations
    if basis is None:
        _, lengths, directions = np.linalg.svd(weighted, full_matrices=False)
        n_dims = min(len(masses) - 1, np.count_nonzero(lengths > max(floor, _NOTHING * lengths[0])))
        directions = directions[:n_dims]
    elif len(basis):
        _, _, rotation = np.linalg.svd(weighted @ basis.T)
        directions = rotation @ basis
    else:
        directions = basis
    variance = float(np.sum((weighted @ directions.T) ** 2))
    largest = np.argmax(np.abs(directions), axis=1)
    signs = np.sign(directions[np.arange(len(directions)), largest])
    return directions * signs[:, None], variance


def n_numbers(views: dict[str, Any]) -> int:
    """Numbers that views consist of: rotation, centers within it, mean, and the whitening."""
    rotation, whitening = views["rotation_"], views["whitening_"]
    numbers = rotation.size + len(rotation)
    numbers += sum(k * m for k, m in zip(views["n_clusters_"], views["n_dims_"]))
    if whitening is not None:
        numbers += whitening.size + views["mean_"].size
    return int(numbers)
