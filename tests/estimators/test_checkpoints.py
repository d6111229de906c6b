"""A fit that was killed or interrupted goes on from its checkpoint, to the same bits."""

import json
import shutil
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from polymeans import (
    KhatriRaoKMeans,
    KMeans,
    L1KMeans,
    NonRedundantKMeans,
    QuickKMeans,
    TransformedKMeans,
)
from polymeans.engine import journal as journals
from tests.marks import long

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

MODELS = {
    "KMeans": KMeans(8, random_state=0),
    "KMeans, two starts": KMeans(8, n_init=2, random_state=0),
    "KMeans, cosine": KMeans(8, metric="cosine", random_state=0),
    "KMeans, empty clusters": KMeans(5, init=np.full((5, 6), 50.0), tol=0.0),
    "KhatriRaoKMeans": KhatriRaoKMeans((3, 3), random_state=0, effort=0.1),
    "KhatriRaoKMeans, product": KhatriRaoKMeans(
        (3, 3), aggregator="product", random_state=0, effort=0.1
    ),
    "KhatriRaoKMeans, naive": KhatriRaoKMeans((3, 3), init="naive", random_state=0),
    "QuickKMeans": QuickKMeans(8, random_state=0),
    "L1KMeans": L1KMeans(8, random_state=0),
    "NonRedundantKMeans": NonRedundantKMeans((3, 2), random_state=0, effort=0.1),
    "TransformedKMeans": TransformedKMeans(4, random_state=0),
}


def rows(container=np.asarray):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 6)) + rng.integers(0, 4, (400, 1))
    return container(np.where(X > 0, X, 0.0))


class KilledError(BaseException):
    """As abrupt as a signal."""


def kill_after(monkeypatch, n_writes):
    """Let a fit die after some files were written."""
    written = []
    write = journals._write

    def counted(path, content):
        if len(written) == n_writes:
            raise KilledError
        written.append(path)
        write(path, content)

    monkeypatch.setattr(journals, "_write", counted)


def state_of(model):
    state = {name: value for name, value in vars(model).items() if name.endswith("_")}
    return state | {"centers": model.cluster_centers_}


def assert_same_bits(model, expected):
    mine, other = state_of(model), state_of(expected)
    assert mine.keys() == other.keys()
    for name in ("labels_", "inertia_", "n_iter_", "centers"):
        np.testing.assert_array_equal(mine[name], other[name], err_msg=name)
    for field in ("inertia", "n_moved", "shift"):
        np.testing.assert_array_equal(model.history_[field], expected.history_[field])


@pytest.mark.parametrize("moments", [(1, 4, 9), *long((3, 5, 7, 12))], ids=str)
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array], ids=["dense", "CSR"])
@pytest.mark.parametrize("name", MODELS)
def test_a_killed_fit_goes_on(name, container, moments, tmp_path, monkeypatch):
    X = rows(container)
    expected = clone(MODELS[name]).fit(X)
    for n_writes in moments:
        folder = tmp_path / f"after {n_writes}"
        with monkeypatch.context() as patch:
            kill_after(patch, n_writes)
            try:
                clone(MODELS[name]).fit(X, checkpoint=folder)
            except KilledError:
                assert folder.exists()
        model = clone(MODELS[name]).fit(X, checkpoint=folder)
        assert not folder.exists()
        assert_same_bits(model, expected)


