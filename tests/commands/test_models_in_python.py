"""Models of the command line in Python: the same rows get the same labels."""

import warnings

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from sklearn.pipeline import Pipeline

import polymeans as library
from polymeans.blocks import from_arrow, from_sequence
from polymeans.persistence import ModelFileError
from tests.commands.conftest import NAMES
from tests.commands.running import check_error, polymeans_here
from tests.persistence.bytes_of import signed, with_model

CHOSEN = [NAMES[2], NAMES[0]]


@pytest.fixture(scope="module")
def kinds(folder):
    return pd.read_csv(folder / "kinds.csv")


def fit(folder, data, *arguments):
    """Fit and predict by commands; the model as Python has it, and the labels of the rows."""
    done = polymeans_here("fit", data, *arguments, "--model", "m", folder=folder)
    assert done.code == 0, done.notes
    done = polymeans_here("predict", data, "--model", "m", folder=folder)
    assert (done.code, done.notes) == (0, "")
    return library.load(folder / "m"), [int(line) for line in done.out.split()]


@pytest.fixture(scope="module")
def scaled(folder, tmp_path_factory):
    arguments = ["--columns", ",".join(CHOSEN), "--scale", "-k", 3]
    return fit(tmp_path_factory.mktemp("scaled"), folder / "kinds.csv", *arguments)


@pytest.fixture(scope="module")
def of_texts(folder, tmp_path_factory):
    arguments = ["--text", "body", "-k", 4]
    return fit(tmp_path_factory.mktemp("texts"), folder / "posts.csv", *arguments)


FRAMES = {
    "the columns": lambda kinds: kinds[CHOSEN],
    "in another order": lambda kinds: kinds[CHOSEN[::-1]],
    "all columns": lambda kinds: kinds,
    "polars": lambda kinds: pl.DataFrame(kinds.to_dict("list")),
    "Arrow": lambda kinds: pa.Table.from_pandas(kinds),
    "blocks": lambda kinds: from_arrow(pa.Table.from_pandas(kinds[NAMES])),
}


@pytest.mark.parametrize("what", FRAMES)
def test_scaled_columns(what, scaled, kinds):
    model, labels = scaled
    assert isinstance(model, Pipeline)
    assert list(model.feature_names_in_) == CHOSEN
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(model.predict(FRAMES[what](kinds)), labels)
    assert min(np.bincount(labels)) > 20  # rows that are not scaled are in two of the clusters
    assert len(set(model[-1].predict(kinds[CHOSEN].to_numpy()))) < 3


def test_arrays_of_scaled_columns_have_no_names(scaled, kinds):
    model, labels = scaled
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        found = model.predict(kinds[CHOSEN].to_numpy())
    np.testing.assert_array_equal(found, labels)
    with pytest.raises(ValueError, match="3 features, but TableRows is expecting 2"):
        model.predict(kinds[NAMES[:3]].to_numpy())


def test_a_missing_column_is_named(scaled, kinds):
    with pytest.raises(ValueError, match=f"(?s)now missing.*{CHOSEN[1]}"):
        scaled[0].predict(kinds[[CHOSEN[0], NAMES[1]]])
    with pytest.raises(ValueError, match="feature names should match"):
        scaled[0].predict(from_arrow(pa.Table.from_pandas(kinds[[CHOSEN[0], NAMES[1]]])))


