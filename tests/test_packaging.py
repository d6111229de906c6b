"""What users install: the wheel and the sdist, extras with code behind them, one version."""

import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from email import message_from_string
from pathlib import Path
from urllib.parse import urlsplit

import pytest

import polymeans

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

pytest.importorskip("build")
pytest.importorskip("hatchling")


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The sdist, and the wheel that is made from it."""
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT)],
        check=True,
        capture_output=True,
    )
    return next(folder.glob("*.tar.gz")), next(folder.glob("*.whl"))


def test_the_sdist_has_what_is_needed_to_test_it(built):
    with tarfile.open(built[0]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    for path in ("pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "CITATION.cff"):
        assert path in names
    for folder in ("src/polymeans/", "tests/", "docs/", "examples/", "benchmarks/", "tools/"):
        assert any(name.startswith(folder) for name in names)


def test_the_wheel_has_the_package_and_nothing_else(built):
    with zipfile.ZipFile(built[1]) as archive:
        names = archive.namelist()
    roots = {name.split("/")[0] for name in names}
    assert roots == {"polymeans", f"polymeans-{polymeans.__version__}.dist-info"}
    sources = {path.relative_to(ROOT / "src").as_posix() for path in _sources()}
    assert sources == {name for name in names if name.startswith("polymeans/")}


def _sources():
    for path in (ROOT / "src" / "polymeans").rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts:
            yield path


def test_the_wheel_works_where_it_is_installed(built, tmp_path):
    target = tmp_path / "installed"
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(target)]
        + [str(built[1])],
        check=True,
        capture_output=True,
    )
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import numpy as np, polymeans; "
        "from importlib.metadata import version; "
        "assert polymeans.__file__.startswith(sys.argv[1]), polymeans.__file__; "
        "assert polymeans.__version__ == version('polymeans'); "
        "model = polymeans.load(sys.argv[2]); "  # a fit would compile kernels for a minute
        "print(type(model).__name__, np.isfinite(model.cluster_centers_).all())"
    )
    kept = ROOT / "tests" / "persistence" / "files" / "kmeans.v1.safetensors"
    done = subprocess.run(
        [sys.executable, "-P", "-c", code, str(target), str(kept)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["KMeans", "True"]


# --- the long description ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def with_addresses():
    sys.path.insert(0, str(ROOT / "tools"))
    try:
        from long_description import with_addresses
    finally:
        sys.path.pop(0)
    return with_addresses


def test_the_long_description_has_absolute_links(built):
    """An index shows it without the files beside it."""
    with zipfile.ZipFile(built[1]) as archive:
        name = f"polymeans-{polymeans.__version__}.dist-info/METADATA"
        wheel = message_from_string(archive.read(name).decode())
    with tarfile.open(built[0]) as archive:
        (name,) = (name for name in archive.getnames() if name.endswith("/PKG-INFO"))
        sdist = message_from_string(archive.extractfile(name).read().decode())
    assert wheel["Description-Content-Type"] == "text/markdown"
    description, readme = wheel.get_payload(), (ROOT / "README.md").read_text(encoding="utf-8")
    assert description.strip() == sdist.get_payload().strip()
    links = re.findall(r"\]\(([^)#]+)\)", description)
    given = re.findall(r"\]\(([^)#]+)\)", readme)
    assert len(links) == len(given) > 10
    hosts = {urlsplit(url).netloc for url in PROJECT["urls"].values()}
    base = PROJECT["urls"]["Changelog"].removesuffix("CHANGELOG.md")
    for link, relative in zip(links, given):
        assert urlsplit(link).netloc in hosts
        assert (ROOT / relative).exists()
        kind = base.replace("/blob/", "/raw/") if relative.endswith(".png") else base
        assert link == kind + relative
    # All the rest is the file.
    for link, relative in zip(links, given):
        description = description.replace(f"]({link})", f"]({relative})")
    assert description.strip() == readme.strip()


def test_only_relative_links_are_completed(with_addresses):
    base = "https://host/p/blob/main/"
    text = (
        "[a](docs/a.rst), [b](https://x.y/z), [c](#here), [d](mailto:a@b.c)\n"
        "![two\nlines](docs/p.png) [![badge](./b.svg)](LICENSE)\n"
        "```python\nf[0](x)\n```\n[e](f.md)\n"
    )
    assert with_addresses(text, base + "CHANGELOG.md") == (
        f"[a]({base}docs/a.rst), [b](https://x.y/z), [c](#here), [d](mailto:a@b.c)\n"
        f"![two\nlines](https://host/p/raw/main/docs/p.png) "
        f"[![badge](https://host/p/raw/main/b.svg)]({base}LICENSE)\n"
        f"```python\nf[0](x)\n```\n[e]({base}f.md)\n"
    )
    with pytest.raises(ValueError, match="must end with"):
        with_addresses(text, "https://host/p/changes")


def test_the_version_has_one_place():
    assert "version" in PROJECT["dynamic"]
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.search(r"^version: (.*)$", citation, re.MULTILINE).group(1) == polymeans.__version__


def test_extras_have_code_behind_them():
    """Each optional package that users may install is imported somewhere in the library."""
    imported = {"dask": "dask", "torch": "torch", "flwr": "flwr", "pyarrow": "pyarrow"}
    imported |= {"h5py": "h5py", "zarr": "zarr", "onnx": "onnx", "matplotlib": "matplotlib"}
    text = "\n".join(
        path.read_text(encoding="utf-8") for path in _sources() if path.suffix == ".py"
    )
    for extra, requirements in PROJECT["optional-dependencies"].items():
        if extra in ("test", "bench", "docs", "progress"):  # rich is used by scikit-learn's bar
            continue
        for requirement in requirements:
            name = re.match(r"[\w-]+", requirement).group()
            module = imported[name]
            assert re.search(rf"(?:import|from) {module}\b|[\"']{module}[.\"']", text), extra


def test_links_and_classifiers_are_there():
    assert {"Homepage", "Documentation", "Source", "Issues", "Changelog"} <= PROJECT["urls"].keys()
    minimum = PROJECT["requires-python"].removeprefix(">=")
    assert f"Programming Language :: Python :: {minimum}" in PROJECT["classifiers"]


def test_lower_bounds_are_what_the_script_installs():
    sys.path.insert(0, str(ROOT / "tools"))
    try:
        from oldest_versions import TESTS, lower_bounds
    finally:
        sys.path.pop(0)
    assert set(lower_bounds()) == {"numpy", "scipy", "scikit-learn", "numba"}
    assert all((ROOT / path).exists() for path in TESTS)
