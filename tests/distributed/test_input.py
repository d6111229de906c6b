"""Collections as users have them: right, or an error that names the remedy."""

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from dask import delayed

from polymeans import KMeans, TransformedKMeans
from polymeans.distributed.cutting import SMALL_BYTES, cut_into_blocks, smallest_block
from tests.distributed.chunked import UNEVEN, in_chunks, random_weights
from tests.out_of_core.sources import assert_same_bits, rows


@pytest.fixture(params=["cluster", "threads"])
def scheduler(request):
    if request.param == "cluster":
        with request.getfixturevalue("two_processes").as_current():
            yield request.param
        return
    with dask.config.set(scheduler="threads"):
        yield request.param


def model():
    return KMeans(5, init="k-means||", random_state=0)


def unknown_lengths(X):
    return X[da.from_array(np.ones(X.shape[0], dtype=bool), chunks=X.chunks[0])]


def test_chunks_of_unknown_length(scheduler):
    X = rows("float64")
    unknown = unknown_lengths(in_chunks(X))
    assert np.isnan(unknown.shape[0])
    fitted = model().fit(unknown)
    assert_same_bits(model().fit(X), fitted)
    assert fitted.labels_.chunks == (UNEVEN,)
    assert np.isnan(unknown.shape[0])  # the user's array is as it was
    labels = fitted.predict(unknown)
    assert np.isnan(labels.shape[0])
    np.testing.assert_array_equal(labels.compute(), fitted.labels_.compute())
    assert fitted.score(unknown) == fitted.score(X)


def test_unknown_lengths_of_rows_and_weights(scheduler):
    X, weights = rows("float64"), random_weights(300)
    lazy = unknown_lengths(in_chunks(weights[:, None]))[:, 0]
    fitted = model().fit(unknown_lengths(in_chunks(X)), sample_weight=lazy)
    assert_same_bits(model().fit(X, sample_weight=weights), fitted)


def test_chunks_without_rows(scheduler):
    X = rows("float32")
    empty = in_chunks(X, (0, 100, 0, 0, 200, 0))
    fitted = model().fit(empty)
    assert_same_bits(model().fit(X), fitted)
    assert fitted.labels_.chunks == ((0, 100, 0, 0, 200, 0),)
    labels = fitted.predict(empty)
    assert labels.chunks == fitted.labels_.chunks
    np.testing.assert_array_equal(labels.compute(), fitted.labels_.compute())
    assert fitted.transform(empty).compute().shape == (300, 5)
    assert fitted.score(empty) == fitted.score(X)


def test_no_rows_at_all(scheduler):
    with pytest.raises(ValueError, match=r"0 sample\(s\)"):
        model().fit(da.zeros((0, 3)))


def test_chunks_along_features(scheduler):
    X = rows("float64")
    wide = da.from_array(X, chunks=((100, 200), (2, 1, 2)))
    fitted = model().fit(wide)
    assert_same_bits(model().fit(X), fitted)
    np.testing.assert_array_equal(fitted.predict(wide).compute(), fitted.labels_.compute())
    assert fitted.score(wide) == fitted.score(X)


def test_integers_become_float64(scheduler):
    X = rows("float64").astype(np.int16)
    fitted = model().fit(in_chunks(X))
    assert fitted.cluster_centers_.dtype == np.float64
    assert_same_bits(model().fit(X), fitted)


@pytest.mark.parametrize("method", ["fit", "predict", "transform", "score"])
def test_objects_are_refused(method, scheduler):
    X = in_chunks(rows("float64"))
    with pytest.raises(TypeError, match=r"type object.*astype"):
        getattr(model().fit(X), method)(X.astype(object))


def test_other_types_and_shapes_are_refused(scheduler):
    X = in_chunks(rows("float64"))
    with pytest.raises(TypeError, match="complex128 cannot be clustered"):
        model().fit(X.astype(complex))
    with pytest.raises(ValueError, match="2D array, got 1D"):
        model().fit(X[:, 0])
    with pytest.raises(TypeError, match="Dask array or dataframe"):
        model().fit(delayed(1))
    with pytest.raises(TypeError, match=r"CSC matrices.*csr_matrix"):
        model().fit(X.map_blocks(sp.csc_matrix))


def test_a_row_that_is_not_finite_is_named(scheduler):
    X = rows("float64")
    X[217, 3] = np.nan
    before = model().fit(rows("float64"))
    known = dict(vars(before))
    with pytest.raises(ValueError, match="Row 217 has a value that is not finite"):
        before.fit(in_chunks(X))
    assert vars(before) == known


@pytest.mark.parametrize("bad", [-1.0, np.nan])
def test_a_weight_that_cannot_be_used_is_named(bad, scheduler):
    weights = np.ones(300)
    weights[123] = bad
    with pytest.raises(ValueError, match="Row 123 has the weight"):
        model().fit(in_chunks(rows("float64")), sample_weight=weights)


def test_weights_of_another_length_are_refused(scheduler):
    X = in_chunks(rows("float64"))
    with pytest.raises(ValueError, match=r"sample_weight.shape == \(299,\)"):
        model().fit(X, sample_weight=np.ones(299))
    some = unknown_lengths(da.ones((300, 1), chunks=(150, 1)))[:, 0]
    with pytest.raises(ValueError, match="2 chunks and X has 6, of unknown lengths"):
        model().fit(X, sample_weight=some)


