"""A fit that was killed or interrupted goes on from its checkpoint, to the same bits."""

import json
import shutil

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
        (KMeans(8, random_state=0), lambda X: X[:-1], "of its rows"),
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
    page = sorted(folder.glob("*.npz"))[-1]
    content = page.read_bytes()
    for damaged in (content[: len(content) // 2], b"", b"PK"):
        page.write_bytes(damaged)
        with pytest.raises(ValueError, match="cannot be read"):
            KMeans(8, random_state=0).fit(rows(), checkpoint=folder)
    header = folder / "journal.json"
    header.write_text(json.dumps({"format": 99}))
    with pytest.raises(ValueError, match="has format 99"):
        KMeans(8, random_state=0).fit(rows(), checkpoint=folder)


def test_files_hold_no_pickles(tmp_path, monkeypatch):
    folder = interrupted(tmp_path / "x", monkeypatch)
    for page in folder.glob("*.npz"):
        with np.load(page, allow_pickle=False) as arrays:
            assert [arrays[name].dtype for name in arrays.files]
