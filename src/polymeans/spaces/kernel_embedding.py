"""The main directions of a kernel's space, from its values between all pairs of rows."""

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import ArpackError, ArpackNoConvergence, LinearOperator, eigsh

from polymeans.core.rows import Rows
from polymeans.engine.directions import above_rounding, signs_of
from polymeans.spaces.maps import Kernel, KernelMap
from polymeans.spaces.spec import SpaceSpec

#: Rows up to which all eigenvalues of a kernel are computed: that took 1.2 seconds for 2000 rows
#: and grows with the cube, where Lanczos' method takes some dozens of products.
_EXACT_ROWS = 2000

#: Share of the largest eigenvalue down to which negative ones are taken for errors of the kernel's
#: own computation (float32 values have a relative error of 6e-8, sums of them more).
_NEGATIVE = 1e-6

#: Relative difference of kernel values from those with rows exchanged that is an error of its
#: computation and not another function; a hundred units of float32.
_ASYMMETRIC = 1e-5

#: Relative difference of the rows' lengths below which they count as equal, also in float32.
_SAME_LENGTH = 1e-6

#: Share of the largest value below which a negative one is rounding in float64.
_ROUNDING = 1e-12

#: Least degree, as a share of the mean: a row with next to no products with others would otherwise
#: be divided by next to nothing and determine the directions alone.
_LEAST_DEGREE = 1e-6

#: Share of the squared norm below which a remainder is what rounding left.
_NO_SHARE = 1e-9


