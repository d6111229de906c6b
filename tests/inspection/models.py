"""Fitted models of every estimator, on rows of every kind, for what is said after a fit."""

from copy import deepcopy
from functools import cache

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

from polymeans import (
    KhatriRaoKMeans,
    KMeans,
    L1KMeans,
    NonRedundantKMeans,
    QuickKMeans,
    TransformedKMeans,
)
from polymeans.blocks import from_sequence

MODELS = {
    "kmeans": lambda: KMeans(5, random_state=0),
    "cosine": lambda: KMeans(5, metric="cosine", random_state=0),
    "sum": lambda: KhatriRaoKMeans((2, 3), effort=0.05, random_state=0),
    "product": lambda: KhatriRaoKMeans((2, 3), aggregator="product", effort=0.05, random_state=0),
    "quick": lambda: QuickKMeans(5, random_state=0),
    "quick means": lambda: QuickKMeans(5, centers="means", random_state=0),
    "l1": lambda: L1KMeans(5, random_state=0),
    "transformed": lambda: TransformedKMeans(4, n_init=2, random_state=0),
    "cg": lambda: TransformedKMeans(4, embedding=None, solver="cg", n_init=1, random_state=0),
    "kernel": lambda: TransformedKMeans(4, kernel="rbf", n_init=1, random_state=0),
    "views": lambda: NonRedundantKMeans((3, 2), effort=0.1, random_state=0),
    "whitened": lambda: NonRedundantKMeans((3, 2), whiten=True, effort=0.1, random_state=0),
}

#: Networks: latent spaces as wide as the rows, where centroids could be taken for rows, and others.
DEEP = {
    "dkm": lambda: deep("DKM", 5, n_latent=N_FEATURES),
    "idec": lambda: deep("IDEC", 5, n_latent=3),
    "deep sum": lambda: deep("KhatriRaoIDEC", (2, 3), n_latent=N_FEATURES),
    "deep product": lambda: deep("KhatriRaoDKM", (2, 3), aggregator="product", n_latent=2),
}


def deep(name, *args, **options):
    """A deep clustering with a small network and few epochs; not fitted."""
    module = pytest.importorskip("polymeans.deep")
    quick = {"hidden_sizes": (16,), "pretrain_epochs": 2, "distill_epochs": 2, "max_epochs": 2}
    return getattr(module, name)(*args, **quick, **options, random_state=0)


MODELS |= DEEP

#: Estimators whose centroids are combinations of protocentroids.
GRIDS = ("sum", "product", "deep sum", "deep product")

#: Estimators that are fitted to rows in one piece; others can be labeled in blocks.
IN_MEMORY_ONLY = ("kernel", "cg")

N_ROWS, N_FEATURES = 240, 7


@cache
def rows(kind):
    """The same clusters as an array, CSR, frame or blocks; positive, so that all models fit."""
    rng = np.random.default_rng(0)
    labels = np.arange(N_ROWS) % 6
    means = rng.uniform(0, 8, size=(6, N_FEATURES))
    X = np.abs(means[labels] + rng.normal(size=(N_ROWS, N_FEATURES)))
    X[rng.random(X.shape) < 0.3] = 0.0
    X = X.astype(np.float32).astype(np.float64)
    names = [f"f{j}" for j in range(N_FEATURES)]
    made = {
        "dense": lambda: X,
        "float32": lambda: X.astype(np.float32),
        "csr": lambda: sp.csr_array(X),
        "pandas": lambda: pd.DataFrame(X, columns=names),
        "polars": lambda: pl.DataFrame(X, schema=names),
        "blocks": lambda: from_sequence(X, block_rows=37),
        "csr blocks": lambda: from_sequence(sp.csr_array(X), block_rows=37),
    }
    return made[kind]()


def fitted(name, kind="dense"):
    """A model fitted to rows of a kind; a copy, which a test may change."""
    return deepcopy(_fitted(name, kind))


@cache
def _fitted(name, kind):
    if name in IN_MEMORY_ONLY:
        kind = {"blocks": "dense", "csr blocks": "csr"}.get(kind, kind)
    return MODELS[name]().fit(rows(kind))
