"""describe, report, choose, compare: what the library's functions say, on files."""

import json

import numpy as np
import pytest

import polymeans as library
from tests.commands.conftest import NAMES
from tests.commands.running import check_error, polymeans, polymeans_here


@pytest.fixture(scope="module")
def model(folder, tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "m.safetensors"
    columns = ",".join(NAMES)
    done = polymeans_here(
        "fit", folder / "kinds.csv", "--columns", columns, "-k", 3, "--model", path, folder=folder
    )
    assert done.code == 0, done.notes
    return path


def test_describe(model, folder, iris, tmp_path):
    done = polymeans_here(
        "describe",
        folder / "kinds.csv",
        "--model",
        model,
        "--compare-with",
        "kind",
        folder=tmp_path,
    )
    assert done.code == 0, done.notes
    loaded = library.load(model)
    kinds = [line.split(",")[-1] for line in (folder / "kinds.csv").read_text().splitlines()[1:]]
    expected = library.describe(loaded, iris, feature_names=NAMES, y=kinds)
    assert done.out == f"{expected}\n"
    done = polymeans_here(
        "describe", folder / "rows.npy", "--model", model, "--json", folder=tmp_path
    )
    found = json.loads(done.out)
    assert found.keys() == expected.to_dict().keys()


@pytest.mark.parametrize("memory", ["1G", "1k"])
def test_report(model, folder, memory, tmp_path):
    done = polymeans_here(
        "report", folder / "kinds.parquet", "--model", model, "--output", "r.html",
        "--compare-with", "kind", "--title", "Iris & more", "--memory", memory, folder=tmp_path,
    )  # fmt: skip
    assert done.code == 0, done.notes
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "Iris &amp; more" in page
    assert "petal length" in page
    assert "versicolor" in page


def test_fit_writes_a_report_of_texts(folder, tmp_path):
    done = polymeans_here(
        "fit", folder / "posts.jsonl", "--text", "body", "-k", 4, "--report", "r.html",
        "--labels", "l.npy", folder=tmp_path,
    )  # fmt: skip
    assert done.code == 0, done.notes
    text = json.loads((folder / "posts.jsonl").read_text().splitlines()[0])["body"]
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "KMeans" in page
    assert any(word in page for word in text.split() if len(word) > 6)


def test_choose(tmp_path):
    rng = np.random.default_rng(0)
    centers = 12 * rng.normal(size=(4, 3))
    np.save(tmp_path / "x.npy", centers[rng.integers(4, size=600)] + rng.normal(size=(600, 3)))
    done = polymeans_here("choose", "x.npy", "-k", "2-7", "--json", folder=tmp_path)
    assert done.code == 0, done.notes
    found = json.loads(done.out)
    assert found["best"] == 4
    assert {line["n_clusters"] for line in found["table"]} >= set(range(2, 8))
    done = polymeans_here("choose", "x.npy", "-k", "2,4,6", folder=tmp_path)
    assert done.code == 0
    assert "4" in done.out


def test_compare(folder, tmp_path):
    done = polymeans("compare", folder / "rows.csv", "-k", 4, "--json", folder=tmp_path)
    assert done.code == 0, done.notes
    found = json.loads(done.out)
    names = [line["structure"] for line in found["table"]]
    assert any(found["best"].startswith(name) for name in names)
    assert any(name.startswith("KhatriRaoKMeans") for name in names)


def test_what_the_library_refuses_is_one_line(model, folder, tmp_path):
    done = polymeans_here("compare", folder / "rows.csv", "-k", 1, folder=tmp_path)
    check_error(done, "-k must be", "(hint: polymeans compare --help)")
    done = polymeans_here(
        "report", folder / "rows.csv", "--model", model, "--image-shape", "3,5", folder=tmp_path
    )
    check_error(done, "--image-shape (3, 5) makes 15 numbers", "(hint: polymeans report --help)")
    assert "image_shape" not in done.notes
    done = polymeans_here(
        "describe", folder / "rows.csv", "--model", model, "--compare-with", "z", folder=tmp_path
    )
    check_error(done, "no column 'z'")


def test_disk_full_for_a_report(model, folder, tmp_path):
    (tmp_path / "full.html").symlink_to("/dev/full")
    done = polymeans_here(
        "report", folder / "rows.csv", "--model", model, "--output", "full.html", folder=tmp_path
    )
    assert done.code == 1
    assert len(done.notes.splitlines()) == 1
