"""Files with a recipe for rows: what load makes of it, and which recipes are refused."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import Pipeline, make_pipeline

import polymeans
from polymeans import KMeans
from polymeans.persistence import ModelFileError
from polymeans.persistence.files import read_model, save_with_recipe
from polymeans.persistence.table_rows import TableRows

MEAN, SCALE = np.array([5.0, -3.0]), np.array([2.0, 100.0])


@pytest.fixture
def raw():
    rng = np.random.default_rng(0)
    return rng.normal(size=(60, 2)) * SCALE + MEAN


def kept(raw, path, arrays, **values):
    """A file as the command line writes it; the model that was fitted to scaled rows."""
    model = KMeans(3, random_state=0).fit((raw - MEAN) / SCALE)
    save_with_recipe(model, path, (arrays, values))
    return model


def test_scaled_rows(raw, tmp_path):
    model = kept(raw, tmp_path / "m", {"mean": MEAN, "scale": SCALE}, columns=["a", "b"])
    loaded = polymeans.load(tmp_path / "m")
    assert type(loaded) is Pipeline
    assert list(loaded.feature_names_in_) == ["a", "b"]
    assert list(loaded[0].get_feature_names_out()) == ["a", "b"]
    with pytest.warns(UserWarning, match="valid feature names"):
        np.testing.assert_array_equal(loaded.predict(raw), model.labels_)
    # The commands read the estimator and the recipe by themselves.
    assert type(read_model(tmp_path / "m").model) is KMeans


def test_float32_stays_float32(raw, tmp_path):
    kept(raw, tmp_path / "m", {"mean": MEAN, "scale": SCALE})
    rows = polymeans.load(tmp_path / "m")[0].transform(raw.astype(np.float32))
    assert rows.dtype == np.float32
    np.testing.assert_allclose(rows, (raw - MEAN) / SCALE, atol=1e-6)


@pytest.mark.parametrize("values", [{}, {"columns": None, "text": None}, {"first_feature": 1}])
def test_a_recipe_that_changes_nothing_is_an_estimator(values, raw, tmp_path):
    model = kept(raw, tmp_path / "m", {}, **values)
    loaded = polymeans.load(tmp_path / "m")
    assert type(loaded) is KMeans
    assert not hasattr(loaded, "feature_names_in_")
    np.testing.assert_array_equal(loaded.labels_, model.labels_)


def test_names_of_columns_are_restored(raw, tmp_path):
    kept(raw, tmp_path / "m", {}, columns=["a", "b"])
    loaded = polymeans.load(tmp_path / "m")
    assert type(loaded) is KMeans
    assert list(loaded.feature_names_in_) == ["a", "b"]
    polymeans.save(loaded, tmp_path / "again")
    assert list(polymeans.load(tmp_path / "again").feature_names_in_) == ["a", "b"]


def test_fitting_again_keeps_the_recipe(raw, tmp_path):
    model = kept(raw, tmp_path / "m", {"mean": MEAN, "scale": SCALE})
    again = clone(polymeans.load(tmp_path / "m")).fit(raw)
    np.testing.assert_array_equal(again[-1].labels_, model.labels_)
    assert type(again[0]) is TableRows


IDF = {"idf": np.ones(2)}

BAD = {
    "names of other columns": ({"scale": SCALE}, {"columns": ["a"]}),
    "names that are no list": ({"scale": SCALE}, {"columns": "ab"}),
    "a short mean": ({"mean": MEAN[:1], "scale": SCALE}, {}),
    "no positive scale": ({"scale": np.array([1.0, 0.0])}, {}),
    "no finite mean": ({"mean": np.array([np.nan, 0]), "scale": SCALE}, {}),
    "whole numbers": ({"scale": np.array([1, 2])}, {}),
    "no words": (IDF, {"text": "body"}),
    "no weights of words": ({}, {"text": "body", "words": ["a", "b"]}),
    "a word twice": (IDF, {"text": "body", "words": ["a", "a"]}),
    "no name of a column": (IDF, {"text": 3, "words": ["a", "b"]}),
    "another first feature": ({}, {"first_feature": 7}),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_recipes_are_refused(what, raw, tmp_path):
    arrays, values = BAD[what]
    kept(raw, tmp_path / "m", arrays, **values)
    with pytest.raises(ModelFileError, match=r"m cannot be used: .*recipe for rows"):
        polymeans.load(tmp_path / "m")


def test_pipelines_of_other_steps_are_refused(raw, tmp_path):
    kept(raw, tmp_path / "m", {"mean": MEAN, "scale": SCALE})
    loaded = polymeans.load(tmp_path / "m")
    for pipeline in (make_pipeline(loaded[0], loaded), loaded[:-1], Pipeline(loaded.steps[1:])):
        with pytest.raises(TypeError, match="estimator of polymeans, got Pipeline"):
            polymeans.save(pipeline, tmp_path / "other")
