"""Files with the index of pandas: its numbers are not clustered without a word."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import polymeans as library
from polymeans.commands.options import names, quoted
from tests.commands.running import check_error, polymeans_here


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    groups = np.arange(60) % 3
    return pd.DataFrame(rng.normal(size=(60, 2)) + 9 * groups[:, None], columns=["a", "b"])


def labels(done):
    assert done.code == 0, done.notes
    return [int(line) for line in done.out.split()]


@pytest.mark.parametrize("command", ["fit", "choose", "compare"])
def test_an_index_in_csv(command, frame, tmp_path):
    frame.to_csv(tmp_path / "idx.csv")
    done = polymeans_here(command, "idx.csv", "-k", 3, folder=tmp_path)
    check_error(done, "idx.csv: column 1 has no name", "pandas", "--columns 'a,b'", "index=False")


def test_the_remedies_work(frame, tmp_path):
    frame.to_csv(tmp_path / "idx.csv")
    frame.to_csv(tmp_path / "bare.csv", index=False)
    chosen = ["--columns", "a,b", "--model", "m"]
    found = labels(polymeans_here("fit", "idx.csv", "-k", 3, *chosen, folder=tmp_path))
    assert found == labels(polymeans_here("fit", "bare.csv", "-k", 3, folder=tmp_path))
    assert sorted(np.bincount(found)) == [20, 20, 20]
    # The model has names, so that files with and without an index can be labeled.
    for name in ("idx.csv", "bare.csv"):
        assert labels(polymeans_here("predict", name, "--model", "m", folder=tmp_path)) == found


def test_an_index_that_was_read_and_written_again(frame, tmp_path):
    frame.to_csv(tmp_path / "idx.csv")
    pd.read_csv(tmp_path / "idx.csv").to_csv(tmp_path / "twice.csv", index=False)
    done = polymeans_here("fit", "twice.csv", "-k", 3, folder=tmp_path)
    check_error(done, "column 1 is called 'Unnamed: 0'", "pandas", "--columns 'a,b'")


def test_an_index_of_several_levels(frame, tmp_path):
    frame.index = pd.MultiIndex.from_arrays([range(60), range(60)])
    frame.to_csv(tmp_path / "idx.csv")
    done = polymeans_here("fit", "idx.csv", "-k", 3, folder=tmp_path)
    check_error(done, "column 1 has no name", "--columns 'a,b'")
    labels(polymeans_here("fit", "idx.csv", "-k", 3, "--columns", "a,b", folder=tmp_path))


def test_an_index_in_parquet(frame, tmp_path):
    frame.to_parquet(tmp_path / "plain.parquet")
    labels(polymeans_here("fit", "plain.parquet", "-k", 3, folder=tmp_path))
    frame[frame["a"] > 0].to_parquet(tmp_path / "idx.parquet")
    done = polymeans_here("fit", "idx.parquet", "-k", 3, folder=tmp_path)
    check_error(done, "column 3 is called '__index_level_0__'", "--columns 'a,b'")


def test_an_index_in_jsonl(tmp_path):
    (tmp_path / "x.jsonl").write_text('{"": 0, "a": 1.5}\n{"": 1, "a": 2}\n')
    done = polymeans_here("fit", "x.jsonl", "-k", 1, folder=tmp_path)
    check_error(done, "x.jsonl: column 1 has no name", "--columns 'a'")


def test_an_index_with_a_name_is_a_column(frame, tmp_path):
    frame.to_csv(tmp_path / "x.csv", index_label="hour")
    labels(polymeans_here("fit", "x.csv", "-k", 3, "--model", "m", folder=tmp_path))
    assert list(library.load(tmp_path / "m").feature_names_in_) == ["hour", "a", "b"]


def test_texts_beside_an_index(tmp_path):
    posts = pd.DataFrame({"body": ["red apples", "blue skies", "red pears", "blue seas"]})
    posts.to_csv(tmp_path / "posts.csv")
    labels(polymeans_here("fit", "posts.csv", "--text", "body", "-k", 2, folder=tmp_path))


def test_many_columns_are_not_listed(tmp_path):
    pd.DataFrame(np.eye(30)).to_csv(tmp_path / "x.csv")
    check_error(polymeans_here("fit", "x.csv", "-k", 2, folder=tmp_path), "--columns 'A,B,...'")


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_names_with_commas_and_quotes(ending, frame, tmp_path):
    """Hints write them as --columns takes them."""
    frame.columns = ["size, cm", 'the "other"']
    listed = '"size, cm","the ""other"""'
    frame.to_csv(tmp_path / "idx.csv")
    if ending == "csv":
        frame.to_csv(tmp_path / "bare.csv", index=False)
    else:
        frame.to_parquet(tmp_path / "bare.parquet", index=False)
    bare = f"bare.{ending}"
    expected = labels(polymeans_here("fit", bare, "-k", 3, folder=tmp_path))
    check_error(polymeans_here("fit", "idx.csv", "-k", 3, folder=tmp_path), f"--columns '{listed}'")
    for name in ("idx.csv", bare):
        done = polymeans_here("fit", name, "-k", 3, "--columns", listed, folder=tmp_path)
        assert labels(done) == expected
    done = polymeans_here("fit", bare, "-k", 3, "--columns", "x", folder=tmp_path)
    check_error(done, "no column 'x'", 'columns are: "size, cm", "the ""other"""')


