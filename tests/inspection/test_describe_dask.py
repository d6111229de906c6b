"""Tables and reports of Dask collections: chunk by chunk, the same as in memory."""

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from polymeans import describe, nearest_samples, report
from tests.inspection.models import MODELS, N_ROWS, fitted, rows


@pytest.fixture(autouse=True)
def one_process():
    with dask.config.set(scheduler="synchronous"):
        yield


def collections():
    X = rows("dense")
    yield da.from_array(X, chunks=(70, 3))
    yield dd.from_pandas(
        pd.DataFrame(X, columns=[f"f{j}" for j in range(X.shape[1])]), npartitions=3
    )
    unknown = da.from_array(X, chunks=(50, -1))
    yield unknown[unknown[:, 0] > -1]  # lengths of chunks are not known
    chunks = [
        da.from_delayed(
            dask.delayed(sp.csr_array)(X[i : i + 80]), (80, X.shape[1]), meta=sp.csr_array((0, 0))
        )
        for i in range(0, N_ROWS, 80)
    ]
    yield da.concatenate(chunks)


@pytest.mark.parametrize("name", ["kmeans", "sum", "views", "transformed", "deep sum"])
def test_chunks_are_described_like_rows_in_memory(name):
    assert name in MODELS
    for collection in collections():
        sparse = sp.issparse(collection._meta)
        kind = "csr" if sparse else "dense"
        model = fitted(name, kind)
        expected = describe(model, rows(kind), y=np.arange(N_ROWS) % 3)
        found = describe(model, collection, y=da.from_array(np.arange(N_ROWS) % 3, chunks=40))
        for ours, theirs in zip(found, expected, strict=True):
            assert ours.size == theirs.size
            assert ours.representatives == theirs.representatives
            assert ours.silhouette == pytest.approx(theirs.silhouette)
            differences = [feature.difference for feature in theirs.features]
            assert [f.difference for f in ours.features] == pytest.approx(differences)
        np.testing.assert_allclose(found.crosstabs[0].weights, expected.crosstabs[0].weights)


def test_models_fitted_to_chunks_get_other_numbers():
    from polymeans import KMeans, relabel

    X = da.from_array(rows("dense"), chunks=(80, -1))
    model = KMeans(4, random_state=0).fit(X)
    found = relabel(model)
    assert (np.diff(np.bincount(found.labels_)) <= 0).all()
    np.testing.assert_array_equal(found.predict(rows("dense")), found.labels_)
    assert sum(row.size for row in describe(model, X)) == N_ROWS


def test_reports_and_nearest_rows():
    collection = next(collections())
    model = fitted("kmeans")
    np.testing.assert_array_equal(
        nearest_samples(model, collection, 2).indices,
        nearest_samples(model, rows("dense"), 2).indices,
    )
    summary = report(model, collection, sample_weight=da.ones(N_ROWS, chunks=100)).to_dict()
    assert summary["data"]["kind"] == "dense, in blocks"
    assert sum(cluster["size"] for cluster in summary["clusterings"][0]["clusters"]) == N_ROWS