def floored_degrees(
    degrees: NDArray[np.float64], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Degrees of the rows, none of them below a small share of their weighted mean."""
    mean = float(weights @ degrees) / weights.sum()
    return np.maximum(degrees, _LEAST_DEGREE * max(mean, 1e-300))


def share_outside(inside: float, total: float) -> float:
    """Share of a total that is not inside; 0 where it is rounding."""
    share = 1.0 - inside / total if total > 0 else 0.0
    return share if share > _NO_SHARE else 0.0


def embedding_for(gram: NDArray[np.float64], embedding: str | None) -> str | None:
    """What "auto" means for a kernel: a cut if its rows have one length and no negative products.

    That is what rows of text look like.
    """
    if embedding != "auto":
        return embedding
    alike = np.ptp(np.diag(gram)) <= _SAME_LENGTH * np.abs(np.diag(gram)).max()
    return "cut" if alike and not _is_negative(gram) else "svd"


def _is_negative(gram: NDArray[np.float64]) -> bool:
    """Whether there are values below zero by more than rounding."""
    return bool(gram.min() < -_ROUNDING * gram.max())


def kernel_map(
    rows: Rows,
    gram: NDArray[np.float64],
    weights: NDArray[np.float64],
    spec: SpaceSpec,
    rng: np.random.Generator,
) -> tuple[KernelMap, float]:
    """The map into the main directions of a kernel, and the share of its trace that is outside.

    Parameters
    ----------
    rows : ndarray or CSR of shape (n_samples, n_features)
    gram : ndarray of shape (n_samples, n_samples)
        Kernel values of all pairs of rows.
    weights : ndarray of shape (n_samples,)
    spec : SpaceSpec
    rng : Generator

    Returns
    -------
    row_map : KernelMap
    discarded : float
    """
    kernel = spec.kernel
    assert kernel is not None
    shares: NDArray[np.float64] | None = None
    means: NDArray[np.float64] | None = None
    scales = np.sqrt(weights)
    if spec.embedding == "cut":
        degrees = gram @ weights
        if _is_negative(gram):
            raise ValueError(
                f'embedding="cut" needs kernel values that are not negative, but kernel={kernel!r} '
                f'has {gram.min():g}. Use embedding="svd".'
            )
        scales = scales / np.sqrt(floored_degrees(degrees, weights))
    else:
        shares = weights / weights.sum()
        means = gram @ shares
    size = float(np.abs(gram).max() * (scales @ scales))
    if shares is not None and means is not None:
        gram = gram - means - means[:, None] + means @ shares
    gram *= scales
    gram *= scales[:, None]
    n_pairs = len(gram) if spec.n_components is None else min(spec.n_components, len(gram))
    total = float(np.trace(gram))
    squares, vectors = _eigenpairs(gram, n_pairs, rng, kernel, size)
    noise = len(gram) * np.finfo(np.float64).eps * size
    real = above_rounding(squares, len(gram)) & (squares > noise)
    if not real.any():  # a single direction with zeros
        squares, vectors, real = np.zeros(1), np.zeros((len(gram), 1)), np.ones(1, dtype=bool)
    squares, vectors = squares[real], vectors[:, real]
    lengths = np.sqrt(np.where(squares > 0, squares, 1.0))
    # A copy, since prepared rows may be the user's array.
    known = None if isinstance(kernel, str) and kernel == "precomputed" else rows.copy()
    row_map = KernelMap(
        kernel,
        spec.kernel_params,
        known,
        scales[:, None] * (vectors * signs_of(vectors)) / lengths,
        shares,
        means,
        spec.normalizes_embedding,
    )
    return row_map, share_outside(float(squares.sum()), total)


def checked_gram(gram: NDArray[np.float64], n: int, kernel: Kernel) -> NDArray[np.float64]:
    """Kernel values of all pairs of n rows, made symmetric; an error if they cannot be a kernel."""
    if gram.shape != (n, n):
        raise ValueError(
            f"kernel={kernel!r} must give one value for each pair of rows, a square matrix, got "
            f"shape {gram.shape}. A function of two sets of rows has to return a matrix with a "
            "line for each row of the first."
        )
    if not np.isfinite(gram).all():
        raise ValueError(
            f"kernel={kernel!r} gives values that are not finite numbers: X may be too large to be "
            "squared. Divide it by its largest value, or standardize it."
        )
    apart = float(np.abs(gram - gram.T).max())
    if apart > _ASYMMETRIC * max(float(np.abs(gram).max()), 1e-300):
        raise ValueError(
            f"kernel={kernel!r} must be symmetric, but values differ by up to {apart:g} from those "
            "with rows exchanged. Use (K + K.T) / 2 if that is what is meant."
        )
    return (gram + gram.T) / 2


def _smallest(gram: NDArray[np.float64], largest: float, start: NDArray[np.float64]) -> float:
    """An estimate of the smallest eigenvalue; 0 if none is clearly below zero.

    Most kernels have many eigenvalues near zero, among which Lanczos' method cannot separate the
    smallest. Of ``largest * I - gram`` it is the largest, which is found if it lies apart.
    """
    reflected = LinearOperator(gram.shape, lambda v: largest * v - gram @ v, dtype=np.float64)
    # Only whether it is below -_NEGATIVE times the largest matters: few digits, and few restarts.
    try:
        found = eigsh(
            reflected, 1, which="LA", v0=start, tol=1e-7, maxiter=20, return_eigenvectors=False
        )
    except ArpackNoConvergence as undecided:
        found = undecided.eigenvalues
    return largest - float(found[0]) if len(found) else 0.0


def _eigenpairs(
    gram: NDArray[np.float64],
    n_pairs: int,
    rng: np.random.Generator,
    kernel: Kernel,
    size: float,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The largest eigenvalues and their vectors; none may be negative beyond rounding.

    ``size`` is what eigenvalues could be before the mean was subtracted.
    """
    n = len(gram)
    if n <= _EXACT_ROWS or 3 * n_pairs > n:
        squares, vectors = np.linalg.eigh(gram)
        smallest = squares[0]
        squares, vectors = squares[::-1][:n_pairs], vectors[:, ::-1][:, :n_pairs]
    else:
        start = rng.standard_normal(n)
        try:
            squares, vectors = eigsh(gram, n_pairs, which="LA", v0=start)
        except ArpackError:  # nothing but zeros
            return np.zeros(1), np.zeros((n, 1))
        order = np.argsort(-squares)
        squares, vectors = squares[order], vectors[:, order]
        smallest = _smallest(gram, float(squares[0]), start)
    if smallest < -max(_NEGATIVE * float(squares[0]), _ROUNDING * size):
        raise ValueError(
            f"kernel={kernel!r} must be positive semidefinite, but has the eigenvalue "
            f"{smallest:g} (largest: {squares[0]:g}). Use another kernel, or add "
            f"{-smallest:.3g} to the diagonal."
        )
    return np.maximum(squares, 0.0), vectors
