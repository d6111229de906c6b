"""Sparse factors: budgets, reported errors, products."""

from collections.abc import Iterator
from functools import reduce
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.fuzz.case import Case, require
from benchmarks.fuzz.containers import fingerprint, wrap
from benchmarks.fuzz.values import MODERATE, draw_values
from benchmarks.fuzz.watch import watched
from polymeans import factorization

WAYS = ("factorize", "chain", "palm4msa", "hierarchical", "refit", "grow", "project", "operator")


def draw(rng: np.random.Generator, area: str, seed: int, number: int) -> Case:
    """A small matrix and a way to factorize it."""
    k, d = int(rng.integers(1, 14)), int(rng.integers(1, 14))
    X, kind = draw_values(rng, k, d, "float64", MODERATE)
    weights = rng.integers(0, 4, k) * 1.0 if rng.random() < 0.3 else None
    if weights is not None:
        weights[0] = 1.0
    params = {"way": str(rng.choice(WAYS)), "n_nonzeros": int(rng.integers(2, k * d + 3))}
    return Case(area, seed, number, X, "C order", weights, params, frozenset({kind}))


def check(case: Case) -> Iterator[str]:
    """Whatever the way: as few non-zeros as asked for, and the error that is reported."""
    way, budget = case.params["way"], case.params["n_nonzeros"]
    if way == "project":
        yield from _projection(case)
        return
    if way == "operator":
        yield from _operator(case)
        return
    X = wrap(case.X, case.container)
    before = fingerprint(X)
    with watched(False, "sparsity_level", "n_factors"):
        found = _factorized(case, X, way, budget)
    yield require(fingerprint(X) == before, "input is unchanged", "target differs")
    product = reduce(lambda a, b: a @ b, [f.toarray().astype(np.longdouble) for f in found.factors])
    w = np.ones(len(case.X)) if case.weights is None else case.weights
    errors = w[:, None] * (case.X.astype(np.longdouble) - product) ** 2
    norm = float((w[:, None] * case.X.astype(np.longdouble) ** 2).sum())
    yield require(product.shape == case.X.shape, "factors fit", product.shape)
    yield require(
        abs(float(errors.sum()) - found.errors[-1]) <= 1e-6 * float(errors.sum()) + 1e-9 * norm,
        "reported error is that of the factors",
        f"{found.errors[-1]!r}, really {float(errors.sum())!r}",
    )
    share = float(np.sqrt(errors.sum() / norm)) if norm > 0 else 0.0
    yield require(
        abs(found.relative_error - share) <= 1e-4,
        "relative error",
        f"{found.relative_error}, {share}",
    )
    if way in ("factorize", "grow"):
        # With fewer entries than factors the product is zero.
        least = max(budget, len(found.factors))
        yield require(found.nnz <= least, "budget is kept", f"{found.nnz} > {budget}")
    yield require(np.isfinite(product).all(), "attributes are finite", "factors")


def _factorized(case: Case, X: Any, way: str, budget: int) -> Any:
    weights = case.weights
    if way == "factorize":
        return factorization.factorize(
            X, n_nonzeros=budget, weights=weights, effort=0.2, random_state=0, n_threads=1
        )
    if way == "chain":
        return factorization.factorize(X, n_factors=3, sparsity_level=2, weights=weights)
    if way == "palm4msa":
        return factorization.palm4msa(X, sparsity_level=2, weights=weights, max_iter=20)
    start = factorization.hierarchical_palm4msa(X, sparsity_level=2, weights=weights, max_iter=10)
    if way == "hierarchical":
        return start
    if len(start.factors) < 2:
        return start
    if way == "refit":
        again = factorization.refit(X, start.factors, weights=weights)
        slack = 1e-9 * max(start.target_norm, 1e-300) ** 2
        require(
            again.errors[-1] <= start.errors[-1] * (1 + 1e-9) + slack,
            "a refit never raises the error",
            f"{start.errors[-1]!r} to {again.errors[-1]!r}",
        )
        return again
    budget = max(budget, len(start.factors))
    return factorization.prune_and_grow(X, start.factors, budget, weights=weights, n_rounds=4)


def _projection(case: Case) -> Iterator[str]:
    rng = case.rng(2)
    per_row, per_column = map(int, rng.integers(0, 4, 2))
    with watched(refusable=False):
        found = factorization.project_rows_and_columns(case.X, per_row, per_column)
    keep = np.zeros(case.X.shape, bool)
    sizes = np.abs(case.X)
    for i, row in enumerate(sizes):
        keep[i, np.argsort(-row, kind="stable")[:per_row]] = True
    for j, column in enumerate(sizes.T):
        keep[np.argsort(-column, kind="stable")[:per_column], j] = True
    expected = np.where(keep, case.X, 0.0)
    yield require(np.array_equal(found, expected), "largest entries stay", f"{found.tolist()}")


def _operator(case: Case) -> Iterator[str]:
    rng = case.rng(3)
    inner = int(rng.integers(1, 6))
    dtype = np.float32 if rng.random() < 0.3 else np.float64
    left = sp.random_array((len(case.X), inner), density=0.6, rng=rng, dtype=np.float64)
    right = sp.random_array((inner, case.X.shape[1]), density=0.6, rng=rng, dtype=np.float64)
    factors = [sp.csr_array(left, dtype=dtype), sp.csr_array(right, dtype=dtype)]
    rows = rng.normal(size=(int(rng.integers(1, 70)), case.X.shape[1])).astype(dtype)
    given = sp.csr_array(rows) if rng.random() < 0.3 else rows
    with watched(refusable=False):
        operator = factorization.FastOperator(factors)
        products = operator.products(given, n_threads=int(rng.integers(1, 4)))
        one = operator @ rows[0]
        back = operator.T @ rng.normal(size=len(case.X)).astype(dtype)
    wide = factors[0].toarray().astype(np.longdouble) @ factors[1].toarray().astype(np.longdouble)
    expected = rows.astype(np.longdouble) @ wide.T
    most = 1.0 + float(np.abs(expected).max(initial=0.0))
    slack = 64 * float(np.finfo(dtype).eps) * most * (inner + case.X.shape[1])
    yield require(products.dtype == dtype, "float32 stays float32", products.dtype)
    yield require(
        (np.abs(products - expected) <= slack).all() and (np.abs(one - expected[0]) <= slack).all(),
        "products are accurate",
        f"largest error {float(np.abs(products - expected).max()):.3g}",
    )
    yield require(back.shape == (case.X.shape[1],), "transposed operators", back.shape)
