"""Bad command lines and bad files: one line with a reason and a hint, and nothing left behind."""

import json
import os
import resource

import numpy as np
import pytest

from tests.commands.running import check_error, polymeans, polymeans_here

CSV = "a,b\n1,2\n3,4\n5,6\n"


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        ([], ["COMMAND"]),
        (["paint"], ["'paint'", "polymeans --help"]),
        (["fit"], ["DATA"]),
        (["fit", "x.csv"], ["how many clusters", "-k"]),
        (["fit", "x.csv", "-k", "0"], ["'0' is not a whole number"]),
        (["fit", "x.csv", "-k", "two"], ["'two'"]),
        (["fit", "x.csv", "-k", "2", "--columns", "a,b,a"], ["'a,b,a' names column 'a' twice"]),
        (["fit", "x.csv", "--structure", "khatri-rao", "--sizes", "2,two"], ["'2,two'", "4,5"]),
        (["fit", "x.csv", "-k", "2", "--seed", "-1"], ["'-1' is not a whole number"]),
        (["fit", "x.csv", "-k", "2", "--sizes", "2,2"], ["--sizes is for"]),
        (["fit", "x.csv", "--structure", "khatri-rao"], ["--sizes 4,5"]),
        (["fit", "x.csv", "--structure", "cubic", "-k", "2"], ["cubic"]),
        (["fit", "x.csv", "-k", "2", "--structure", "l1", "--metric", "cosine"], ["--metric is"]),
        (["fit", "x.csv", "-k", "2", "--set", "speed=9"], ["no parameter 'speed'", "max_iter"]),
        (["fit", "x.csv", "-k", "2", "--set", "tol=-1"], ["tol must be"]),
        (["fit", "x.csv", "-k", "2", "--set", "tol"], ["NAME=VALUE"]),
        (["fit", "x.csv", "-k", "2", "--memory", "lots"], ["'lots'", "500M"]),
        (["fit", "x.csv", "-k", "2", "--text", "a", "--scale"], ["--text"]),
        (["fit", "x.xyz", "-k", "2"], ["format of 'x.xyz'", "--format"]),
        (["fit", "x.csv", "-k", "2", "--model", "no/m"], ["no directory 'no'", "--model"]),
        (["fit", "x.csv", "-k", "2", "--labels", "."], ["is a directory", "--labels"]),
        (["fit", "x.csv", "-k", "2", "--report", "no/r.html"], ["no directory", "--report"]),
        (["fit", "x.csv", "-k", "2", "--report", "r.pdf"], ["--report must end in .html", ".pdf"]),
        (["fit", "x.csv", "-k", "2", "--report", "-"], ["--report must end in .html", "'-'"]),
        (["fit", "x.csv", "-k", "2", "--set", "n_init=-1"], ["--n-init must be", "fit --help"]),
        (["report", "x.csv", "--model", "m", "--output", "r.pdf"], ["--output must end in .html"]),
        (["report", "x.csv", "--model", "m", "--output", "no/r.html"], ["directory", "--output"]),
        (["predict", "x.csv"], ["--model"]),
        (["predict", "x.csv", "--model", "m", "--labels", "no/l"], ["directory", "--labels"]),
        (["choose", "x.csv", "-k", "9-2"], ["'9-2' ends before it begins"]),
        (["demo", "--fast"], ["--fast"]),
        (["demo", "--output", "no/such/a.html"], ["no directory 'no/such'"]),
    ],
    ids=lambda part: " ".join(part)[:60] or "nothing",
)
def test_bad_command_lines(arguments, parts, tmp_path):
    (tmp_path / "x.csv").write_text(CSV)
    check_error(polymeans_here(*arguments, folder=tmp_path), *parts, code=2)
    assert os.listdir(tmp_path) == ["x.csv"]