def test_scaled_rows_without_names(folder, iris, tmp_path):
    model, labels = fit(tmp_path, folder / "rows.npy", "--scale", "-k", 3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(model.predict(iris), labels)
        blocks = from_sequence(iris, block_rows=70)
        np.testing.assert_array_equal(model.predict(blocks), labels)
    assert not hasattr(model, "feature_names_in_")
    assert model.n_features_in_ == 4


def test_scaled_sparse_rows(folder, iris, tmp_path):
    model, labels = fit(tmp_path, folder / "sparse.npz", "--scale", "-k", 3)
    np.testing.assert_array_equal(model.predict(sp.csr_array(iris)), labels)
    np.testing.assert_array_equal(model.predict(iris), labels)


def test_sparse_rows_for_a_model_with_a_mean(folder, iris, tmp_path):
    model, _ = fit(tmp_path, folder / "rows.npy", "--scale", "-k", 3)
    with pytest.raises(ValueError, match=r"Rows are sparse, but .* less their mean"):
        model.predict(sp.csr_array(iris))
    done = polymeans_here("predict", folder / "sparse.npz", "--model", "m", folder=tmp_path)
    check_error(done, "Rows are sparse")


def test_columns_without_scaling_are_an_estimator_with_names(folder, kinds, tmp_path):
    arguments = ["--columns", ",".join(CHOSEN), "-k", 3]
    model, labels = fit(tmp_path, folder / "kinds.csv", *arguments)
    assert type(model) is library.KMeans
    assert list(model.feature_names_in_) == CHOSEN
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(model.predict(kinds[CHOSEN]), labels)
    with pytest.raises(ValueError, match="same order"):
        model.predict(kinds[CHOSEN[::-1]])


def test_no_names_are_restored_where_there_were_none(folder, tmp_path):
    model, _ = fit(tmp_path, folder / "rows.npy", "-k", 3)
    assert type(model) is library.KMeans
    assert not hasattr(model, "feature_names_in_")


@pytest.mark.parametrize("given", ["list", "frame", "series", "polars", "Arrow", "array"])
def test_texts(given, of_texts, folder):
    model, labels = of_texts
    frame = pd.read_csv(folder / "posts.csv")
    texts = {
        "list": frame["body"].tolist(),
        "frame": frame,
        "series": frame["body"],
        "polars": pl.DataFrame(frame.to_dict("list")),
        "Arrow": pa.Table.from_pandas(frame),
        "array": frame["body"].to_numpy(),
    }
    np.testing.assert_array_equal(model.predict(texts[given]), labels)
    assert list(model[:-1].get_feature_names_out())[:2] == sorted(model[0].recipe.words)[:2]


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (pd.DataFrame({"id": [1]}), "no column 'body'.*its columns are \\['id'\\]"),
        ("one text", "sequence of texts"),
        (["a text", None], "got None in row 1"),
        (np.zeros((2, 2)), "sequence of texts"),
    ],
    ids=["column", "str", "None", "numbers"],
)
def test_what_is_no_text_is_refused(X, message, of_texts):
    with pytest.raises(ValueError, match=message):
        of_texts[0].predict(X)


def test_what_was_loaded_is_saved_with_its_recipe(scaled, of_texts, kinds, folder, tmp_path):
    model, labels = scaled
    library.save(model, tmp_path / "again", labels=False)
    again = library.load(tmp_path / "again")
    np.testing.assert_array_equal(again.predict(kinds), labels)
    assert not hasattr(again[-1], "labels_")
    done = polymeans_here(
        "predict", folder / "kinds.csv", "--model", tmp_path / "again", folder=folder
    )
    assert [int(line) for line in done.out.split()] == labels
    library.save(of_texts[0], tmp_path / "texts")
    posts = pd.read_csv(folder / "posts.csv")
    np.testing.assert_array_equal(library.load(tmp_path / "texts").predict(posts), of_texts[1])
    joblib.dump(model, tmp_path / "pickled")
    np.testing.assert_array_equal(joblib.load(tmp_path / "pickled").predict(kinds), labels)


def test_looking_into_loaded_models(scaled, of_texts, kinds, folder):
    described = library.describe(scaled[0], kinds[CHOSEN]).to_dict()
    assert "petal length" in str(described)
    page = library.report(of_texts[0], pd.read_csv(folder / "posts.csv")).html()
    assert any(word in page for word in of_texts[0][0].recipe.words if len(word) > 6)
    columns = scaled[0].set_output(transform="pandas").transform(kinds).columns
    assert list(columns) == ["kmeans0", "kmeans1", "kmeans2"]
    scaled[0][-1].set_output(transform="default")


def test_a_recipe_that_was_changed_is_refused(folder, tmp_path):
    fit(tmp_path, folder / "rows.csv", "--scale", "-k", 3)

    def change(model):
        model["recipe"]["columns"] = ["a"]

    content = signed(with_model((tmp_path / "m").read_bytes(), change), tmp_path / "s")
    (tmp_path / "m").write_bytes(content)
    with pytest.raises(ModelFileError, match=r"m cannot be used: .*recipe for rows"):
        library.load(tmp_path / "m")
