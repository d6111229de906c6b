"""Paths, datasets and masked arrays instead of rows: an error that names what to do."""

from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pytest

from polymeans import KMeans, describe
from polymeans.blocks import from_arrow, from_sequence

X = np.random.default_rng(0).normal(size=(30, 2))


@pytest.mark.parametrize(
    ("given", "reader"),
    [
        ("rows.npy", r"from_npy, and"),
        (Path("folder/rows.parquet"), r"from_parquet, and"),
        (["a.npz", "b.npz"], r"from_csr_files, and"),
        ("folder", r"from_npy \(or from_parquet"),
        (ds.dataset(pa.table({"a": X[:, 0]})), r"from_arrow\(X\)"),
    ],
    ids=["npy", "parquet", "csr files", "folder", "dataset"],
)
@pytest.mark.parametrize("method", ["fit", "partial_fit", "predict"])
def test_the_reader_is_named(given, reader, method):
    model = KMeans(2, random_state=0).fit(X)
    with pytest.raises(TypeError, match=f"polymeans.blocks.{reader}"):
        getattr(model, method)(given)


def test_arrow_tables_are_rows_in_memory():
    table = pa.table({"a": X[:, 0], "b": X[:, 1]})
    model = KMeans(2, init=X[:2], n_init=1)
    assert model.fit(table).inertia_ == model.fit(X).inertia_
    assert model.fit(from_arrow(table)).inertia_ == model.fit(X).inertia_


def test_masked_values_are_refused_in_memory_and_in_blocks():
    masked = np.ma.masked_array(X, np.arange(60).reshape(30, 2) == 41)
    model = KMeans(2, random_state=0)
    for given in (masked, from_sequence(masked, block_rows=7)):
        with pytest.raises(ValueError, match="has masked values, the first at"):
            model.fit(given)
    with pytest.raises(ValueError, match=r"X has masked values, the first at \(20, 1\)"):
        model.fit(X).predict(masked)
    nothing = np.ma.masked_array(X, np.zeros(X.shape, bool))
    assert model.fit(nothing).inertia_ == model.fit(X).inertia_
    blocks = from_sequence(nothing, block_rows=7)
    assert model.fit(blocks).score(X) == pytest.approx(-model.inertia_)


def test_frames_that_were_not_collected_are_refused(recwarn):
    model = KMeans(2, random_state=0).fit(X)
    for method in (model.fit, model.predict):
        with pytest.raises(TypeError, match=r"LazyFrame.*X.collect\(\)"):
            method(pl.DataFrame(X).lazy())
    assert not recwarn.list
    assert model.fit(pl.DataFrame(X)).labels_.shape == (30,)


def test_data_sets_of_pytorch_are_refused():
    data = pytest.importorskip("torch.utils.data")
    rows = data.TensorDataset(pytest.importorskip("torch").from_numpy(X))
    model = KMeans(2, random_state=0).fit(X)
    for given in (rows, data.Subset(rows, range(9)), data.DataLoader(rows)):
        with pytest.raises(TypeError, match=f"X is a {type(given).__name__} of PyTorch.*array"):
            model.fit(given)
        with pytest.raises(TypeError, match="of PyTorch"):
            describe(model, given)
