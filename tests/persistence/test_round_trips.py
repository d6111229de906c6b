"""Every estimator through model files, joblib and skops: the same parameters, attributes, bits."""

import copy
import os
import subprocess
import sys

import joblib
import numpy as np
import pytest
import skops.io

import polymeans
from polymeans import KhatriRaoKMeans, KMeans, QuickKMeans, TransformedKMeans
from polymeans.persistence.estimators import STRUCTURES
from polymeans.persistence.files import read_model
from polymeans.persistence.registry import REGISTRY, class_named
from tests.marks import long
from tests.persistence.models import (
    CONTAINERS,
    ESTIMATORS,
    fitted,
    results,
    rows,
    same,
    targets,
)

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def by_file(model, folder):
    polymeans.save(model, folder / "model.safetensors")
    return polymeans.load(folder / "model.safetensors")


def by_joblib(model, folder):
    joblib.dump(model, folder / "model.joblib")
    return joblib.load(folder / "model.joblib")


def by_skops(model, folder):
    skops.io.dump(model, folder / "model.skops")
    types = skops.io.get_untrusted_types(file=folder / "model.skops")
    allowed = ("polymeans.", "numpy.dtype", "scipy.sparse.", "numpy.random")
    assert all(kind.startswith(allowed) for kind in types), types
    return skops.io.load(folder / "model.skops", trusted=types)


def by_deepcopy(model, folder):
    return copy.deepcopy(model)


#: Containers that the default run tries each way with; the long run has all of them. Model files
#: are ours: all of them are tried.
SHORT = {
    by_file: CONTAINERS,
    by_joblib: ("csr_array-float32", "frame"),
    by_skops: ("csr_array-float32", "frame"),
    by_deepcopy: ("float64",),
}


@pytest.mark.parametrize(
    ("way", "container"),
    [
        pytest.param(way, container, marks=() if container in short else pytest.mark.long)
        for way, short in SHORT.items()
        for container in CONTAINERS
    ],
)
@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_model_is_the_same_afterwards(name, container, way, tmp_path):
    model = fitted(name, container)
    again = way(model, tmp_path)
    assert type(again) is type(model)
    assert vars(again).keys() == vars(model).keys()
    before, after = dict(model.__getstate__()), dict(again.__getstate__())
    for key in before:
        assert same(before[key], after[key]), key
    X, y = rows(container), targets(name)
    expected, found = results(model, X, y), results(again, X, y)
    assert expected.keys() == found.keys()
    for key in expected:
        np.testing.assert_array_equal(expected[key], found[key], err_msg=str(key))


@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_state_has_arrays_and_plain_values_only(name):
    def check(value, where):
        if isinstance(value, dict):
            for key, part in value.items():
                check(part, f"{where}.{key}")
        elif isinstance(value, list | tuple):
            for part in value:
                check(part, where)
        elif hasattr(value, "get_params"):
            check(dict(value.__getstate__()), where)
        else:
            plain = (type(None), bool, int, float, str, np.ndarray, np.generic)
            assert isinstance(value, plain) or hasattr(value, "indptr"), (where, type(value))

    check(dict(fitted(name, "float64").__getstate__()), name)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_attribute_is_written_or_follows_from_others(name, tmp_path):
    """A new attribute of an estimator that no structure names would be lost silently."""
    model = fitted(name, "frame")
    structure = STRUCTURES[type(model).__name__]
    own = dict(model.__getstate__()).keys() - model.get_params().keys()
    assert own <= structure.attributes.keys()


def test_all_estimators_are_registered_and_tested():
    tested = {type(estimator).__name__ for estimator in ESTIMATORS.values()}
    ours = {n for n, e in REGISTRY.items() if e.adapter == "polymeans.persistence.estimators"}
    assert ours == tested == STRUCTURES.keys()
    public = {n for n in polymeans.__all__ if hasattr(getattr(polymeans, n), "fit")}
    assert public <= REGISTRY.keys()
    for name in ours:
        assert class_named(name).__name__ == name


@pytest.mark.parametrize("name", ESTIMATORS)
def test_without_labels_it_predicts_the_same(name, tmp_path):
    model, path = fitted(name, "float32"), tmp_path / "small.safetensors"
    polymeans.save(model, path, labels=False)
    again = polymeans.load(path)
    needs_labels = hasattr(model, "kneighbors")
    has_labels = hasattr(model, "labels_")
    assert hasattr(again, "labels_") == (needs_labels and has_labels)
    X, y = rows("float32"), targets(name)
    expected, found = results(model, X, y), results(again, X, y)
    for key in expected:
        np.testing.assert_array_equal(expected[key], found[key])
    polymeans.save(again, tmp_path / "again.safetensors", labels=False)
    assert path.read_bytes() == (tmp_path / "again.safetensors").read_bytes()


@pytest.mark.parametrize("kind", [KMeans, KhatriRaoKMeans])
def test_partial_fit_goes_on_where_it_was(kind, tmp_path):
    X = rows("float64", 200)
    model = kind(random_state=0) if kind is KhatriRaoKMeans else kind(4, random_state=0)
    model.set_params(half_life=100).partial_fit(X[:100])
    again = by_file(model, tmp_path)
    for part in (model, again):
        part.partial_fit(X[100:])
    for name in vars(model):
        assert same(getattr(model, name), getattr(again, name)), name


