"""Errors about rows of a frame name the columns that are the reason."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone

from polymeans import (
    KhatriRaoKMeans,
    KMeans,
    L1KMeans,
    NonRedundantKMeans,
    QuickKMeans,
    TransformedKMeans,
)

MODELS = [
    KMeans(3, random_state=0),
    KhatriRaoKMeans((2, 2), effort=0.1, random_state=0),
    NonRedundantKMeans((2, 2), effort=0.1, random_state=0),
    TransformedKMeans(3, random_state=0),
    QuickKMeans(4, random_state=0),
    L1KMeans(3, random_state=0),
]


def frame(**columns):
    rng = np.random.default_rng(0)
    numbers = {name: rng.normal(size=30) for name in ("weight", "height", "age")}
    return pd.DataFrame(numbers | columns)


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["x", "y", "z"] * 10, "str|object"),
        (pd.Categorical(["x", "y", "z"] * 10), "category"),
        (pd.date_range("2020-01-01", periods=30), "datetime64"),
        (pd.to_timedelta(np.arange(30), unit="s"), "timedelta64"),
        (np.arange(30) + 1j, "complex128"),
    ],
    ids=["text", "category", "date", "duration", "complex"],
)
def test_columns_without_numbers(values, kind):
    X = frame(color=values)
    with pytest.raises((ValueError, TypeError), match=f"({kind}).* in column 'color' of X"):
        KMeans(3).fit(X)


def test_several_columns_and_many():
    X = frame(color=["x"] * 30, shape=["y"] * 30)
    with pytest.raises(ValueError, match=r"in columns 'color', 'shape' of X.*OneHotEncoder"):
        KMeans(3).fit(X)
    many = frame(**{f"c{i}": ["x"] * 30 for i in range(20)})
    with pytest.raises(ValueError, match="'c6', 13 more of X"):
        KMeans(3).fit(many)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_missing_and_infinite_values(model):
    X = frame()
    model = clone(model).fit(X)
    labels = model.labels_.copy()
    for value, word in [(np.nan, "NaN"), (np.inf, "infinity")]:
        bad = X.copy()
        bad.loc[3, "height"] = value
        for method in (clone(model).fit, model.fit, model.predict, model.transform):
            with pytest.raises(ValueError, match=f"contains {word}.* column 'height' of X.*impute"):
                method(bad)
    np.testing.assert_array_equal(model.labels_, labels)


def test_missing_integers():
    X = frame(rooms=pd.array([1, None, *range(28)], dtype="Int64"))
    with pytest.raises(ValueError, match="column 'rooms' of X"):
        KMeans(3).fit(X)


def test_frames_of_polars():
    X = pl.from_pandas(frame())
    with pytest.raises(ValueError, match="column 'color' of X"):
        KMeans(3).fit(X.with_columns(color=pl.lit("x")))
    gaps = X.with_columns(a=pl.lit(None, dtype=pl.Int64), b=pl.lit(float("nan")))
    with pytest.raises(ValueError, match="columns 'a', 'b' of X"):
        KMeans(3).fit(gaps)


def test_errors_about_names_of_columns_stay_as_they_are():
    X = frame()
    model = KMeans(3, random_state=0).fit(X)
    with pytest.raises(ValueError, match="names should match"):
        model.predict(X.assign(color="x"))
    with pytest.raises(ValueError, match="same order"):
        model.predict(X[["age", "height", "weight"]].mask(X > 1))


def test_weights_are_named():
    with pytest.raises(ValueError, match=r"^sample_weight .*could not convert"):
        KMeans(3).fit(frame(), sample_weight=["a"] * 30)
