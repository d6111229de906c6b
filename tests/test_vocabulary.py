"""One vocabulary: what docs/explanation/vocabulary.rst says holds for all estimators."""

import inspect
import re
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import polymeans
from polymeans.metrics import __all__ as metric_names
from tests.test_quality import PUBLIC

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "explanation" / "vocabulary.rst").read_text(encoding="utf-8")

QUANTIZERS = ("KMeans", "KhatriRaoKMeans", "QuickKMeans", "L1KMeans")
WITH_SPACE = ("NonRedundantKMeans", "TransformedKMeans")
DEEP = ("DKM", "IDEC", "KhatriRaoDKM", "KhatriRaoIDEC")
ESTIMATORS = (*QUANTIZERS, *WITH_SPACE)


def class_of(name):
    if name in DEEP:
        pytest.importorskip("torch")
        return getattr(import_module("polymeans.deep"), name)
    return getattr(polymeans, name)


def defaults_of(name):
    parameters = inspect.signature(class_of(name).__init__).parameters
    return {key: value.default for key, value in parameters.items() if key != "self"}


#: Parameters of all estimators with one default, and who has a reason for another one.
DEFAULTS = {
    "init": ("auto", {}),
    "n_init": ("auto", dict.fromkeys(DEEP, 1)),
    "max_iter": (300, {"QuickKMeans": 50}),
    "tol": (1e-4, dict.fromkeys((*WITH_SPACE, *DEEP), 0.0)),
    "metric": ("euclidean", {"TransformedKMeans": "auto"}),
    "algorithm": ("auto", {"TransformedKMeans": "profile"}),
    "method": ("select", {}),
    "solver": ("auto", {}),
    "effort": (1.0, {}),
    "offset": ("auto", {"L1KMeans": "zero"}),
    "half_life": (None, {}),
    "warm_start": (False, {}),
    "random_state": (None, {}),
    "n_threads": (None, dict.fromkeys(DEEP, 1)),
    "verbose": (0, {}),
}

#: Every estimator has these.
EVERYWHERE = ("init", "n_init", "tol", "random_state", "n_threads", "verbose")


@pytest.mark.parametrize("name", [*ESTIMATORS, *DEEP])
def test_a_parameter_has_one_default_or_a_reason(name):
    found = defaults_of(name)
    assert set(EVERYWHERE) <= found.keys()
    for parameter in found.keys() & DEFAULTS.keys():
        usual, others = DEFAULTS[parameter]
        assert found[parameter] == others.get(name, usual), parameter


def test_the_page_names_all_parameters_that_several_estimators_have():
    names = [set(defaults_of(name)) for name in ESTIMATORS]
    shared = {one for own in names for one in own if sum(one in other for other in names) > 2}
    assert shared <= DEFAULTS.keys() | {"n_clusters"}
    for parameter in shared - {"half_life", "warm_start"}:
        assert f"``{parameter}``" in PAGE


def parameter_text(name, parameter):
    doc = inspect.getdoc(class_of(name))
    found = re.search(rf"^{parameter} :.*?\n((?:    .*\n)+)", doc, re.MULTILINE)
    return " ".join(found.group(1).split())


@pytest.mark.parametrize("parameter", ["tol", "random_state", "max_iter", "effort", "algorithm"])
def test_the_same_parameter_is_described_in_the_same_words(parameter):
    # QuickKMeans has no shift of centroids to compare; TransformedKMeans has other algorithms.
    apart = {"tol": {"QuickKMeans"}, "algorithm": {"TransformedKMeans"}}.get(parameter, set())
    texts = {
        parameter_text(name, parameter)
        for name in ESTIMATORS
        if parameter in defaults_of(name) and name not in apart
    }
    assert len(texts) == 1, texts


def test_tol_is_relative_for_all_who_compare_shifts():
    assert "times the mean variance of the features" in parameter_text("KMeans", "tol")


@pytest.mark.parametrize("name", [*ESTIMATORS, *DEEP])
def test_methods_have_one_meaning(name):
    kind = class_of(name)
    assert inspect.getdoc(kind.distances).startswith("Distance of each row to each centroid")
    first = inspect.getdoc(kind.transform).splitlines()[0]
    assert first.startswith("Distance of each row" if name in QUANTIZERS else "Rows in the ")
    for method in ("fit", "fit_predict", "fit_transform", "predict", "score"):
        assert callable(getattr(kind, method))


@pytest.mark.parametrize("name", [*ESTIMATORS, *DEEP])
def test_documentation_opens_with_idea_use_and_cost(name):
    doc = inspect.getdoc(class_of(name))
    places = [doc.find(f"**{word}") for word in ("Idea.", "Use when", "Do not use when", "Cost.")]
    assert -1 < places[0] < places[1] < places[2] < places[3] < doc.index("Parameters\n")