BAD_FILES = {
    "missing column": ("x.csv", CSV, ["--columns", "a,z"], ["no column 'z'", "columns are: a, b"]),
    "missing text": ("x.csv", CSV, ["--text", "z"], ["no column 'z'"]),
    "ragged rows": ("x.csv", CSV + "7,8,9\n", [], ["line 5", "3 cells where 2"]),
    "short row": ("x.csv", "a,b\n1,2\n3\n", [], ["line 3", "1 cells where 2"]),
    "a word": ("x.csv", CSV + "7,eight\n9,1\n", [], ["line 5, column 'b' has 'eight'"]),
    "a word after a break": ("x.csv", '"a\n",b\n1,2\n3,x\n', [], ["line 4, column 'b' has 'x'"]),
    "an empty cell": ("x.csv", CSV + "7,\n", [], ["line 5, column 'b' is empty"]),
    "nan": ("x.csv", CSV + "nan,8\n", [], ["line 5, column 'a' has nan"]),
    "infinity": ("x.csv", CSV + "7,-inf\n", [], ["line 5, column 'b' has -inf"]),
    "empty": ("x.csv", "", [], ["is empty"]),
    "only a header": ("x.csv", "a,b\n", [], ["has no rows"]),
    "the same name twice": ("x.csv", "a,a\n1,2\n", [], ["two columns 'a'"]),
    "an open quote": ("x.csv", 'a,b\n1,"2\n', [], ["x.csv, line"]),
    "not UTF-8": ("x.csv", b"a,b\n1,\xff\xfe\n", [], ["not UTF-8"]),
    "binary": ("x.csv", bytes(range(256)) * 9, [], ["x.csv"]),
    "wrong delimiter": ("x.csv", "a;b\n1;2\n", [], ["column 'a;b'", "has '1;2'"]),
    "long delimiter": ("x.csv", CSV, ["--delimiter", "::"], ["not one character"]),
    "wrong magic of npy": ("x.npy", CSV, [], ["no .npy file"]),
    "empty npy": ("x.npy", b"", [], ["is empty"]),
    "wrong magic of npz": ("x.npz", CSV, [], ["npz file"]),
    "wrong magic of parquet": ("x.parquet", CSV, [], ["no Parquet file"]),
    "wrong magic of mtx": ("x.mtx", CSV, [], ["mtx file"]),
    "bad svm": ("x.svm", "1 a:2\n", [], ["svm file"]),
    "empty svm": ("x.svm", "\n", [], ["no rows"]),
    "bad json": ("x.jsonl", '{"a": 1}\n{"a": \n', [], ["line 2 is no JSON"]),
    "a key less": ("x.jsonl", '{"a": 1}\n{"b": 2}\n', [], ["line 2 has no 'a'"]),
    "a text in json": ("x.jsonl", '{"a": 1}\n{"a": "x"}\n', [], ["line 2, column 'a' has 'x'"]),
    "ragged json": ("x.jsonl", "[1, 2]\n[1]\n", [], ["line 2 has 1 numbers"]),
    "too few rows": ("x.csv", "a\n1\n", ["-k", "5"], ["n_samples=1", "n_clusters=5"]),
    "texts without words": ("x.csv", "a,b\n1,!\n2,?\n", ["--text", "b"], ["no words"]),
    "text of npy": ("x.npz", CSV, ["--text", "b"], ["no column 'b'"]),
}


#: Those that are given to a process; the others take the same way, in less time.
IN_A_PROCESS = {"a word", "wrong magic of npy"}


