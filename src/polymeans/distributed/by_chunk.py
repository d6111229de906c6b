"""Methods of fitted estimators on Dask collections: lazily, chunk by chunk."""

import copy
from typing import Any

import numpy as np
import scipy.sparse as sp
from dask.delayed import delayed

from polymeans._validation import check_rows, match_features
from polymeans.blocks.rows import check_weights
from polymeans.distributed.collection import DaskRows, dask_rows, dask_weights

#: Parts of a score that one task adds up.
_MERGED = 4


def by_chunk(estimator: Any, method: str, X: Any, *args: Any) -> Any:
    """What a method returns for each chunk of rows, as a lazy Dask array.

    Parameters
    ----------
    estimator : estimator
        Fitted.
    method : str
        Name of a method that returns one entry, or one row, for each row.
    X : dask array or dataframe
    args
        Further arguments of the method.

    Returns
    -------
    dask array
        In the order of the rows and in chunks of the same lengths.
    """
    rows = _matching_rows(estimator, X)
    model = to_send(estimator)
    sample = getattr(model, method)(_few_rows(rows), *args)
    array = rows.array.rechunk({1: -1}) if len(rows.array.chunks[1]) > 1 else rows.array
    empty = np.empty((0, *sample.shape[1:]), dtype=sample.dtype)
    shape = {"drop_axis": 1} if sample.ndim == 1 else {"chunks": (array.chunks[0], sample.shape[1])}
    return array.map_blocks(
        call,
        delayed(model, name=f"polymeans-model-{id(model):x}-{method}", traverse=False),
        method,
        args,
        empty,
        dtype=sample.dtype,
        meta=empty,
        name=None,
        token=f"polymeans-{method.replace('_', '-')}",
        **shape,
    )


def score(estimator: Any, X: Any, sample_weight: Any) -> float:
    """Minus the inertia of the rows, from parts that are added up by the scheduler's workers."""
    rows = _matching_rows(estimator, X)
    weights = dask_weights(sample_weight, rows)
    model = delayed(to_send(estimator), traverse=False)
    chunks = rows.array.to_delayed()
    beside = [None] * len(chunks) if weights is None else weights.to_delayed()
    level = [
        delayed(score_chunk, name="polymeans-score")(model, list(parts), own)
        for parts, own in zip(chunks, beside)
    ]
    while len(level) > 1:
        level = [
            delayed(add_scores, name="polymeans-merge")(level[at : at + _MERGED])
            for at in range(0, len(level), _MERGED)
        ]
    found = level[0].compute() if level else None
    if found is None:
        raise ValueError("Found array with 0 sample(s): X has no rows. At least one is needed.")
    return -float(found)


def to_send(estimator: Any) -> Any:
    """A copy for tasks: without labels of the fitted rows, and with one thread by default."""
    sent = copy.copy(estimator)
    for name in list(vars(sent)):
        if "labels" in name and name.endswith("_"):
            delattr(sent, name)
    vars(sent).pop("feature_names_in_", None)  # chunks are arrays, and names were compared before
    if hasattr(sent, "set_output"):  # results are Dask arrays, of arrays
        vars(sent).pop("_sklearn_output_config", None)  # a dict that the copy shares
        sent.set_output(transform="default")
    if sent.n_threads is None:  # workers, and threads of the scheduler, run several tasks
        sent.n_threads = 1
    return sent


# --- tasks -----------------------------------------------------------------------------------


def call(chunk: Any, model: Any, method: str, args: tuple[Any, ...], empty: Any) -> Any:
    """What a method returns for a chunk."""
    return getattr(model, method)(chunk, *args) if chunk.shape[0] else empty


def score_chunk(model: Any, parts: list[Any], weights: Any) -> Any:
    """What minus the score of a chunk is; None if it has no rows."""
    n_rows = parts[0].shape[0]
    if n_rows == 0:
        return None
    X = parts[0]
    if len(parts) > 1:
        X = sp.hstack(parts, format="csr") if sp.issparse(X) else np.concatenate(parts, axis=1)
    X = check_rows(model, X, reset=False)
    own = np.ones(n_rows)
    if weights is not None:
        own = check_weights(weights, n_rows, 0, "A chunk of X")
    return model._measured(X, own)


def add_scores(parts: list[Any]) -> Any:
    """The score of several chunks."""
    found = [part for part in parts if part is not None]
    if not found:
        return None
    return sum(found[1:], found[0])


def _matching_rows(estimator: Any, X: Any) -> DaskRows:
    rows = dask_rows(X)
    match_features(estimator, rows.n_features, rows.names, reset=False)
    return rows


def _few_rows(rows: DaskRows) -> Any:
    """A row of ones, to see what a method returns."""
    one = np.ones((1, rows.n_features), dtype=rows.dtype)
    return sp.csr_array(one) if rows.is_sparse else one