def test_warm_start_goes_on_where_it_was(tmp_path):
    X = rows("float32", 200)
    model = KMeans(5, random_state=0, max_iter=1, warm_start=True).fit(X)
    again = by_file(model, tmp_path)
    np.testing.assert_array_equal(model.fit(X).cluster_centers_, again.fit(X).cluster_centers_)


def test_parameters_of_every_kind(tmp_path):
    rng = np.random.RandomState(3)
    rng.normal()  # leaves half of a pair behind
    X = rows("float64")
    given = np.asfortranarray(X[:4])
    model = KMeans(np.int64(4), init=given, tol=np.float32(0.25), random_state=rng).fit(X)
    model.set_params(n_threads=7, verbose=False, half_life=2.5)
    again = by_file(model, tmp_path)
    expected = {**model.get_params(), "n_clusters": 4, "tol": 0.25}
    for name, value in again.get_params().items():
        assert same(value, expected[name]), name
    assert again.init.flags.f_contiguous
    assert rng.normal() == again.random_state.normal()
    assert rng.randint(1000) == again.random_state.randint(1000)


def test_parameters_changed_after_the_fit_change_nothing(tmp_path):
    X = rows("float64")
    model = KMeans(4, metric="cosine", random_state=0).fit(X)
    model.set_params(metric="euclidean", n_clusters=9)
    again = by_file(model, tmp_path)
    assert again.get_params() == model.get_params()
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_a_model_of_precomputed_kernel_values(tmp_path):
    X = rows("float64")
    K = X @ X.T
    model = TransformedKMeans(3, kernel="precomputed", random_state=0).fit(K)
    np.testing.assert_array_equal(by_file(model, tmp_path).predict(K[:9]), model.predict(K[:9]))


def test_factors_are_multiplied_out_once(tmp_path, monkeypatch):
    from polymeans import quick

    calls = []
    product = quick.multiplied_out
    monkeypatch.setattr(quick, "multiplied_out", lambda *a: calls.append(1) or product(*a))
    X = rows("float64")
    model = QuickKMeans(6, random_state=0).fit(X)
    calls.clear()
    again = by_file(model, tmp_path)
    assert not calls  # loading takes no more memory than the file
    labels = [again.predict(X) for _ in range(3)]
    assert not calls  # a few rows go through the factors
    distances = [again.transform(X) for _ in range(3)]
    assert len(calls) == 1
    np.testing.assert_array_equal(labels[2], model.labels_)
    np.testing.assert_array_equal(distances[2].argmin(axis=1), model.labels_)


def test_bytes_of_a_model_are_bytes_of_its_arrays(tmp_path):
    X = np.random.default_rng(0).normal(size=(400, 300))
    model = KMeans(50, random_state=0).fit(X)
    polymeans.save(model, tmp_path / "m", labels=False)
    assert (tmp_path / "m").stat().st_size < model.cluster_centers_.nbytes + 4000


@pytest.mark.parametrize("name", ["quick", "transformed-rbf", *long("kmeans", "hadamard")])
def test_a_new_process_loads_it_without_extras(name, tmp_path):
    model = fitted(name, "frame")
    polymeans.save(model, tmp_path / "m.safetensors")
    X = np.asarray(rows("frame"))
    np.save(tmp_path / "X.npy", X)
    code = """if True:
        import sys
        import warnings
        class NotInstalled:
            extras = {"pandas", "torch", "matplotlib", "safetensors", "onnx", "pyarrow", "skops"}
            def find_spec(self, name, path=None, target=None):
                if name.split(".")[0] in self.extras:
                    raise ModuleNotFoundError(name)
        sys.meta_path.insert(0, NotInstalled())
        warnings.simplefilter("ignore")  # names of features are missing here
        import numpy as np
        import polymeans
        model = polymeans.load("m.safetensors")
        method = "predict" if hasattr(model, "predict") else "transform"
        np.save("found.npy", getattr(model, method)(np.load("X.npy")))
        print(*model.feature_names_in_)
    """
    done = subprocess.run(
        [sys.executable, "-X", "utf8", "-c", code],
        cwd=tmp_path,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("größe ")[1:] == ["0 ", "1 ", "2 ", "3 ", "4 ", "5\n"]
    method = model.predict if hasattr(model, "predict") else model.transform
    np.testing.assert_array_equal(np.load(tmp_path / "found.npy"), method(rows("frame")))


def test_the_file_says_who_wrote_it(tmp_path):
    polymeans.save(fitted("kmeans", "float64"), tmp_path / "m")
    loaded = read_model(tmp_path / "m")
    assert (loaded.library, loaded.format_version) == (polymeans.__version__, 1)
    assert loaded.recipe is None


# --- to_sklearn --------------------------------------------------------------------------------


@pytest.mark.parametrize("container", CONTAINERS)
def test_to_sklearn_predicts_the_same(container):
    model = fitted("kmeans", container)
    theirs = model.to_sklearn()
    X = rows(container)
    np.testing.assert_array_equal(theirs.predict(X), model.predict(X))
    np.testing.assert_allclose(theirs.transform(X), model.transform(X), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(theirs.score(X), model.score(X), rtol=1e-5)
    assert list(theirs.get_feature_names_out()) == [f"kmeans{i}" for i in range(4)]
    assert theirs.cluster_centers_ is not model.cluster_centers_
    assert theirs.n_clusters == 4


def test_to_sklearn_refuses_what_scikit_learn_lacks():
    with pytest.raises(ValueError, match='metric="cosine" has no counterpart'):
        fitted("kmeans-cosine", "float64").to_sklearn()
