"""Files of every format: the same rows, the same labels."""

import json

import numpy as np
import pytest

import polymeans as library
from polymeans import KMeans
from polymeans.commands.options import FORMATS
from polymeans.metrics import purity
from tests.commands.conftest import FILES, NAMES
from tests.commands.running import polymeans, polymeans_here


@pytest.fixture(scope="module")
def labels(iris):
    return KMeans(3, random_state=0).fit(iris).labels_


#: Files that are given to a process of their own, one of each format.
IN_A_PROCESS = {f"rows.{kind}" for kind in FORMATS}

#: Those of the default run; the long run has all.
IN_A_PROCESS_SHORT = {"rows.csv", "rows.parquet"}


def test_each_format_is_given_to_a_process():
    assert set(FILES) > IN_A_PROCESS > IN_A_PROCESS_SHORT


@pytest.mark.parametrize(
    ("name", "run"),
    [
        *((name, polymeans_here) for name in FILES if name not in IN_A_PROCESS_SHORT),
        *((name, polymeans) for name in sorted(IN_A_PROCESS_SHORT)),
        *(
            pytest.param(name, polymeans, marks=pytest.mark.long)
            for name in sorted(IN_A_PROCESS - IN_A_PROCESS_SHORT)
        ),
    ],
)
def test_every_format_gives_the_labels_of_the_library(name, run, folder, labels, tmp_path):
    extra = ["--delimiter", ";"] if name == "semicolons.csv" else []
    model = tmp_path / "m.safetensors"
    done = run("fit", folder / name, "-k", 3, "--model", model, *extra, folder=tmp_path)
    assert done.code == 0, done.notes
    np.testing.assert_array_equal([int(line) for line in done.out.split()], labels)
    assert "3 clusters of 150 rows and 4 features" in done.notes
    loaded = library.load(model)
    assert (loaded.n_clusters, loaded.random_state) == (3, 0)
    np.testing.assert_array_equal(loaded.labels_, labels)
    done = polymeans_here("predict", folder / name, "--model", model, *extra, folder=tmp_path)
    assert done.code == 0, done.notes
    assert done.notes == ""
    np.testing.assert_array_equal([int(line) for line in done.out.split()], labels)


@pytest.mark.parametrize("name", ["rows.tsv", "rows.npy", "rows.parquet", "rows.svm", "rows.jsonl"])
def test_standard_input(name, folder, labels, tmp_path):
    kind, content = name.split(".")[1], (folder / name).read_bytes()
    run = polymeans if kind == "npy" else polymeans_here
    done = run("fit", "-", "--format", kind, "-k", 3, stdin=content, folder=tmp_path)
    assert done.code == 0, done.notes
    np.testing.assert_array_equal([int(line) for line in done.out.split()], labels)


def test_standard_input_is_csv(folder, labels, tmp_path):
    done = polymeans_here(
        "fit", "-", "-k", 3, stdin=(folder / "rows.csv").read_bytes(), folder=tmp_path
    )
    np.testing.assert_array_equal([int(line) for line in done.out.split()], labels)


@pytest.mark.parametrize("ending", ["csv", "tsv", "npy", "txt"])
def test_labels_go_to_files(ending, folder, labels, tmp_path):
    path = tmp_path / f"labels.{ending}"
    done = polymeans_here("fit", folder / "rows.npy", "-k", 3, "--labels", path, folder=tmp_path)
    assert (done.code, done.out) == (0, "")
    if ending == "npy":
        found = np.load(path)
    else:
        lines = path.read_text().split()
        found = [int(line) for line in (lines if ending == "txt" else lines[1:])]
        assert ending == "txt" or lines[0] == "label"
    np.testing.assert_array_equal(found, labels)
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("name", ["kinds.csv", "kinds.parquet"])
def test_columns_by_name_and_scale(name, folder, iris, tmp_path):
    chosen = [NAMES[2], NAMES[0]]
    model = tmp_path / "m"
    arguments = ["--columns", ",".join(chosen), "--scale", "-k", 3, "--model", model]
    done = polymeans_here("fit", folder / name, *arguments, folder=tmp_path)
    assert done.code == 0, done.notes
    X = iris[:, [2, 0]]
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    np.testing.assert_allclose(
        library.load(model)[-1].inertia_, KMeans(3, random_state=0).fit(X).inertia_, rtol=1e-9
    )
    done = polymeans_here("predict", folder / name, "--model", model, folder=tmp_path)
    found = [int(line) for line in done.out.split()]
    np.testing.assert_array_equal(found, library.load(model)[-1].labels_)


def test_columns_of_a_model_may_be_in_another_order(folder, tmp_path):
    polymeans_here("fit", folder / "rows.csv", "-k", 3, "--model", "m", folder=tmp_path)
    lines = (folder / "kinds.csv").read_text().splitlines()
    turned = [",".join(reversed(line.split(","))) for line in lines]
    (tmp_path / "turned.csv").write_text("\n".join(turned))
    done = polymeans_here("predict", "turned.csv", "--model", "m", folder=tmp_path)
    assert done.code == 0, done.notes
    labels = library.load(tmp_path / "m").labels_
    np.testing.assert_array_equal([int(line) for line in done.out.split()], labels)


