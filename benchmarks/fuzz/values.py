"""Values of rows: ordinary ones, ties, and scales at the edges of the floating-point range."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

_Rng = np.random.Generator
_Matrix = NDArray[np.float64]

#: Exponents of ten whose squares are normal numbers and do not overflow, with room for sums, and
#: those that leave both. float32 rows have sums in float64: what is extreme for them is their type.
_SAFE = {"float64": 140, "float32": 17}
_WIDE = {"float64": 300, "float32": 36}


def _normal(rng: _Rng, n: int, d: int, dtype: str) -> _Matrix:
    return rng.normal(size=(n, d))


def _blobs(rng: _Rng, n: int, d: int, dtype: str) -> _Matrix:
    centers = 8 * rng.normal(size=(int(rng.integers(1, 9)), d))
    return centers[rng.integers(0, len(centers), n)] + rng.normal(size=(n, d))


def _small_integers(rng: _Rng, n: int, d: int, dtype: str) -> _Matrix:
    return rng.integers(-2, 3, (n, d)).astype(float)


def _bits(rng: _Rng, n: int, d: int, dtype: str) -> _Matrix:
    return rng.integers(0, 2, (n, d)).astype(float)


def _tenths(rng: _Rng, n: int, d: int, dtype: str) -> _Matrix:
    # Equal distances in decimal that differ by the rounding of 0.1.
    return rng.integers(-3, 4, (n, d)) * 0.1


def _duplicates(rng: _Rng, n: int, d: int, dtype: str) -> _Matrix:
    few = rng.normal(size=(int(rng.integers(1, max(2, n // 3))), d))
    return few[rng.integers(0, len(few), n)]


def _constant(rng: _Rng, n: int, d: int, dtype: str) -> _Matrix:
    return np.full((n, d), rng.choice([0.0, 1.0, -0.1, 7.0]))


def _counts(rng: _Rng, n: int, d: int, dtype: str) -> _Matrix:
    return rng.poisson(0.4, (n, d)) * rng.random((n, d))


def _negative_zeros(rng: _Rng, n: int, d: int, dtype: str) -> _Matrix:
    return rng.integers(0, 2, (n, d)) * -0.0 + rng.integers(0, 2, (n, d))


def _scaled(rng: _Rng, n: int, d: int, dtype: str) -> _Matrix:
    return rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-_SAFE[dtype], _SAFE[dtype])


def _huge(rng: _Rng, n: int, d: int, dtype: str) -> _Matrix:
    return rng.uniform(-1, 1, (n, d)) * 10.0 ** rng.uniform(_SAFE[dtype], _WIDE[dtype])


def _tiny(rng: _Rng, n: int, d: int, dtype: str) -> _Matrix:
    return rng.normal(size=(n, d)) * 10.0 ** -rng.uniform(_SAFE[dtype], _WIDE[dtype])


def _largest(rng: _Rng, n: int, d: int, dtype: str) -> _Matrix:
    return rng.uniform(-1, 1, (n, d)) * float(np.finfo(dtype).max) * rng.choice([0.999, 0.25])


def _denormal(rng: _Rng, n: int, d: int, dtype: str) -> _Matrix:
    return rng.integers(-5, 6, (n, d)) * float(np.finfo(dtype).smallest_subnormal)


def _mixed(rng: _Rng, n: int, d: int, dtype: str) -> _Matrix:
    return rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-_SAFE[dtype], _SAFE[dtype], (n, d))


def _row_scales(rng: _Rng, n: int, d: int, dtype: str) -> _Matrix:
    return rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-_WIDE[dtype], _WIDE[dtype], (n, 1))


def _column_scales(rng: _Rng, n: int, d: int, dtype: str) -> _Matrix:
    return rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-_SAFE[dtype], _SAFE[dtype], (1, d))


def _outlier_row(rng: _Rng, n: int, d: int, dtype: str) -> _Matrix:
    X = rng.normal(size=(n, d))
    X[rng.integers(n)] = 10.0 ** rng.uniform(10, _WIDE[dtype])
    return X


def _outlier_entry(rng: _Rng, n: int, d: int, dtype: str) -> _Matrix:
    X = rng.normal(size=(n, d))
    X[rng.integers(n), rng.integers(d)] = 10.0 ** rng.uniform(10, _WIDE[dtype])
    return X


def _huge_column(rng: _Rng, n: int, d: int, dtype: str) -> _Matrix:
    X = rng.normal(size=(n, d))
    X[:, rng.integers(d)] = 10.0 ** rng.uniform(10, _WIDE[dtype])
    return X


def _far(rng: _Rng, n: int, d: int, dtype: str) -> _Matrix:
    most = 9 if dtype == "float64" else 4
    return rng.normal(size=(n, d)) + 10.0 ** rng.uniform(2, most)


#: Name, weight among all problems, generator. The name becomes a trait of the problem.
KINDS: dict[str, tuple[float, Callable[..., _Matrix]]] = {
    "normal": (4, _normal),
    "blobs": (6, _blobs),
    "small integers": (3, _small_integers),
    "bits": (2, _bits),
    "tenths": (2, _tenths),
    "duplicates": (2, _duplicates),
    "constant": (0.5, _constant),
    "counts": (2, _counts),
    "negative zeros": (0.5, _negative_zeros),
    "scaled": (2, _scaled),
    "huge": (1, _huge),
    "tiny": (1, _tiny),
    "largest": (0.5, _largest),
    "denormal": (0.5, _denormal),
    "mixed scales": (1, _mixed),
    "row scales": (1, _row_scales),
    "column scales": (1, _column_scales),
    "outlier row": (1.5, _outlier_row),
    "outlier entry": (0.5, _outlier_entry),
    "huge column": (0.7, _huge_column),
    "far": (1.5, _far),
}

#: Kinds for functions that compute with matrices rather than decide labels.
MODERATE = ("normal", "blobs", "small integers", "bits", "tenths", "duplicates", "counts", "scaled")


def draw_values(
    rng: _Rng, n: int, d: int, dtype: str, kinds: tuple[str, ...] = tuple(KINDS)
) -> tuple[NDArray[Any], str]:
    """Rows of some kind, and its name.

    Parameters
    ----------
    rng : numpy Generator
    n, d : int
        Rows and columns.
    dtype : {"float64", "float32"}
    kinds : tuple of str
        Names to choose from.

    Returns
    -------
    X : ndarray of shape (n, d)
        Finite numbers of that type.
    kind : str
    """
    chances = np.array([KINDS[name][0] for name in kinds])
    kind = kinds[int(rng.choice(len(kinds), p=chances / chances.sum()))]
    X = KINDS[kind][1](rng, n, d, dtype)
    with np.errstate(over="ignore"):
        X = X.astype(dtype)
    return np.nan_to_num(X, posinf=np.finfo(dtype).max, neginf=np.finfo(dtype).min), kind