@pytest.mark.parametrize("name", [*ESTIMATORS, *DEEP])
def test_attributes_have_the_same_names(name):
    doc = inspect.getdoc(class_of(name))
    attributes = set(re.findall(r"^(\w+_) :", doc[doc.index("Attributes\n") :], re.MULTILINE))
    attributes |= {"cluster_centers_"} & set(dir(class_of(name)))  # formed at each access
    assert {
        "labels_",
        "cluster_centers_",
        "inertia_",
        "n_iter_",
        "n_parameters_",
        "history_",
        "n_features_in_",
    } <= attributes
    centers = {one for one in attributes if "center" in one}
    assert centers == {"cluster_centers_"}, "centroid is the word, but for scikit-learn's own name"


@pytest.mark.parametrize("name", ESTIMATORS)
def test_distances_are_smallest_for_the_label(name):
    X = np.random.default_rng(0).normal(size=(120, 5)).astype(np.float32)
    X[::3] += 4
    model = class_of(name)(random_state=0)
    size = {"n_protocentroids": (2, 2), "n_clusters": 4} | (
        {"n_clusters": (2, 2)} if name == "NonRedundantKMeans" else {}
    )
    known = defaults_of(name)
    model.set_params(**{key: value for key, value in size.items() if key in known}).fit(X)
    found = model.distances(X)
    assert found.dtype == np.float32
    assert found.shape == (120, found.shape[1])
    np.testing.assert_array_equal(found.argmin(axis=1), model.labels_)
    if name in QUANTIZERS:
        np.testing.assert_array_equal(found, model.transform(X))


# --- plots and tables --------------------------------------------------------------------------


def plots():
    for module in ("polymeans.inspection", "polymeans.deep"):
        if module.endswith("deep"):
            pytest.importorskip("torch")
        found = import_module(module)
        for name in found.__all__:
            if name.startswith("plot_"):
                yield name, inspect.signature(getattr(found, name)).parameters


def test_plots_take_a_model_and_axes():
    found = dict(plots())
    assert len(found) > 12
    for name, parameters in found.items():
        first = next(iter(parameters))
        assert first in ("model", "models", "curves", "operator", "model_or_labels"), name
        assert ("ax" in parameters) != ("axes" in parameters), name
        assert not {"shape", "images"} & parameters.keys(), name
        assert "center" not in name


def test_tables_of_candidates_are_record_arrays():
    for kind in (polymeans.KhatriRaoSelector, polymeans.NonRedundantKMeans):
        assert re.search(r"^table_ : ndarray", inspect.getdoc(kind), re.MULTILINE)
    X = np.random.default_rng(0).normal(size=(100, 3))
    assert polymeans.NonRedundantKMeans("auto", random_state=0).fit(X).table_.dtype.names
    assert polymeans.choose_n_clusters(X, range(2, 4), random_state=0).table_.dtype.names


# --- words -------------------------------------------------------------------------------------

BRITISH = re.compile(
    r"\b\w*(?:neighbour|colour|behaviour|favour|labell|centred|centring|centre[sd]?\b|"
    r"(?:normal|minim|maxim|optim|initial|recogn|standard|summar|general|quant|vector)is(?:e|ed|es|"
    r"ing|ation)\b|grey\b|licence\b)\w*",
    re.IGNORECASE,
)


def british_words(text):
    return sorted({found.group().lower() for found in BRITISH.finditer(text)})


PAGES = [
    ROOT / "README.md",
    ROOT / "CHANGELOG.md",
    *sorted((ROOT / "docs").rglob("*.rst")),
    *sorted((ROOT / "examples").glob("*.py")),
]


@pytest.mark.parametrize(
    "path",
    [path for path in PAGES if not {"_build", "generated", "gallery"} & set(path.parts)],
    ids=lambda path: path.stem,
)
def test_pages_have_american_spelling(path):
    text = re.sub(r"``[^`]*``", "", path.read_text(encoding="utf-8"))  # names of files and code
    assert not british_words(text)


def test_files_have_american_names():
    paths = [
        path for part in ("src", "benchmarks", "tests") for path in (ROOT / part).rglob("*.py")
    ]
    assert len(paths) > 400
    assert not british_words(" ".join(path.stem.replace("_", " ") for path in paths))


def test_public_docstrings_have_american_spelling():
    found = {}
    for module in PUBLIC:
        if module.endswith("deep"):
            pytest.importorskip("torch")
        home = import_module(module)
        for name in PUBLIC[module] or home.__all__:
            value = getattr(home, name)
            texts = [inspect.getdoc(value) or ""]
            if inspect.isclass(value):
                texts += [inspect.getdoc(getattr(value, own)) or "" for own in dir(value)]
            words = british_words("\n".join(texts))
            if words:
                found[name] = words
    assert not found
    assert metric_names
