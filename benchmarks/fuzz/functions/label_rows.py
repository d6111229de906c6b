"""Rows for labels against a loop over labels."""

from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp

from benchmarks.fuzz import oracles
from benchmarks.fuzz.case import Case, require
from benchmarks.fuzz.containers import DENSE, SPARSE, fingerprint, holds, wrap
from benchmarks.fuzz.values import MODERATE, draw_values
from benchmarks.fuzz.watch import watched
from polymeans import label_features


def draw(rng: np.random.Generator, area: str, seed: int, number: int) -> Case:
    """Features of instances; labels are drawn in the check."""
    n, d = int(rng.integers(1, 12)), int(rng.integers(1, 8))
    dtype = "float32" if rng.random() < 0.3 else "float64"
    X, kind = draw_values(rng, n, d, dtype, (*MODERATE, "mixed scales", "outlier row"))
    container = str(rng.choice(SPARSE + DENSE))
    container = container if holds(container, X) else "C order"
    params = {"n_labels": int(rng.integers(1, 6)), "sparse": bool(rng.random() < 0.5)}
    return Case(area, seed, number, X, container, None, params, frozenset({kind, container, dtype}))


def check(case: Case) -> Iterator[str]:
    """One row for each label, of length one or zero."""
    labels = case.rng(2).integers(0, 2, (len(case.X), case.params["n_labels"])) * 1.0
    Y, Z = sp.csr_array(labels) if case.params["sparse"] else labels, wrap(case.X, case.container)
    before = fingerprint(Y), fingerprint(Z)
    with watched(refusable=False):
        rows = label_features(Y, Z)
    yield require((fingerprint(Y), fingerprint(Z)) == before, "input is unchanged", "")
    yield require(sp.issparse(rows) == case.is_sparse, "sparse stays sparse", type(rows))
    dense = rows.toarray() if sp.issparse(rows) else rows
    wide = case.X.astype(np.longdouble)
    totals = np.stack([wide[column > 0].sum(axis=0) for column in labels.T])
    # Sums that cancel have no direction that rounding would respect.
    sizes = np.stack([np.abs(wide[column > 0]).sum(axis=0) for column in labels.T])
    eps = float(np.finfo(case.X.dtype).eps)
    clear = np.sqrt((totals**2).sum(1)) > 1e4 * eps * np.sqrt((sizes**2).sum(1))
    expected = oracles.directions(totals)
    yield require(
        (np.abs(dense - expected)[clear] <= 1e-3).all(),
        "rows of labels are sums of length one",
        lambda: f"{dense.tolist()}, expected {expected.astype(float).tolist()}"[:300],
    )