def test_names_with_spaces_at_their_ends(frame, tmp_path):
    frame.columns = [" lead", "trail "]
    frame.to_parquet(tmp_path / "x.parquet", index=False)
    expected = labels(polymeans_here("fit", "x.parquet", "-k", 3, folder=tmp_path))
    done = polymeans_here("fit", "x.parquet", "-k", 3, "--columns", "lead", folder=tmp_path)
    check_error(done, 'columns are: " lead", "trail "')
    for listed in ('" lead","trail "', ' " lead" , "trail "'):
        done = polymeans_here("fit", "x.parquet", "-k", 3, "--columns", listed, folder=tmp_path)
        assert labels(done) == expected


@pytest.mark.parametrize("text", ["a\nb", "a,b\rc", "a\n,b\n\nc"])
def test_line_breaks_in_columns_are_refused(text, frame, tmp_path):
    frame.to_csv(tmp_path / "x.csv", index=False)
    done = polymeans_here("fit", "x.csv", "-k", 3, "--columns", text, folder=tmp_path)
    assert done.code == 2
    assert "--columns: " in done.notes
    assert "has a line break" in done.notes


def test_lists_of_names():
    assert names(' a , "b, c" ,d e,, "f""g" , h "i"') == ["a", "b, c", "d e", 'f"g', 'h "i"']
    assert names("a\n") == ["a"]
    for one in ["a", " a", "a ", 'a"b', '"a"', "a,b", "a\nb", ",", '"']:
        assert names(f"{quoted(one)},x") == [one, "x"]


# --- names that are numbers -----------------------------------------------------------------------

NOTE = "the first line of x.csv, 0,1, is taken for a row; give --header"


@pytest.fixture
def numbered(frame, tmp_path):
    frame.columns = [0, 1]
    frame.to_csv(tmp_path / "x.csv", index=False)
    return tmp_path


def test_names_that_are_numbers_need_header(numbered):
    done = polymeans_here("fit", "x.csv", "-k", 3, folder=numbered)
    assert len(labels(done)) == 61
    assert NOTE in done.notes
    for option in ("--quiet", "--no-header"):
        done = polymeans_here("fit", "x.csv", "-k", 3, option, folder=numbered)
        assert len(labels(done)) == 61
        assert NOTE not in done.notes
    done = polymeans_here("fit", "x.csv", "-k", 3, "--header", "--model", "m", folder=numbered)
    assert len(labels(done)) == 60
    assert "is taken" not in done.notes
    assert list(library.load(numbered / "m").feature_names_in_) == ["0", "1"]
    # The model knows these names.
    for options in ([], ["--header"]):
        done = polymeans_here("predict", "x.csv", "--model", "m", *options, folder=numbered)
        assert len(labels(done)) == 60
        assert "is taken" not in done.notes


def test_columns_that_are_chosen_by_number_are_names(numbered):
    done = polymeans_here("fit", "x.csv", "-k", 3, "--columns", "1", folder=numbered)
    assert len(labels(done)) == 60


@pytest.mark.parametrize(
    ("first", "noted"),
    [("2019,2020,2021", True), ("3,4", False), ("0,2", False), ("0.0,1.0", False), ("0", True)],
)
def test_only_lines_that_count_are_noted(first, noted, tmp_path):
    n = first.count(",") + 1
    rows = "\n".join([first, *[",".join([str(i)] * n) for i in range(5, 15)]])
    (tmp_path / "x.csv").write_text(rows)
    done = polymeans_here("fit", "x.csv", "-k", 2, folder=tmp_path)
    assert len(labels(done)) == 11
    assert ("--header" in done.notes) == noted


def test_both_kinds_of_first_line_exclude_each_other(numbered):
    done = polymeans_here("fit", "x.csv", "-k", 3, "--header", "--no-header", folder=numbered)
    assert done.code == 2
    assert "not allowed with" in done.notes


def test_names_that_are_given_twice(tmp_path):
    table = pa.Table.from_arrays([pa.array([1.0, 2.0])] * 2, names=["a", "a"])
    pq.write_table(table, tmp_path / "x.parquet")
    (tmp_path / "x.csv").write_text("7,7\n1,2\n3,4\n")
    done = polymeans_here("fit", "x.parquet", "-k", 1, folder=tmp_path)
    check_error(done, "x.parquet has two columns 'a'", "rename one")
    done = polymeans_here("fit", "x.csv", "-k", 1, "--header", folder=tmp_path)
    check_error(done, "x.csv has two columns '7'", "--no-header")


def test_help_says_how_names_are_quoted(tmp_path):
    assert '"size, cm",weight' in polymeans_here("fit", "--help", folder=tmp_path).out