def test_chunks_that_are_not_what_the_array_says(scheduler):
    X = in_chunks(rows("float64"))
    halves = X.map_blocks(lambda x: x.astype("f4") if len(x) == 1 else x, dtype="f8", meta=X._meta)
    with pytest.raises(TypeError, match=r"float32.*the array says float64"):
        model().fit(halves)
    hidden = X.map_blocks(sp.csr_matrix, dtype="f8", meta=np.empty((0, 0)))
    with pytest.raises(TypeError, match=r"CSR, not dense.*meta="):
        model().fit(hidden)
    shorter = X.map_blocks(lambda x: x[:-1], dtype="f8", meta=X._meta)
    with pytest.raises(ValueError, match="compute_chunk_sizes"):
        model().fit(shorter)


def test_dataframes(scheduler):
    X = rows("float64")
    frame = dd.from_pandas(pd.DataFrame(X, columns=list("abcde")), npartitions=3)
    fitted = model().fit(frame)
    expected = model().fit(X)
    assert_same_bits(expected, fitted)
    assert list(fitted.feature_names_in_) == list("abcde")
    np.testing.assert_array_equal(fitted.predict(frame).compute(), expected.labels_)
    assert fitted.score(frame) == expected.score(X)
    with pytest.raises(ValueError, match="feature names"):
        fitted.predict(frame[list("baced")])
    weights = random_weights(300)
    frame = frame.assign(w=dd.from_pandas(pd.Series(weights), npartitions=3))
    fitted = model().fit(frame[list("abcde")], sample_weight=frame["w"])
    assert_same_bits(model().fit(X, sample_weight=weights), fitted)


@pytest.mark.parametrize(
    "convert",
    [
        lambda frame: frame.astype("float64[pyarrow]"),
        lambda frame: frame.round().convert_dtypes(),
        lambda frame: frame.assign(b=frame.b > 4),
        lambda frame: frame.astype("float32").assign(b=frame.b > 4),
        lambda frame: frame.round().convert_dtypes().assign(b=(frame.b > 4).astype("boolean")),
    ],
    ids=["pyarrow", "nullable", "float64 and bool", "float32 and bool", "nullable and bool"],
)
def test_columns_of_any_numeric_types(convert, scheduler):
    frame = convert(pd.DataFrame(rows("float64"), columns=list("abcde")))
    parts = dd.from_pandas(frame, npartitions=3)
    expected, fitted = model().fit(frame), model().fit(parts)
    assert_same_bits(expected, fitted)
    assert fitted.cluster_centers_.dtype == expected.cluster_centers_.dtype
    np.testing.assert_array_equal(fitted.predict(parts).compute(), expected.labels_)
    weights = pd.Series(np.arange(300) % 3).convert_dtypes()
    fitted.fit(parts, sample_weight=dd.from_pandas(weights, npartitions=3))
    assert_same_bits(model().fit(frame, sample_weight=weights.to_numpy(dtype=float)), fitted)


def test_missing_values_of_nullable_columns_are_named(scheduler):
    frame = pd.DataFrame(rows("float64"), columns=list("abcde")).convert_dtypes()
    frame.loc[217, "c"] = pd.NA
    with pytest.raises(ValueError, match="Row 217 has a value that is not finite"):
        model().fit(dd.from_pandas(frame, npartitions=3))


def test_columns_that_are_no_numbers_are_named(scheduler):
    frame = pd.DataFrame(rows("float64"), columns=list("abcde")).assign(name="x")
    with pytest.raises(TypeError, match="Column 'name' of X has values of type"):
        model().fit(dd.from_pandas(frame, npartitions=3))


def test_what_needs_all_rows_is_refused_before_any_work(scheduler):
    computed = []
    X = in_chunks(rows("float64")).map_blocks(computed.append, dtype="f8", meta=np.empty((0, 0)))
    with pytest.raises(ValueError, match="is called with all rows"):
        KMeans(3, init=lambda X, k, random_state: X[:k]).fit(X)
    with pytest.raises(ValueError, match="kernel"):
        TransformedKMeans(3, kernel="rbf").fit(X)
    assert not computed


def test_small_chunks_are_put_together():
    assert [cut.n_rows for cut in cut_into_blocks((1,) * 10, 1, 4)] == [4, 4, 2]
    assert [cut.n_rows for cut in cut_into_blocks((5, 1, 1, 9, 0, 1), 1, 4)] == [5, 2, 9, 1]
    assert [cut.n_rows for cut in cut_into_blocks((5, 1, 1, 9, 1), 1)] == [5, 1, 1, 9, 1]
    assert smallest_block(10**9, 16, 4, False, 100) == SMALL_BYTES // 64
    assert smallest_block(8000, 16, 4, False, 100) == 20


def test_blocks_begin_at_multiples():
    cuts = cut_into_blocks((10, 25, 1, 20), 16)
    assert [(cut.first, cut.n_rows) for cut in cuts] == [(0, 32), (32, 24)]
    assert cuts[0].pieces == ((0, 0, 10), (1, 0, 22))
    assert cuts[1].pieces == ((1, 22, 25), (2, 0, 1), (3, 0, 20))


def test_a_graph_that_computes_other_rows_in_each_pass_is_refused():
    X = in_chunks(rows("float64"))
    restless = X.map_blocks(
        lambda x: x + np.random.default_rng().normal(size=x.shape), dtype="f8", meta=X._meta
    )
    with (
        dask.config.set(scheduler="threads"),
        pytest.raises(ValueError, match="Every pass has to read the same rows"),
    ):
        model().fit(restless)