@pytest.mark.parametrize("n_factors", ["auto", 3])
def test_factors_go_on_with_the_turn_they_had_come_to(n_factors, tmp_path, monkeypatch):
    """Every third update selects new supports, whichever process makes it."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(600, 6)) + 2 * rng.integers(0, 3, (600, 1))
    model = QuickKMeans(12, n_nonzeros=40, n_factors=n_factors, tol=0.0, random_state=0)
    expected = clone(model).fit(X)
    assert expected.n_iter_ > 4
    for n_iterations in (1, 2, 3, 4):
        folder = tmp_path / f"after {n_iterations}"
        with monkeypatch.context() as patch:
            kill_in_descent(patch, "0002.npz", n_iterations)
            with pytest.raises(KilledError):
                clone(model).fit(X, checkpoint=folder)
        assert_same_bits(clone(model).fit(X, checkpoint=folder), expected)


def kill_in_descent(monkeypatch, name, n_iterations):
    """Let a fit die when a page was written so often."""
    written, write = [], journals._write

    def counted(path, content):
        write(path, content)
        written.append(path.name)
        if written.count(name) == n_iterations:
            raise KilledError

    monkeypatch.setattr(journals, "_write", counted)


def test_a_recorded_fit_is_the_same_as_another(tmp_path):
    expected = KMeans(8, random_state=0).fit(rows())
    assert_same_bits(KMeans(8, random_state=0).fit(rows(), checkpoint=tmp_path / "x"), expected)


def interrupted(folder, monkeypatch, model=None, X=None):
    """A folder left by a fit that was interrupted."""
    with monkeypatch.context() as patch:
        kill_after(patch, 5)
        with pytest.raises(KilledError):
            (model or KMeans(8, random_state=0)).fit(
                rows() if X is None else X, checkpoint=str(folder)
            )
    return folder


def test_without_a_seed_the_draws_are_those_of_the_first_fit(tmp_path, monkeypatch):
    X = rows()
    folder = interrupted(tmp_path / "a", monkeypatch, KMeans(8))
    shutil.copytree(folder, tmp_path / "b")
    first = KMeans(8).fit(X, checkpoint=folder)
    assert_same_bits(KMeans(8).fit(X, checkpoint=tmp_path / "b"), first)


@pytest.mark.parametrize(
    ("model", "change", "message"),
    [
        (KMeans(7, random_state=0), None, "n_clusters of its parameters"),
        (KMeans(8, random_state=0, tol=0.5), None, "tol of its parameters"),
        (L1KMeans(8, random_state=0), None, "belongs to another fit"),
        (KMeans(8, random_state=0, max_iter=20), None, "max_iter of its parameters"),
        (KMeans(8, random_state=np.random.RandomState(0)), None, "random_state of its parameters"),
        (KMeans(8, random_state=0), lambda X: X[:-1], "of its rows"),
        (KMeans(8, random_state=0), lambda X: X[::-1], "order of its rows"),
        (KMeans(8, random_state=0), lambda X: X + 1, "of its rows"),
        (KMeans(8, random_state=0), np.float32, "of its rows"),
    ],
)
def test_another_fit_is_refused(model, change, message, tmp_path, monkeypatch):
    folder = interrupted(tmp_path / "x", monkeypatch)
    X = rows() if change is None else change(rows())
    with pytest.raises(ValueError, match=message):
        model.fit(X, checkpoint=folder)
    assert not hasattr(model, "labels_")
    KMeans(8, random_state=0).fit(rows(), checkpoint=folder)  # it is not harmed


def test_threads_and_verbosity_may_change(tmp_path, monkeypatch):
    folder = interrupted(tmp_path / "x", monkeypatch)
    model = KMeans(8, random_state=0, n_threads=2, verbose=1).fit(rows(), checkpoint=folder)
    assert_same_bits(model, KMeans(8, random_state=0).fit(rows()))


def test_damaged_and_foreign_folders_are_refused(tmp_path, monkeypatch):
    file = tmp_path / "file"
    file.write_text("mine")
    with pytest.raises(ValueError, match="is a file"):
        KMeans(8).fit(rows(), checkpoint=file)
    with pytest.raises(ValueError, match="folder of other files"):
        KMeans(8).fit(rows(), checkpoint=tmp_path)
    assert file.read_text() == "mine"
    folder = interrupted(tmp_path / "x", monkeypatch)
    header = folder / "journal.json"
    header.write_text(json.dumps({"format": 99}))
    with pytest.raises(ValueError, match="has format 99"):
        KMeans(8, random_state=0).fit(rows(), checkpoint=folder)


def test_folders_of_the_version_before_are_refused(tmp_path, monkeypatch):
    """Their pages do not say which update of a QuickKMeans is next."""
    folder = interrupted(tmp_path / "x", monkeypatch)
    header = folder / "journal.json"
    header.write_text(json.dumps(json.loads(header.read_text()) | {"format": 1}))
    with pytest.raises(ValueError, match=r"has format 1, but .* delete its folder"):
        KMeans(8, random_state=0).fit(rows(), checkpoint=folder)


@pytest.mark.parametrize("number", [0, -1])
@pytest.mark.parametrize("damage", [lambda content: content[:999], lambda _: b"", lambda _: b"PK"])
def test_what_a_damaged_page_recorded_is_computed_again(number, damage, tmp_path, monkeypatch):
    folder = interrupted(tmp_path / "x", monkeypatch)
    page = sorted(folder.glob("*.npz"))[number]
    page.write_bytes(damage(page.read_bytes()))
    model = KMeans(8, random_state=0)
    with pytest.warns(RuntimeWarning, match=f"{page.name} cannot be read.*computed again"):
        model.fit(rows(), checkpoint=folder)
    assert_same_bits(model, KMeans(8, random_state=0).fit(rows()))


def test_an_array_of_another_kind_is_no_page(tmp_path, monkeypatch):
    folder = interrupted(tmp_path / "x", monkeypatch)
    for page in folder.glob("*.npz"):
        np.savez(page, other=np.arange(3))
    with pytest.warns(RuntimeWarning, match="cannot be read"):
        model = KMeans(8, random_state=0).fit(rows(), checkpoint=folder)
    assert_same_bits(model, KMeans(8, random_state=0).fit(rows()))


TWO_STARTS = KMeans(8, random_state=0, tol=0.0, n_init=2, max_iter=20)


@pytest.mark.parametrize("n_writes", [5, 7])
def test_a_fit_may_go_on_for_longer(n_writes, tmp_path, monkeypatch):
    """After so many iterations that the first fit would have made one more, or none."""
    with monkeypatch.context() as patch:
        kill_after(patch, n_writes)
        with pytest.raises(KilledError):
            KMeans(8, random_state=0, tol=0.0, n_init=2, max_iter=3).fit(
                rows(), checkpoint=tmp_path
            )
    model = clone(TWO_STARTS).fit(rows(), checkpoint=tmp_path)
    assert_same_bits(model, clone(TWO_STARTS).fit(rows()))


def test_a_start_that_ended_too_early_cannot_go_on(tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        kill_after(patch, 9)  # in the second start
        with pytest.raises(KilledError):
            KMeans(8, random_state=0, tol=0.0, n_init=2, max_iter=3).fit(
                rows(), checkpoint=tmp_path
            )
    with pytest.raises(ValueError, match="max_iter of its parameters"):
        clone(TWO_STARTS).fit(rows(), checkpoint=tmp_path)


OTHER_PROCESS = """
import os, sys
import numpy as np
from polymeans import KMeans
from polymeans.engine import journal
from tests.estimators.test_checkpoints import first_rows, rows