@pytest.mark.parametrize("name", ["posts.csv", "posts.parquet", "posts.jsonl"])
def test_texts(name, folder, tmp_path):
    run = polymeans if name == "posts.csv" else polymeans_here
    done = run("fit", folder / name, "--text", "body", "-k", 4, "--model", "m", folder=tmp_path)
    assert done.code == 0, done.notes
    labels = [int(line) for line in done.out.split()]
    assert purity(np.load(folder / "topics.npy"), labels) > 0.95
    # New texts: the words of the model are in its file.
    (tmp_path / "new.csv").write_text((folder / "posts.csv").read_text())
    done = polymeans_here("predict", "new.csv", "--model", "m", folder=tmp_path)
    assert done.code == 0, done.notes
    found = [int(line) for line in done.out.split()]
    assert purity(labels, found) > 0.97
    facts = json.loads(polymeans_here("info", "m", "--json", folder=tmp_path).out)
    assert facts["text_column"] == "body"
    assert facts["parameters"]["metric"] == "cosine"
    assert len(facts["features"]) == facts["n_features"]


@pytest.mark.parametrize(
    ("arguments", "kind"),
    [
        (["--structure", "khatri-rao", "--sizes", "2,2"], "KhatriRaoKMeans"),
        (["--structure", "khatri-rao", "-k", "4"], "KhatriRaoKMeans"),
        (["--structure", "quick", "-k", "5", "--set", "n_nonzeros=20"], "QuickKMeans"),
        (["--structure", "l1", "-k", "3", "--n-init", "2"], "L1KMeans"),
        (["--structure", "transformed", "-k", "3", "--set", "rho=0.5"], "TransformedKMeans"),
        (["--structure", "nonredundant", "--sizes", "2,2"], "NonRedundantKMeans"),
        (["-k", "3", "--metric", "cosine", "--seed", "5", "--max-iter", "9"], "KMeans"),
    ],
)
def test_every_structure(arguments, kind, folder, tmp_path):
    done = polymeans_here("fit", folder / "rows.csv", *arguments, "--model", "m", folder=tmp_path)
    assert done.code == 0, done.notes
    model = library.load(tmp_path / "m")
    assert type(model).__name__ == kind
    expected = getattr(model, "labels_per_view_", model.labels_)
    found = np.loadtxt(done.out.splitlines(), dtype=int, delimiter="\t")
    np.testing.assert_array_equal(found, expected)
    done = polymeans_here("predict", folder / "rows.csv", "--model", "m", folder=tmp_path)
    np.testing.assert_array_equal(
        np.loadtxt(done.out.splitlines(), dtype=int, delimiter="\t"), expected
    )


@pytest.mark.parametrize(
    "structure", [["-k", 5], ["--structure", "nonredundant", "--sizes", "3,2"]], ids=["k", "views"]
)
def test_the_largest_cluster_may_come_first(structure, folder, tmp_path):
    arguments = ["fit", folder / "rows.npy", *structure, "--label-order", "size", "--model", "m"]
    done = polymeans_here(*arguments, "--json", folder=tmp_path)
    assert done.code == 0, done.notes
    found = json.loads(done.out)
    assert all(sizes == sorted(sizes, reverse=True) for sizes in found["sizes"])
    done = polymeans_here("predict", folder / "rows.npy", "--model", "m", folder=tmp_path)
    labels = np.loadtxt(done.out.splitlines(), dtype=int, delimiter="\t")
    np.testing.assert_array_equal(labels, found["labels"])


def test_json(folder, tmp_path):
    done = polymeans_here("fit", folder / "rows.npy", "-k", 3, "--json", folder=tmp_path)
    found = json.loads(done.out)
    assert done.notes == ""
    assert found["estimator"] == "KMeans"
    assert len(found["labels"]) == found["n_samples"] == 150
    assert sum(found["sizes"][0]) == 150
    labels = tmp_path / "l.csv"
    done = polymeans_here(
        "fit", folder / "rows.npy", "-k", 3, "--json", "--labels", labels, folder=tmp_path
    )
    assert "labels" not in json.loads(done.out)
    assert labels.exists()


def test_a_model_of_a_program(folder, iris, tmp_path):
    model = KMeans(3, random_state=0).fit(iris)
    library.save(model, tmp_path / "m")
    done = polymeans("predict", folder / "rows.csv", "--model", "m", folder=tmp_path)
    np.testing.assert_array_equal([int(line) for line in done.out.split()], model.labels_)
    done = polymeans_here("info", "m", folder=tmp_path)
    assert done.code == 0
    assert "KMeans" in done.out


def test_rare_csv_files(tmp_path):
    """Blank lines, spaces, a byte order mark, other line ends, line breaks within cells."""
    text = '\ufeff"a\nb", c \r\n\r\n 1 ,2\r\n"3",4e0\r\n\r\n-5,+6\r\n'
    (tmp_path / "x.csv").write_bytes(text.encode("utf-8"))
    done = polymeans_here(
        "fit", "x.csv", "-k", 2, "--model", "m", "--columns", "c", folder=tmp_path
    )
    assert done.code == 0, done.notes
    assert len(done.out.split()) == 3
    done = polymeans_here("fit", "x.csv", "-k", 3, "--model", "m", folder=tmp_path)
    centers = library.load(tmp_path / "m").cluster_centers_
    np.testing.assert_array_equal(np.sort(centers[:, 0]), [-5, 1, 3])
