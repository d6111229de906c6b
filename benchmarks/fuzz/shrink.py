"""A smaller problem that breaks the same promise."""

import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.fuzz.case import Case
from benchmarks.fuzz.judge import judge

#: Parameters that are part of the problem rather than of its difficulty.
_ESSENTIAL = ("n_clusters", "n_protocentroids", "random_state", "metric", "aggregator", "kernel")


def shrink(case: Case, promise: str, seconds: float = 10.0) -> Case:
    """Make a problem smaller while it breaks the promise, as far as time allows.

    Parameters
    ----------
    case : Case
    promise : str
        The one that was broken.
    seconds : float

    Returns
    -------
    Case
    """
    end = time.monotonic() + seconds
    changed = True
    while changed and time.monotonic() < end:
        changed = False
        for smaller in _smaller(case):
            if time.monotonic() > end:
                break
            if promise in judge(smaller).broken:
                case, changed = smaller, True
                break
    return case


def _smaller(case: Case) -> Iterator[Case]:
    """Simpler problems, the largest simplifications first."""
    yield from _fewer_checks(case)
    if case.container not in ("C order", "csr_array"):
        yield case.but(container="csr_array" if case.is_sparse else "C order")
    if case.is_sparse:
        yield case.but(container="C order")
    if case.weights is not None:
        yield case.but(weights=None)
        yield case.but(weights=np.ones_like(case.weights))
    yield from _fewer_rows(case)
    yield from _fewer_columns(case)
    yield from _simpler_parameters(case)
    yield from _simpler_values(case)


def _fewer_checks(case: Case) -> Iterator[Case]:
    if len(case.checks) > 1:
        yield case.but(checks=frozenset())
        for name in sorted(case.checks):
            yield case.but(checks=frozenset({name}))


def _fewer_rows(case: Case) -> Iterator[Case]:
    n = len(case.X)
    size = n // 2
    while size:
        for lo in range(0, n, size):
            keep = np.r_[0:lo, min(n, lo + size) : n]
            if len(keep):
                yield _take_rows(case, keep)
        size //= 2
        if n > 64 and size < n // 16:
            return  # single rows of a large problem would take too long


def _take_rows(case: Case, keep: Any) -> Case:
    params = {
        # Labels to start from have one entry for each row.
        name: value[keep] if _is_labels(value, len(case.X)) else value
        for name, value in case.params.items()
    }
    weights = None if case.weights is None else case.weights[keep]
    return case.but(X=case.X[keep], weights=weights, params=params)


def _is_labels(value: Any, n: int) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind == "i" and len(value) == n


def _fewer_columns(case: Case) -> Iterator[Case]:
    d = case.X.shape[1]
    size = d // 2
    while size:
        for lo in range(0, d, size):
            keep = np.r_[0:lo, min(d, lo + size) : d]
            if len(keep):
                yield _take_columns(case, keep)
        size //= 2


def _take_columns(case: Case, keep: Any) -> Case:
    def narrowed(value: Any) -> Any:
        if isinstance(value, list) and value and isinstance(value[0], np.ndarray):
            return [narrowed(part) for part in value]
        if isinstance(value, np.ndarray) and value.ndim == 2 and value.dtype.kind == "f":
            return value[:, keep]
        return value

    params = {name: narrowed(value) for name, value in case.params.items()}
    return case.but(X=np.ascontiguousarray(case.X[:, keep]), params=params)


def _simpler_parameters(case: Case) -> Iterator[Case]:
    for name, value in case.params.items():
        if name not in _ESSENTIAL:
            yield case.but(params={k: v for k, v in case.params.items() if k != name})
        if name == "n_threads" and value != 1:
            yield case.but(params=case.params | {name: 1})
        if name == "n_clusters" and isinstance(value, int) and value > 1:
            init = case.params.get("init")
            given = isinstance(init, np.ndarray)
            fewer = {"n_clusters": value - 1} | ({"init": init[:-1]} if given else {})
            yield case.but(params=case.params | fewer)


def _simpler_values(case: Case) -> Iterator[Case]:
    X = case.X
    if X.size > 400:
        return
    with np.errstate(all="ignore"):
        digits = [_to_digits(X, n) for n in (1, 2, 4)]
    for simple in digits:
        if not np.array_equal(simple, X) and np.isfinite(simple).all():
            yield case.but(X=simple)
    for i, j in zip(*np.nonzero(X)):
        simple = X.copy()
        simple[i, j] = 0
        yield case.but(X=simple)


def _to_digits(X: Any, n: int) -> Any:
    """Numbers of n significant digits."""
    return np.array([[float(f"{value:.{n - 1}e}") for value in row] for row in X], X.dtype)