write, written = journal._write, []

def die(path, content):
    if len(written) == 5:
        os._exit(7)
    written.append(path)
    write(path, content)

journal._write = die
parameters = {"init": first_rows} if sys.argv[2] == "init" else {}
KMeans(8, random_state=np.random.RandomState(0), **parameters).fit(rows(), checkpoint=sys.argv[1])
"""


def first_rows(X, n_clusters, random_state):
    return X[random_state.permutation(len(X))[:n_clusters]]


@pytest.mark.parametrize("what", ["random_state", "init"])
def test_objects_as_parameters_are_known_again_in_another_process(what, tmp_path):
    ended = subprocess.run([sys.executable, "-c", OTHER_PROCESS, str(tmp_path / "x"), what])
    assert ended.returncode == 7
    parameters = {"init": first_rows} if what == "init" else {}

    def model():
        return KMeans(8, random_state=np.random.RandomState(0), **parameters)

    assert_same_bits(model().fit(rows(), checkpoint=tmp_path / "x"), model().fit(rows()))
    assert not (tmp_path / "x").exists()


def test_files_hold_no_pickles(tmp_path, monkeypatch):
    folder = interrupted(tmp_path / "x", monkeypatch)
    for page in folder.glob("*.npz"):
        with np.load(page, allow_pickle=False) as arrays:
            assert [arrays[name].dtype for name in arrays.files]


@pytest.mark.parametrize("checkpoint", [True, "", 3])
def test_what_is_no_folder(checkpoint):
    with pytest.raises(TypeError, match="checkpoint must be None or the path of a folder"):
        KMeans(3).fit(rows(), checkpoint=checkpoint)
