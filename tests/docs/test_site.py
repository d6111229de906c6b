"""The documentation builds without a warning, and shows every method of every public class."""

import html
import inspect
import json
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from numpydoc.docscrape import get_doc_object

import polymeans

ROOT = Path(__file__).resolve().parents[2]

pytest.importorskip("sphinx_gallery")
pytest.importorskip("pydata_sphinx_theme")
pytest.importorskip("sphinx_design")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site, built from a copy of the sources; examples are shown and not run."""
    folder = tmp_path_factory.mktemp("docs")
    for name in ("docs", "examples"):
        ignored = shutil.ignore_patterns("_build", "generated", "gallery", "__pycache__")
        shutil.copytree(ROOT / name, folder / name, ignore=ignored)
    shutil.copy(ROOT / "CHANGELOG.md", folder)
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going"]
        + ["-D", "plot_gallery=0", str(folder / "docs"), str(folder / "html")],
        capture_output=True,
        text=True,
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr
    return folder / "html"


class Links(HTMLParser):
    """Places on a page, and where its links go."""

    def __init__(self, text):
        super().__init__()
        self.anchors, self.targets = set(), []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.anchors |= {found[key] for key in ("id", "name") if found.get(key)}
        for key in ("href", "src"):
            if found.get(key):
                self.targets.append(found[key])


def test_links_lead_somewhere(site):
    pages = {
        path.resolve(): Links(path.read_text(encoding="utf-8"))
        for path in site.rglob("*.html")
        if "_static" not in path.parts  # the theme keeps a template there
    }
    broken = []
    for path, page in pages.items():
        for target in page.targets:
            if re.match(r"[a-z]+:|//", target):
                continue  # other sites are not looked at without a network
            address, _, anchor = target.partition("#")
            goal = (path.parent / address.partition("?")[0]).resolve() if address else path
            exists = goal.exists()
            known = goal not in pages or not anchor or anchor in pages[goal].anchors
            if not exists or not known:
                broken.append(f"{path.name}: {target}")
    assert not broken[:20]


def named():
    """Names in the reference, as attributes of the package."""
    reference = (ROOT / "docs" / "reference.rst").read_text(encoding="utf-8")
    return re.findall(r"^   ([\w.]+)$", reference, re.MULTILINE)


def found_at(name):
    """What a name in the reference stands for."""
    module, _, last = f"polymeans.{name}".rpartition(".")
    if module.split(".")[1:2] == ["deep"]:
        pytest.importorskip("torch")
    return getattr(import_module(module), last)


def classes():
    """Public classes, as the reference names them."""
    for name in named():
        value = found_at(name)
        if inspect.isclass(value) and not issubclass(value, Exception | tuple):
            yield f"polymeans.{name}", value


def test_each_class_page_lists_each_method(site):
    found = dict(classes())
    assert len(found) > 30
    missing = []
    for name, kind in found.items():
        page = Links((site / "generated" / f"{name}.html").read_text(encoding="utf-8"))
        for method, value in inspect.getmembers(kind):
            is_method = inspect.isfunction(value) or inspect.ismethod(value)
            if method.startswith("_") or not is_method or not inspect.getdoc(value):
                continue
            if not any(anchor.endswith(f".{kind.__name__}.{method}") for anchor in page.anchors):
                missing.append(f"{name}.{method}")
    assert not missing


def test_every_public_name_is_in_the_reference():
    listed = set(named())
    assert {name for name in polymeans.__all__ if name != "__version__"} <= listed
    for module in ("blocks", "datasets", "factorization", "inspection", "metrics"):
        names = __import__(f"polymeans.{module}", fromlist=["__all__"]).__all__
        own = {name for name in names if not {name, f"{module}.{name}"} & listed}
        assert not own, module


def test_everything_in_the_reference_has_an_example_and_relatives():
    lacking = []
    for name in named():
        document = get_doc_object(found_at(name))
        lacking += [
            f"{name}: {section}" for section in ("See Also", "Examples") if not document[section]
        ]
    assert not lacking


def test_estimators_have_examples_and_methods_have_parameters(site):
    for name in ("KMeans", "KhatriRaoKMeans", "NonRedundantKMeans", "TransformedKMeans"):
        text = (site / "generated" / f"polymeans.{name}.html").read_text(encoding="utf-8")
        assert "Examples" in text
        after = text[text.index(f'id="polymeans.{name}.predict"') :]
        assert "Parameters" in after[:4000]


def text_of(page):
    """The words of a page, with straight quotes."""
    words = html.unescape(re.sub(r"<[^>]+>", "", page))
    return " ".join(words.translate(str.maketrans("’‘“”", "''\"\"")).split())


def test_the_benchmarks_page_shows_every_benchmark_and_every_stored_figure(site):
    from benchmarks.__main__ import APART, NAMES

    text = (ROOT / "docs" / "benchmarks.rst").read_text(encoding="utf-8")
    shown = re.findall(r"^\.\. benchmark:: (\S+)$", text, re.MULTILINE)
    assert sorted(shown) == sorted(set(NAMES) - set(APART))
    page = text_of((site / "benchmarks.html").read_text(encoding="utf-8"))
    files = sorted((ROOT / "docs" / "figures").glob("*.json"))
    assert files
    for path in files:
        stored = json.loads(path.read_text(encoding="utf-8"))
        assert path.stem == stored["name"]
        assert path.stem in shown
        for run in stored["runs"]:
            assert run["command"] in page
            assert all(f"{name} {number}" in page for name, number in run["versions"].items())
            assert all(text_of(table["title"]) in page for table in run["tables"])


def test_a_run_is_stored_with_its_machine_and_cases_are_replaced_one_by_one(tmp_path):
    from benchmarks import record

    def table(title, figure):
        return {"title": title, "rows": [{"": "fit", "ratio": np.float64(figure)}], "note": ""}

    def titles(path):
        runs = json.loads(path.read_text(encoding="utf-8"))["runs"]
        return [
            (table["title"], table["rows"][0]["ratio"]) for run in runs for table in run["tables"]
        ]

    path, run = tmp_path / "new" / "some.json", record.provenance()
    assert {"date", "commit", "processor", "cores", "python"} <= run.keys()
    assert run["versions"]["numpy"] == np.__version__
    told = record.command(
        ["everyday", "--data", "/home/me/data", "--scratch=/tmp/x", "--only", "iris"]
    )
    assert told == "python -m benchmarks everyday --data DIR --scratch=DIR --only iris"
    record.store(path, "some", run, [table("iris", 1.0), table("digits", 2.0), table("all", 1.5)])
    record.store(path, "some", run, [table("iris", 3.0), table("all", 3.0)], only="iris")
    assert titles(path) == [("digits", 2.0), ("all", 1.5), ("iris", 3.0)]
    record.store(path, "some", run, [table("wine", 5.0)], area="elsewhere")
    assert [title for title, _ in titles(path)] == ["digits", "all", "iris", "wine"]
    record.store(path, "some", run, [table("iris", 4.0)])
    assert titles(path) == [("iris", 4.0)]
