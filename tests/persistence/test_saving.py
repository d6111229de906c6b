"""What save refuses, and that files are there completely or not at all."""

import io
import os
import resource
import stat
import subprocess
import sys

import numpy as np
import pytest
import sklearn.cluster
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import polymeans
from polymeans import KMeans, TransformedKMeans
from polymeans.neighbors import ClusterNeighbors
from tests.persistence.models import fitted, rows

X = rows("float64")


class Mine(KMeans):
    """A subclass, which a file could not name."""


@pytest.mark.parametrize(
    ("model", "error", "message"),
    [
        (KMeans(3), NotFittedError, "not fitted"),
        (
            make_pipeline(StandardScaler(), KMeans(3)),
            TypeError,
            "estimator of polymeans, got Pipeline",
        ),
        (sklearn.cluster.KMeans(3), TypeError, "estimator of polymeans"),
        (Mine(3).fit(X), TypeError, "subclasses"),
        (3, TypeError, "got 3"),
        (
            KMeans(2, init=lambda X, k, random_state: X[:k]).fit(X),
            TypeError,
            r"init=.*set_params\(init=",
        ),
        (
            TransformedKMeans(2, kernel=lambda A, B: np.asarray(A @ B.T)).fit(X),
            TypeError,
            "kernel=.*function.*no code",
        ),
        (
            ClusterNeighbors(clusterer=sklearn.cluster.KMeans(3, random_state=0)).fit(X),
            TypeError,
            "clusterer.*estimators of polymeans",
        ),
    ],
    ids=lambda part: type(part).__name__,
)
def test_what_cannot_be_kept_is_refused(model, error, message, tmp_path):
    with pytest.raises(error, match=message):
        polymeans.save(model, tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "model",
    [
        KMeans(3, random_state=0),
        polymeans.KhatriRaoKMeans((2, 2), random_state=0, effort=0.1),
        polymeans.NonRedundantKMeans((2, 2), random_state=0, effort=0.1),
    ],
    ids=lambda model: type(model).__name__,
)
def test_labels_that_are_lazy_collections_are_left_out(model, tmp_path, caplog):
    from dask import array

    model = clone(model).fit(array.from_array(X, chunks=(20, 6)))
    for labels in (True, False):
        caplog.clear()
        polymeans.save(model, tmp_path / "m", labels=labels)
        assert "labels_" in caplog.text
        assert "of the model are Dask collections and were not written" in caplog.text
        loaded = polymeans.load(tmp_path / "m")
        assert not hasattr(loaded, "labels_")
        np.testing.assert_array_equal(loaded.predict(X), model.labels_.compute())
    model = KMeans(3, random_state=0).fit(array.from_array(X, chunks=(20, 6)))
    model.labels_ = model.labels_.compute()
    polymeans.save(model, tmp_path / "m")
    np.testing.assert_array_equal(polymeans.load(tmp_path / "m").labels_, model.labels_)


def test_a_link_and_the_mode_of_a_file_stay(tmp_path):
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_bytes(b"old")
    target.chmod(0o640)
    link.symlink_to(target)
    polymeans.save(fitted("kmeans", "float64"), link)
    assert link.is_symlink()
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    assert polymeans.load(target).n_clusters == 4


def test_a_full_disk_leaves_the_old_file(tmp_path):
    """The limit is on files of the process: writing fails in the middle, as on a full disk."""
    polymeans.save(fitted("kmeans", "float64"), tmp_path / "m")
    before = (tmp_path / "m").read_bytes()
    code = f"""if True:
        import resource
        import numpy as np
        import polymeans
        model = polymeans.KMeans(50, random_state=0).fit(np.random.default_rng(0).random((200, 99)))
        resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, {resource.RLIM_INFINITY}))
        try:
            polymeans.save(model, "m")
        except OSError as error:
            print("refused", error.errno)
    """
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.stdout.startswith("refused"), done.stderr
    assert (tmp_path / "m").read_bytes() == before
    assert os.listdir(tmp_path) == ["m"]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no such device here")
def test_a_device_that_is_full(tmp_path):
    with pytest.raises(OSError, match="No space left"):
        polymeans.save(fitted("kmeans", "float64"), "/dev/full")
    assert os.path.exists("/dev/full")


def test_a_folder_that_is_missing_or_in_the_way(tmp_path):
    with pytest.raises(FileNotFoundError):
        polymeans.save(fitted("kmeans", "float64"), tmp_path / "no" / "m")
    with pytest.raises(IsADirectoryError):
        polymeans.save(fitted("kmeans", "float64"), tmp_path)


def test_saving_changes_neither_the_model_nor_the_other_file(tmp_path):
    model = fitted("quick", "float32")
    state = {key: id(value) for key, value in vars(model).items()}
    polymeans.save(model, tmp_path / "a")
    polymeans.save(model, tmp_path / "b")
    assert {key: id(value) for key, value in vars(model).items()} == state
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_a_folder_that_is_not_there_is_named(tmp_path):
    model = KMeans(2, random_state=0).fit(np.eye(4))
    with pytest.raises(FileNotFoundError, match="make it first") as caught:
        polymeans.save(model, tmp_path / "missing" / "model.safetensors")
    assert caught.value.filename == str(tmp_path / "missing")


@pytest.mark.parametrize("path", [None, io.BytesIO(), 3], ids=["None", "buffer", "number"])
def test_a_path_is_the_name_of_a_file(path):
    for call in (lambda: polymeans.save(KMeans(3).fit(X), path), lambda: polymeans.load(path)):
        with pytest.raises(TypeError, match="path must be the name of a file"):
            call()
