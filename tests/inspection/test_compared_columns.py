"""Known columns beside clusters: what is printed, means of numbers, columns by name."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from polymeans import KMeans, describe, report
from polymeans.inspection._names import short_names
from tests.inspection.models import N_ROWS, fitted, rows

CLASSES = np.array(["a", "b", "<c>"])[np.arange(N_ROWS) % 3]


# --- printed crosstabs ---------------------------------------------------------------------------


def test_crosstabs_are_printed_below_their_clustering():
    table = describe(fitted("kmeans"), rows("dense"), y={"sort": CLASSES, "kind": CLASSES})
    lines = str(table).splitlines()
    at = lines.index("rows with each value of sort")
    assert lines[at + 1].split() == ["cluster", "<c>", "a", "b"]
    for c, counts in enumerate(table.crosstabs[0].weights):
        assert lines[at + 2 + c].split() == [str(c), *(f"{count:.0f}" for count in counts)]
    assert "rows with each value of kind" in lines
    html = table._repr_html_()
    assert html.count("<table>") == 3
    assert "&lt;c&gt;" in html
    assert "<c>" not in html


def test_every_view_has_its_own():
    table = describe(fitted("views"), rows("dense"), y=CLASSES)
    lines = str(table).splitlines()
    places = [
        next(at for at, line in enumerate(lines) if words in line)
        for words in ("view 0: 2", "view 0: rows with", "view 1: 2", "view 1: rows with")
    ]
    assert places == sorted(places)


def test_wide_crosstabs_are_shortened_with_a_note():
    values = np.array([f"value {i % 20 if i % 2 else 3}" for i in range(N_ROWS)])
    table = describe(fitted("kmeans"), rows("dense"), y=pd.Series(values, name="sort"))
    text, crosstab = str(table), table.crosstabs[0]
    assert f"8 most frequent of {len(crosstab.values)} values" in text
    assert "crosstab_frame('sort') has all" in text
    assert "most frequent" in table._repr_html_()
    header = next(line for line in text.splitlines() if "others" in line)
    assert "value 3" in header
    line = text.splitlines()[text.splitlines().index(header) + 1]
    assert sum(map(int, line.split()[1:])) == crosstab.weights[0].sum()
    assert max(map(len, text.splitlines())) < 200


def test_weights_are_named():
    weights = np.full(N_ROWS, 0.25)
    table = describe(fitted("kmeans"), rows("dense"), y=CLASSES, sample_weight=weights)
    assert "weight of the rows with each value of y" in str(table)


# --- names ---------------------------------------------------------------------------------------


def test_long_names_stay_different():
    names = [f"onehotencoder__species_{end}" for end in ("adelie_female", "adelie_male", "gentoo")]
    short = short_names(names)
    assert len(set(short.values())) == 3
    assert all(len(text) <= 24 for text in short.values())
    assert short[names[1]].endswith("_male")


def test_names_that_differ_in_the_middle_are_cut_less():
    names = [f"{'begin' * 10} {letter} {'end' * 10}" for letter in "abc"] + ["x\ny"]
    short = short_names(names)
    assert len(set(short.values())) == 4
    assert short["x\ny"] == "x y"
    assert short_names(["same" * 20] * 2) == short_names(["same" * 20])
    assert len(set(short_names(["a" * 400, "a" * 401]).values())) == 2


def test_frames_have_whole_names():
    names = [f"a very long name of a feature, number {j}" for j in range(7)]
    table = describe(fitted("kmeans"), rows("dense"), names)
    assert all(text.startswith(names[0][:-1]) for text in table.to_frame()["features"])
    first = table.rows[0].features
    written = short_names([f.name for row in table for f in row.features[:3]])
    assert len(set(written.values())) == len(written)
    for output in (str(table), table._repr_html_()):
        assert all(written[f.name] in output for f in first[:3])


# --- numbers -------------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
def test_many_numbers_are_averaged(weighted):
    rng = np.random.default_rng(0)
    values, weights = rng.normal(1e6, 3.0, N_ROWS), rng.random(N_ROWS)
    values[:20] = np.nan
    model = fitted("kmeans")
    options = {"sample_weight": weights} if weighted else {}
    table = describe(model, rows("dense"), y={"price": values}, **options)
    (found,) = table.means
    assert not table.crosstabs
    counted = weights if weighted else np.ones(N_ROWS)
    for c in range(len(table)):
        mine = (model.labels_ == c) & np.isfinite(values)
        mean = np.average(values[mine], weights=counted[mine])
        variance = np.average((values[mine] - mean) ** 2, weights=counted[mine])
        assert found.means[c] == pytest.approx(mean, rel=1e-12)
        assert found.deviations[c] == pytest.approx(np.sqrt(variance), rel=1e-9)
    assert sum(found.missing) == pytest.approx(counted[:20].sum())
    known = np.isfinite(values)
    assert found.overall_mean == pytest.approx(np.average(values[known], weights=counted[known]))
    text = str(table)
    assert "mean and standard deviation of price" in text
    assert "all rows" in text
    assert "missing" in text
    assert "all rows" in table._repr_html_()
    json.dumps(table.to_dict(), allow_nan=False)


def test_codes_and_texts_are_counted():
    model, X = fitted("kmeans"), rows("dense")
    assert describe(model, X, y=np.arange(N_ROWS) % 30).crosstabs
    assert describe(model, X, y=(np.arange(N_ROWS) % 31).astype(str)).crosstabs
    assert describe(model, X, y=np.arange(N_ROWS) % 31).means
    with pytest.raises(ValueError, match="240 distinct values"):
        describe(model, X, y=np.arange(N_ROWS).astype(str))
    with pytest.raises(ValueError, match="see the attribute means"):
        describe(model, X, y=np.arange(N_ROWS)).crosstab_frame()


def test_extreme_numbers_are_averaged():
    model, X = fitted("kmeans"), rows("dense")
    columns = {
        "huge": np.linspace(-1, 1, N_ROWS) * 1e308,
        "tiny": np.arange(N_ROWS) * 5e-324,
        "infinite": np.where(np.arange(N_ROWS) < 3, np.inf, np.arange(N_ROWS)),
        "integers": [10**400, *range(N_ROWS - 1)],
    }
    table = describe(model, X, y=columns)
    assert [part.column for part in table.means] == list(columns)
    assert all(np.isfinite(part.means).all() for part in table.means)
    json.dumps(table.to_dict(), allow_nan=False)
    assert sum(table.means[2].missing) == 3


def test_clusters_without_rows_have_no_mean():
    X = np.repeat([[0.0, 1.0], [5.0, 5.0]], 20, axis=0)
    with pytest.warns(Warning, match="distinct"):
        model = KMeans(4, random_state=0).fit(X)
    (found,) = describe(model, X, y=np.arange(40.0)).means
    assert found.means.count(None) == 2
    assert str(describe(model, X, y=np.arange(40.0)))


def test_reports_have_means():
    content = report(fitted("views"), rows("dense"), y={"pr|ce": np.arange(N_ROWS) / 2})
    parts = content.to_dict()["clusterings"]
    assert [len(part["means"]) for part in parts] == [1, 1]
    assert parts[0]["means"][0]["overall_mean"] == pytest.approx((N_ROWS - 1) / 4)
    assert "all rows" in content.html()
    assert "| all rows |" in content.markdown()


# --- names of columns ----------------------------------------------------------------------------


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_name_is_a_column_of_the_frame(library):
    frame = rows(library)
    model = fitted("kmeans", library)
    if library == "pandas":
        more = frame.assign(sort=CLASSES, other=1)
    else:
        more = frame.with_columns(pl.Series("sort", CLASSES), pl.lit(1).alias("other"))
    table = describe(model, more, y="sort")
    assert table.crosstabs[0].column == "sort"
    plain = describe(model, frame, y={"sort": CLASSES})
    np.testing.assert_array_equal(table.crosstabs[0].weights, plain.crosstabs[0].weights)
    assert [row.features for row in table] == [row.features for row in plain]
    assert report(model, more, y="sort").to_dict()["clusterings"][0]["crosstabs"]


def test_a_name_beside_a_model_of_an_array():
    frame = pd.DataFrame(rows("dense"), columns=list("abcdefg")).assign(sort=CLASSES)
    assert describe(fitted("kmeans"), frame, y="sort").crosstabs
    with pytest.raises(ValueError, match=r"was fitted to.*y=X\['a'\]"):
        describe(fitted("kmeans"), frame.drop(columns="sort"), y="a")


def test_names_beside_a_pipeline():
    frame = pd.DataFrame(rows("dense"), columns=list("abcdefg")).assign(kind=CLASSES)
    steps = make_column_transformer((StandardScaler(), ["a", "b"]), (OneHotEncoder(), ["kind"]))
    model = make_pipeline(steps, KMeans(3, random_state=0)).fit(frame)
    table = describe(model, frame.assign(sort=CLASSES), y="sort")
    assert table.crosstabs[0].values == ("<c>", "a", "b")
    with pytest.raises(ValueError, match="was fitted to"):
        describe(model, frame, y="kind")
    assert describe(model, frame, y=frame["kind"]).crosstabs


@pytest.mark.parametrize(
    ("kind", "y", "error", "words"),
    [
        ("dense", "species", TypeError, "y takes values, one for each row, got 'species'"),
        ("pandas", "species", ValueError, "y='species' is no column of X"),
        ("pandas", b"f0", TypeError, "y takes values"),
        ("pandas", "f0", ValueError, "that the model was fitted to"),
    ],
)
def test_names_that_mean_nothing(kind, y, error, words):
    with pytest.raises(error, match=words):
        describe(fitted("kmeans", kind), rows(kind), y=y)


# --- labels of rows ------------------------------------------------------------------------------


def test_an_index_of_its_own_is_in_the_frame():
    frame = pd.DataFrame(rows("dense"), index=[f"flower {i}" for i in range(N_ROWS)])
    frame.columns = frame.columns.astype(str)
    table = describe(KMeans(3, random_state=0).fit(frame), frame)
    found = table.to_frame()
    for kind in ("representatives", "suspects"):
        for numbers, labels in zip(found[kind], found[f"{kind}_index"]):
            assert labels == [f"flower {number}" for number in numbers]
    assert table.to_dict()["index_labels"][str(table.rows[0].representatives[0])]
    json.dumps(table.to_dict())
    assert "representatives_index" in describe(fitted("views"), frame).to_frame()


def test_an_index_that_counts_rows_is_left_out():
    frame = rows("pandas")
    assert "suspects_index" not in describe(fitted("kmeans", "pandas"), frame).to_frame()
    assert not describe(fitted("kmeans"), rows("dense")).index_labels
    dates = frame.set_index(pd.date_range("2020-01-01", periods=N_ROWS))
    table = describe(fitted("kmeans", "pandas"), dates)
    assert table.to_frame()["suspects_index"][0][0] == dates.index[table.rows[0].suspects[0]]
