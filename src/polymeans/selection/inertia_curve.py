"""Inertia over the number of clusters: the part of a choice that is drawn as an elbow."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymeans._validation import check_n_threads, check_seed
from polymeans.selection.candidates import Candidates
from polymeans.selection.choosing import _SAMPLE
from polymeans.selection.criteria.elbow import find_knee
from polymeans.selection.pairs import Parts
from polymeans.selection.sampling import check_input, n_rows_of
from polymeans.selection.space import check_clusterer, split_pipeline
from polymeans.selection.values import check_values


def inertia_curve(
    estimator: Any, X: Any, n_clusters: Any, random_state: Any, n_threads: int | None
) -> tuple[NDArray[np.int64], NDArray[np.float64], int | None]:
    """Numbers of clusters, the inertia of a fit with each, and the knee or None.

    Fits begin as those of :func:`polymeans.choose_n_clusters` do; its parameters are described
    there. Nothing else is computed.

    Parameters
    ----------
    estimator : estimator
    X : {array-like, CSR matrix or array} or Blocks
    n_clusters : int or iterable of int
    random_state : int, RandomState instance or None
    n_threads : int or None

    Returns
    -------
    n_clusters : ndarray of shape (n_values,)
    inertia : ndarray of shape (n_values,)
    knee : int or None
    """
    rng = np.random.default_rng(check_seed(random_state).randint(2**31))
    check_n_threads(n_threads)
    X, estimator = split_pipeline(X, estimator)
    check_clusterer(estimator)
    rows, _ = check_input(X)
    parts = Parts(estimator)
    parts.check(rows)
    values = check_values(n_clusters, estimator, n_rows_of(rows))
    sample = parts.sample(rows, _SAMPLE, rng)
    seed = int(rng.integers(2**31))
    fits = Candidates(estimator, n_threads).on(rows, sample, values, seed)
    found = [(k, float(model.inertia_)) for k, model in zip(values, fits)]
    known = np.array([k for k, _ in found], dtype=np.int64)
    inertia = np.array([value for _, value in found])
    return known, inertia, find_knee(known, inertia)