@pytest.mark.parametrize("what", BAD_FILES)
def test_bad_files(what, tmp_path):
    run = polymeans if what in IN_A_PROCESS else polymeans_here
    name, content, arguments, parts = BAD_FILES[what]
    (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    done = run(
        "fit", name, "-k", 2, *arguments, "--model", "m", "--labels", "l.csv", folder=tmp_path
    )
    check_error(done, *parts, code=2 if what == "long delimiter" else 1)
    assert os.listdir(tmp_path) == [name]


def test_a_bad_command_line_in_a_process(tmp_path):
    check_error(polymeans("fit", "x.csv", "-k", "0", folder=tmp_path), "'0'", code=2)


def test_arrays_of_other_kinds(tmp_path):
    for array in (np.zeros(3), np.zeros((2, 2, 2)), np.array([["a", "b"]]), np.zeros((0, 2))):
        np.save(tmp_path / "x.npy", array)
        check_error(polymeans_here("fit", "x.npy", "-k", 1, folder=tmp_path), "x.npy")
    np.save(tmp_path / "x.npy", np.array([[1.0, np.nan]]))
    done = polymeans_here("fit", "x.npy", "-k", 1, folder=tmp_path)
    check_error(done, "Row 0 has a value that is not finite: nan")
    np.savez(tmp_path / "x.npz", a=np.zeros((2, 2)), b=np.zeros((2, 2)))
    check_error(polymeans_here("fit", "x.npz", "-k", 1, folder=tmp_path), "2 arrays", "--key: a, b")
    check_error(
        polymeans_here("fit", "x.npz", "-k", 1, "--key", "z", folder=tmp_path), "no array 'z'"
    )
    np.savez(tmp_path / "x.npz", X=np.array([{"pickled": 1}], dtype=object))
    check_error(polymeans_here("fit", "x.npz", "-k", 1, folder=tmp_path), "npz file")


def test_files_that_are_not_there_or_cannot_be_read(tmp_path):
    check_error(polymeans_here("fit", "x.csv", "-k", 2, folder=tmp_path), "no file x.csv")
    (tmp_path / "d.csv").mkdir()
    check_error(polymeans_here("fit", "d.csv", "-k", 2, folder=tmp_path), "d.csv is a directory")
    done = polymeans_here("predict", "x.csv", "--model", "m", folder=tmp_path)
    check_error(done, "cannot read m", "--model")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read all files")
def test_a_file_without_permission(tmp_path):
    (tmp_path / "x.csv").write_text(CSV)
    (tmp_path / "x.csv").chmod(0)
    check_error(
        polymeans("fit", "x.csv", "-k", 2, folder=tmp_path), "cannot read x.csv", "permissions"
    )


@pytest.mark.skipif(not os.path.exists("/proc/self/mem"), reason="no such file here")
@pytest.mark.parametrize("kind", ["csv", "npy", "parquet", "npz"])
def test_a_file_that_fails_while_it_is_read(kind, tmp_path):
    done = polymeans_here("fit", "/proc/self/mem", "--format", kind, "-k", 2, folder=tmp_path)
    check_error(done, "/proc/self/mem")


@pytest.mark.parametrize(
    ("content", "parts"),
    [
        (b"no model", ["no model file"]),
        (bytes(100), ["no model file"]),
        ((200).to_bytes(8, "little") + b"{" + bytes(300), ["cannot be read"]),
    ],
    ids=["text", "zeros", "header"],
)
def test_bad_models(content, parts, tmp_path):
    (tmp_path / "x.csv").write_text(CSV)
    (tmp_path / "m").write_bytes(content)
    check_error(polymeans_here("predict", "x.csv", "--model", "m", folder=tmp_path), *parts)
    check_error(polymeans_here("info", "m", folder=tmp_path), *parts)


def test_rows_that_are_not_those_of_the_model(tmp_path):
    (tmp_path / "x.csv").write_text(CSV)
    assert polymeans_here("fit", "x.csv", "-k", 2, "--model", "m", folder=tmp_path).code == 0
    (tmp_path / "y.csv").write_text("a,c\n1,2\n")
    done = polymeans_here("predict", "y.csv", "--model", "m", folder=tmp_path)
    check_error(done, "no column 'b'", "columns are: a, c")
    np.save(tmp_path / "y.npy", np.zeros((3, 5)))
    check_error(polymeans_here("predict", "y.npy", "--model", "m", folder=tmp_path), "y.npy")


def test_a_recipe_that_was_changed(tmp_path):
    from tests.persistence.bytes_of import signed, with_model

    (tmp_path / "x.csv").write_text(CSV)
    polymeans_here("fit", "x.csv", "-k", 2, "--scale", "--model", "m", folder=tmp_path)

    def change(model):
        model["recipe"]["columns"] = ["a"]

    content = signed(with_model((tmp_path / "m").read_bytes(), change), tmp_path / "s")
    (tmp_path / "m").write_bytes(content)
    check_error(polymeans_here("predict", "x.csv", "--model", "m", folder=tmp_path), "recipe")


def limited_files():
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, resource.RLIM_INFINITY))


@pytest.mark.parametrize("option", ["--model", "--labels"])
def test_a_full_disk_leaves_nothing_half_written(option, tmp_path):
    np.save(tmp_path / "x.npy", np.random.default_rng(0).random((3000, 20)))
    (tmp_path / "out").write_text("old")
    arguments = ["fit", "x.npy", "-k", "9", option, "out"]
    warm = polymeans_here(*arguments[:-2], folder=tmp_path)  # kernels are on the disk already
    assert warm.code == 0
    done = polymeans(*arguments, folder=tmp_path, before=limited_files)
    check_error(done, "cannot write out", "File too large", option)
    assert (tmp_path / "out").read_text() == "old"
    assert sorted(os.listdir(tmp_path)) == ["out", "x.npy"]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no such device here")
def test_a_full_device(tmp_path):
    (tmp_path / "x.csv").write_text(CSV)
    done = polymeans_here("fit", "x.csv", "-k", 2, "--labels", "/dev/full", folder=tmp_path)
    check_error(done, "cannot write /dev/full", "No space left")


def test_warnings_are_one_line_each(tmp_path):
    (tmp_path / "x.csv").write_text("a\n1\n1\n1\n")
    done = polymeans("fit", "x.csv", "-k", 2, folder=tmp_path)
    assert done.code == 0
    assert done.notes.startswith("polymeans: warning: Number of distinct clusters (1)")
    assert len(done.notes.splitlines()) == 2
    done = polymeans_here("fit", "x.csv", "-k", 2, "--quiet", "--json", folder=tmp_path)
    assert done.notes == ""
    assert json.loads(done.out)["sizes"] == [[3]]


def test_info_names_its_only_argument(tmp_path):
    check_error(polymeans_here("info", "missing", folder=tmp_path), "cannot read", "check MODEL")
    (tmp_path / "rows.csv").write_text(CSV)
    check_error(polymeans_here("info", "rows.csv", folder=tmp_path), "no model", "give MODEL")
