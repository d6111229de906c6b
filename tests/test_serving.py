"""Recipes of the guide to serving: kernels that are part of an image, and pools of workers."""

import json
import os
import pickle
import shutil
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import joblib
import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

import polymeans
from polymeans import KMeans

#: A service that starts: loads a model, labels rows, prints labels and what was compiled.
SERVICE = """
import json, sys
import numpy as np
import polymeans
from polymeans.commands.compiling import Compiling
with Compiling() as compiling:
    model = polymeans.load(sys.argv[1])
    labels = model.predict(np.load(sys.argv[2]))
print(json.dumps({"labels": labels.tolist(), "n_compiled": compiling.n_kernels}))
"""


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    return 6 * rng.normal(size=(5, 4))[rng.integers(5, size=200)] + rng.normal(size=(200, 4))


@pytest.fixture(scope="module")
def model(rows):
    return KMeans(5, random_state=0).fit(rows)


@pytest.fixture
def image(rows, model):
    """A folder that every user may read, with a model and rows."""
    folder = Path(tempfile.mkdtemp(prefix="polymeans-image-"))
    folder.chmod(0o755)
    polymeans.save(model, folder / "model.safetensors", labels=False)
    np.save(folder / "rows.npy", rows[:3])
    yield folder
    for path in [folder, *folder.rglob("*")]:
        if path.is_dir():
            path.chmod(0o755)
    shutil.rmtree(folder)


def serve(image, **options):
    done = subprocess.run(
        [sys.executable, "-c", SERVICE, image / "model.safetensors", image / "rows.npy"],
        env={**os.environ, "NUMBA_CACHE_DIR": str(image / "kernels")},
        capture_output=True,
        text=True,
        **options,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.skipif(sys.platform == "win32", reason="permissions are others there")
def test_kernels_of_an_image_that_cannot_be_written_to(image, model, rows):
    built = serve(image)
    assert built["n_compiled"] > 0
    kernels = image / "kernels"
    for path in kernels.rglob("*"):
        path.chmod(0o555 if path.is_dir() else 0o444)
    kernels.chmod(0o555)
    before = sorted(kernels.rglob("*"))
    # Another user where that is possible: the superuser may write everywhere.
    options = {"user": 65534} if os.geteuid() == 0 and _others_may_run_python() else {}
    started = serve(image, **options)
    assert started["n_compiled"] == 0
    assert started["labels"] == built["labels"] == model.labels_[:3].tolist()
    assert sorted(kernels.rglob("*")) == before


def _others_may_run_python() -> bool:
    needed = [Path(sys.executable).resolve(), Path(polymeans.__file__).resolve()]
    folders = {parent for path in needed for parent in path.parents}
    return all(folder.stat().st_mode & stat.S_IXOTH for folder in folders)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_workers_that_are_forked_after_loading(model, rows):
    many = np.tile(rows, (500, 1))
    expected = model.set_params(n_threads=2).predict(many)  # threads of the parent, too
    children = []
    for _ in range(2):
        child = os.fork()
        if child == 0:
            same = bool((model.predict(many) == expected).all())
            same &= model.predict(rows[:1])[0] == model.labels_[0]
            os._exit(0 if same else 1)
        children.append(child)
    for child in children:
        _, status = os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(status) == 0


def test_workers_of_joblib(model, rows):
    parts = np.array_split(rows, 4)
    found = joblib.Parallel(n_jobs=2)(joblib.delayed(model.predict)(part) for part in parts)
    assert_array_equal(np.concatenate(found), model.labels_)


def test_one_model_for_several_threads(model, rows):
    loaded = pickle.loads(pickle.dumps(model))
    found = joblib.Parallel(n_jobs=4, backend="threading")(
        joblib.delayed(loaded.predict)(row[None]) for row in rows
    )
    assert_array_equal(np.concatenate(found), model.labels_)


def test_what_is_not_fitted_is_refused_as_by_scikit_learn(rows):
    for method in ("predict", "transform", "score"):
        with pytest.raises(NotFittedError) as expected:
            check_is_fitted(KMeans(5))
        with pytest.raises(NotFittedError) as found:
            getattr(KMeans(5), method)(rows)
        assert str(found.value) == str(expected.value)


def test_a_subclass_may_say_itself_whether_it_is_fitted(model, rows):
    class Closed(KMeans):
        def __sklearn_is_fitted__(self):
            return False

    closed = Closed(5, random_state=0).fit(rows)
    with pytest.raises(NotFittedError):
        closed.predict(rows)
