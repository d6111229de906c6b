"""choose and compare: structures, criteria and pictures."""

import json
import sys

import matplotlib as mpl
import numpy as np
import pytest

import polymeans as library
from polymeans.commands.choose import CRITERIA
from polymeans.commands.estimators import STRUCTURES
from polymeans.selection import choice
from tests.commands.running import check_error, polymeans, polymeans_here

BEGINNINGS = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}


@pytest.fixture(autouse=True)
def same_backend():
    backend = mpl.get_backend()
    yield
    mpl.use(backend)


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    rng = np.random.default_rng(0)
    centers = 12 * rng.normal(size=(4, 3))
    path = tmp_path_factory.mktemp("rows") / "x.npy"
    np.save(path, centers[rng.integers(4, size=200)] + rng.normal(size=(200, 3)))
    return path


def test_criteria_are_those_of_the_function():
    assert ("auto", *choice.CRITERIA) == CRITERIA


@pytest.mark.parametrize("structure", ["l1", "transformed"])
def test_structures(structure, rows, tmp_path):
    arguments = ["-k", "2-5", "--structure", structure, "--json"]
    done = polymeans_here("choose", rows, *arguments, folder=tmp_path)
    assert done.code == 0, done.notes
    found = json.loads(done.out)
    estimator = getattr(library, STRUCTURES[structure])()
    expected = library.choose_n_clusters(
        np.load(rows), range(2, 6), estimator=estimator, random_state=0
    )
    assert (found["best"], found["choices"]) == (expected.best_, expected.choices_)
    assert "gap" not in found["choices"]


def test_a_criterion(rows, tmp_path):
    arguments = ["-k", "2-6", "--criterion", "gap"]
    done = polymeans_here("choose", rows, *arguments, folder=tmp_path)
    assert done.code == 0, done.notes
    assert done.out.startswith("number of clusters: 4 (the answer of gap statistic)")


def test_a_criterion_without_an_answer_is_refused_before_the_work(rows, tmp_path, monkeypatch):
    monkeypatch.setattr("polymeans.selection.choosing._Search.run", None)
    arguments = ["--structure", "quick", "--criterion", "bic", "--picture", "p.png"]
    done = polymeans_here("choose", rows, *arguments, folder=tmp_path)
    check_error(done, "--criterion 'bic' is not defined", "'silhouette'")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("ending", BEGINNINGS)
def test_pictures_of_a_choice(ending, rows, tmp_path):
    run = polymeans if ending == "png" else polymeans_here
    done = run("choose", rows, "-k", "2-4", "--picture", f"p.{ending}", folder=tmp_path)
    assert done.code == 0, done.notes
    assert done.notes == f"picture: p.{ending}\n"
    assert (tmp_path / f"p.{ending}").read_bytes().startswith(BEGINNINGS[ending])
    assert [path.name for path in tmp_path.iterdir()] == [f"p.{ending}"]


def test_a_picture_of_a_comparison(rows, tmp_path):
    arguments = ["-k", 4, "--budget", 5, "--picture", "P.PNG", "--json"]
    done = polymeans_here("compare", rows, *arguments, folder=tmp_path)
    assert done.code == 0, done.notes
    assert json.loads(done.out)["picture"] == "P.PNG"
    assert (tmp_path / "P.PNG").read_bytes().startswith(BEGINNINGS["png"])


@pytest.mark.parametrize("command", ["choose", "compare"])
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("p.jpg", "--picture must end in .png, .svg or .pdf, got 'p.jpg'"),
        ("-", "--picture must end in"),
        ("no/p.png", "no directory 'no'"),
    ],
)
def test_bad_names_of_pictures(command, name, message, tmp_path):
    done = polymeans_here(command, "missing.csv", "--picture", name, folder=tmp_path)
    check_error(done, message, code=2)


@pytest.mark.parametrize("command", ["choose", "compare"])
def test_pictures_without_matplotlib(command, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    done = polymeans_here(command, "missing.csv", "--picture", "p.png", folder=tmp_path)
    check_error(done, "--picture needs matplotlib", 'pip install "polymeans[plot]"')


def test_a_full_disk(rows, tmp_path):
    (tmp_path / "full.png").symlink_to("/dev/full")
    done = polymeans_here("choose", rows, "-k", "2,3", "--picture", "full.png", folder=tmp_path)
    check_error(done, "cannot write full.png", "--picture")
