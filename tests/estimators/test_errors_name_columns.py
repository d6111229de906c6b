"""Errors about rows of a frame name the columns that are the reason."""

import datetime
import tracemalloc
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
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
    for value, word, remedy in [(np.nan, "NaN", "impute"), (np.inf, "infinity", "clip")]:
        bad = X.copy()
        bad.loc[3, "height"] = value
        for method in (clone(model).fit, model.fit, model.predict, model.transform):
            with pytest.raises(
                ValueError, match=f"contains {word}.* column 'height' of X.*{remedy}"
            ):
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


def arrow(**columns):
    return pa.Table.from_pandas(frame(**columns))


@pytest.mark.parametrize("made", [lambda table: table, lambda table: table.to_batches()[0]])
@pytest.mark.parametrize(
    ("values", "text"),
    [
        (np.full(30, np.nan), "contains NaN.* column 'rooms' of X.*impute"),
        (pa.array([Decimal("1.5"), None] * 15), "contains NaN.* column 'rooms' of X"),
        (["x"] * 30, "type string in column 'rooms' of X.*OneHotEncoder"),
    ],
    ids=["NaN", "decimal", "text"],
)
def test_tables_and_batches_of_pyarrow(values, text, made):
    table = arrow().append_column("rooms", pa.array(values))
    with pytest.raises(ValueError, match=text):
        KMeans(3).fit(made(table))


@pytest.mark.parametrize(
    "value",
    [
        datetime.date(2020, 1, 1),
        datetime.datetime(2020, 1, 1),
        datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC),
        datetime.timedelta(days=2),
        datetime.time(2),
    ],
    ids=["date", "date and time", "time zone", "duration", "time"],
)
@pytest.mark.parametrize("alone", [False, True])
def test_dates_and_durations_are_refused_in_every_library(value, alone):
    """numpy makes large numbers of them, in which the other columns are lost."""
    table = pa.table({"when": pa.array([value] * 30)})
    if not alone:
        table = arrow().append_column("when", table["when"])
    frames = [table, pl.from_arrow(table), table.to_pandas(types_mapper=pd.ArrowDtype)]
    if not isinstance(value, datetime.time) and type(value) is not datetime.date:
        frames.append(table.to_pandas())
    for X in frames:
        with pytest.raises(TypeError, match=r"in column 'when' of X are no numbers.*days"):
            KMeans(1).fit(X)


def test_an_array_of_dates_is_refused():
    X = np.arange(60).reshape(30, 2).astype("datetime64[s]")
    with pytest.raises(TypeError, match=r"type datetime64\[s\] in X are no numbers"):
        KMeans(3).fit(X)


def test_missing_values_among_objects():
    X = frame(rooms=pd.Series([1.0, pd.NA, 3.0] * 10, dtype=object))
    with pytest.raises(TypeError, match=r"column 'rooms' of X are missing, pd.NA.*dropna"):
        KMeans(3).fit(X)
    KMeans(3).fit(X.dropna())
    KMeans(3).fit(X.fillna({"rooms": 2.0}))


def test_infinity_is_told_from_missing_values():
    X = frame(far=np.full(30, np.inf), gone=np.full(30, np.nan))
    with pytest.raises(ValueError, match=r"NaN\. Such values are in column 'gone' of X"):
        KMeans(3).fit(X)
    with pytest.raises(ValueError, match=r"infinity.*are in column 'far' of X.*numpy.clip"):
        KMeans(3).fit(X.drop(columns="gone"))


def test_integers_beyond_every_float():
    with pytest.raises(ValueError, match="column 'atoms' of X exceed the largest float64"):
        KMeans(3).fit(frame(atoms=pd.Series([10**400] * 30, dtype=object)))


def test_other_errors_keep_their_cause():
    values = pd.arrays.SparseArray([np.nan] * 29 + [1.0])
    with pytest.raises(ValueError, match=r"^fill value must be 0") as caught:
        KMeans(3).fit(pd.DataFrame({"a": values}))
    assert "Such values" not in str(caught.value)


def test_columns_of_arrays_count_as_texts():
    X = pl.from_pandas(frame()).with_columns(pair=np.ones((30, 2)), gap=pl.lit(float("nan")))
    with pytest.raises(ValueError, match=r"type Array.* in column 'pair' of X are no numbers"):
        KMeans(3).fit(X)


def test_names_that_occur_twice_and_long_ones():
    X = frame()
    with pytest.raises(ValueError, match=r"^X has more than one column 'age'. Names must be diff"):
        KMeans(3).fit(pd.concat([X, X[["age"]]], axis=1))
    with pytest.raises(ValueError, match="column 'xxx") as caught:
        KMeans(3).fit(frame(**{"x" * 5000: ["a"] * 30}))
    assert len(str(caught.value)) < 500


class Stubborn(pd.DataFrame):
    """A frame whose columns cannot be looked at one by one."""

    def __getitem__(self, name):
        raise KeyError("no columns here")


def test_errors_of_the_explanation_do_not_hide_the_first_one():
    with pytest.raises(ValueError, match="contains NaN"):
        KMeans(3).fit(Stubborn(frame(gone=np.full(30, np.nan))))


def test_explanations_take_one_column_at_a_time():
    X = pd.DataFrame(np.ones((50_000, 40), dtype=np.float32))
    X.iloc[7, 3] = np.nan
    KMeans(1, max_iter=1).fit(X.fillna(0))  # what is imported and compiled counts no more
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match="column 3 of X"):
            KMeans(1).fit(X)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most < 2.5 * X.to_numpy().nbytes


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
