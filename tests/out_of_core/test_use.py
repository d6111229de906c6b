"""What users do with blocks: predict, transform, score, weights, names; and what is refused."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

from polymeans import KMeans, NonRedundantKMeans, TransformedKMeans
from polymeans.blocks import from_arrow, label_blocks, write_labels
from tests.out_of_core.sources import MODELS, Counted, in_sequence, rows, uneven

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.mark.parametrize("kind", ["float32", "csr"])
@pytest.mark.parametrize("name", MODELS)
def test_methods_of_a_fitted_estimator(name, kind, tmp_path):
    X = rows(kind)
    model = MODELS[name](random_state=0).fit(X)
    blocks = uneven(X)
    labels = model.predict(blocks)
    assert labels.dtype == np.int32
    np.testing.assert_array_equal(labels, model.predict(X))
    parts = list(model.transform(blocks))
    assert [len(part) for part in parts] == list(blocks.sizes)
    np.testing.assert_allclose(np.concatenate(parts), model.transform(X), rtol=1e-5, atol=1e-5)
    assert model.score(blocks) == pytest.approx(model.score(X), rel=1e-9)
    path = write_labels(tmp_path / "labels.npy", label_blocks(model, blocks), X.shape[0])
    np.testing.assert_array_equal(np.load(path), labels)


def test_the_score_of_dense_blocks_has_the_bits_of_memory():
    X, weights = rows("float32"), np.random.default_rng(0).random(300)
    model = KMeans(9, random_state=0).fit(X)
    expected = model.score(X, sample_weight=weights)
    assert model.score(uneven(X), sample_weight=weights) == expected
    assert model.score(uneven(X, weights)) == expected


def test_fit_predict_and_fit_transform():
    X = rows("float64")
    model = KMeans(5, random_state=0)
    np.testing.assert_array_equal(model.fit_predict(uneven(X)), model.labels_)
    distances = np.concatenate(list(model.fit_transform(uneven(X))))
    np.testing.assert_array_equal(distances.argmin(axis=1), model.labels_)


@pytest.mark.parametrize("kind", ["float64", "csr"])
@pytest.mark.parametrize("library", [pd, pl])
def test_output_of_blocks_is_a_frame_for_each(library, kind):
    X = rows(kind)
    name = library.__name__
    for model in (
        KMeans(5, random_state=0),
        NonRedundantKMeans((2, 2), effort=0.1, random_state=0),
        TransformedKMeans(3, n_init=1, random_state=0),
    ):
        expected = model.fit(X).transform(X)
        model.set_output(transform=name)
        blocks = uneven(X)
        parts = list(model.transform(blocks))
        assert [len(part) for part in parts] == list(blocks.sizes)
        assert all(isinstance(part, library.DataFrame) for part in parts)
        assert list(parts[-1].columns) == list(model.get_feature_names_out())
        together = np.concatenate([part.to_numpy() for part in parts])
        np.testing.assert_allclose(together, expected, rtol=1e-5, atol=1e-5)
        assert isinstance(next(iter(model.fit_transform(uneven(X)))), library.DataFrame)
        assert isinstance(model.transform(X), library.DataFrame)


def test_coordinates_of_one_view_come_in_blocks():
    X = rows("float64")
    model = NonRedundantKMeans((3, 2), effort=0.1, random_state=0).fit(X)
    for view in (0, 1, -1):
        parts = list(model.transform_view(uneven(X), view))
        assert len(parts) > 1
        np.testing.assert_allclose(np.concatenate(parts), model.transform_view(X, view))


def test_names_of_columns_are_those_of_the_table():
    X = rows("float64")
    table = pa.table({name: X[:, j] for j, name in enumerate("abcde")})
    blocks = from_arrow(table, block_bytes=2000)
    model = KMeans(3, random_state=0).fit(blocks)
    assert list(model.feature_names_in_) == list("abcde")
    model.predict(blocks)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(from_arrow(table.select(list("baced"))))
    assert not hasattr(model.fit(in_sequence(X)), "feature_names_in_")


def test_rows_of_another_width_are_refused_when_predicting():
    model = KMeans(3, random_state=0).fit(rows("float64"))
    for method in (model.predict, model.transform, model.score):
        with pytest.raises(ValueError, match="X has 4 features, but KMeans is expecting 5"):
            method(uneven(rows("float64")[:, :4].copy()))


def test_weights_from_two_sides_are_refused():
    X, weights = rows("float64"), np.ones(300)
    with pytest.raises(ValueError, match="Leave one of the two out"):
        KMeans(3).fit(uneven(X, weights), sample_weight=weights)
    with pytest.raises(ValueError, match="Leave one of the two out"):
        KMeans(3).fit(in_sequence(X, weights=weights), sample_weight=weights)
    model = KMeans(3, random_state=0).fit(X)
    with pytest.raises(ValueError, match="Leave one of the two out"):
        model.score(uneven(X, weights), sample_weight=weights)


@pytest.mark.parametrize("beside", [True, False])
def test_weights_that_cannot_be_used(beside):
    X = rows("float64")

    def fit(weights):
        if beside:
            return KMeans(3).fit(uneven(X), sample_weight=weights)
        return KMeans(3).fit(uneven(X, weights))

    with pytest.raises(ValueError, match="at least one non-zero"):
        fit(np.zeros(300))
    with pytest.raises(ValueError, match=r"[Nn]egative"):
        fit(np.where(np.arange(300) == 200, -1.0, 1.0))
    with pytest.raises(ValueError, match="lost in rounding"):
        fit(np.where(np.arange(300) == 200, 1e-200, 1.0))


def test_a_wrong_number_of_weights_is_refused():
    blocks = uneven(rows("float64"))
    with pytest.raises(ValueError, match="sample_weight"):
        KMeans(3).fit(blocks, sample_weight=np.ones(299))
    assert not blocks.reads


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("kind", ["float32", "csr"])
def test_a_row_that_is_not_finite_is_named(bad, kind):
    X = rows(kind)
    if sp.issparse(X):
        X.data[X.indptr[257]] = bad
    else:
        X[257, 2] = bad
    for name in ("kmeans", "sum"):
        with pytest.raises(ValueError, match="Row 257 has a value that is not finite"):
            MODELS[name]().fit(uneven(X))


def test_a_generator_is_refused():
    parts = (part for part in np.split(rows("float64"), 3))
    with pytest.raises(TypeError, match="read only once"):
        KMeans(3).fit(parts)
    model = KMeans(3, random_state=0).fit(rows("float64"))
    with pytest.raises(TypeError, match="read only once"):
        model.predict(iter([rows("float64")]))


def test_blocks_that_are_not_alike_are_refused():
    class Wrong(Counted):
        def __getitem__(self, i):
            return self.change(super().__getitem__(i)) if i == 2 else super().__getitem__(i)

    def wrong(change):
        blocks = Wrong(rows("float64"), [100, 200])
        blocks.change = change
        return blocks

    with pytest.raises(ValueError, match="same width"):
        KMeans(3).fit(wrong(lambda block: block[:, :4]))
    with pytest.raises(TypeError, match="same dtype"):
        KMeans(3).fit(wrong(lambda block: block.astype(np.float32)))
    with pytest.raises(ValueError, match="same rows"):
        KMeans(3).fit(wrong(lambda block: block[:-1]))


def test_a_block_without_rows_is_refused():
    with pytest.raises(ValueError, match="has no rows"):
        KMeans(3).fit(Counted(rows("float64"), [100, 100]))


def test_fewer_rows_than_clusters():
    blocks = in_sequence(rows("float64")[:5], 2)
    with pytest.raises(ValueError, match="n_samples=5 should be >= n_clusters=6"):
        KMeans(6).fit(blocks)


@pytest.mark.parametrize(
    ("model", "match"),
    [
        (KMeans(3, init=lambda X, n, random_state: X[:n]), "init="),
        (MODELS["sum"]().set_params(init=lambda X, n, random_state: X[:n]), "init="),
        (TransformedKMeans(3, kernel="rbf"), 'kernel="rbf"|kernel=.rbf.'),
        (TransformedKMeans(3, refine="exchange"), "refine=.exchange."),
        (TransformedKMeans(3, embedding=None), "embedding=None"),
        (TransformedKMeans(3, embedding=None, solver="cg"), "embedding=None|solver=.cg."),
    ],
)
def test_what_needs_all_rows_is_refused_before_anything_is_read(model, match):
    blocks = uneven(rows("float64"))
    with pytest.raises(ValueError, match=match):
        model.fit(blocks)
    assert not blocks.reads
    assert not hasattr(model, "n_features_in_")


def test_parameters_are_checked_before_anything_is_read():
    blocks = uneven(rows("float64"))
    with pytest.raises(ValueError, match="n_clusters"):
        KMeans(0).fit(blocks)
    with pytest.raises(ValueError, match="n_clusters"):
        NonRedundantKMeans((0, 3)).fit(blocks)
    assert not blocks.reads
