"""Test with the oldest dependencies that pyproject.toml allows.

``python tools/oldest_versions.py`` makes an environment in a temporary folder, installs exactly the
lower bounds of the core dependencies there (the oldest with a wheel for this Python, where the
bound itself has none), and runs a short selection of the tests without extras. It takes some
minutes and needs a package index.
"""

import argparse
import re
import subprocess
import sys
import tempfile
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

#: Tests that need no extra, of every estimator.
TESTS = (
    "tests/estimators/test_kmeans.py",
    "tests/estimators/test_l1.py",
    "tests/estimators/test_quick.py",
    "tests/estimators/transformed/test_ordinary_tables.py",
    "tests/estimators/khatri_rao/test_optima.py",
    "tests/estimators/nonredundant/test_cost_and_labels.py",
    "tests/test_first_import.py",
)


def lower_bounds() -> dict[str, str]:
    """Core dependencies and the versions they begin with."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    found = {}
    for requirement in project["dependencies"]:
        match = re.fullmatch(r"([\w-]+)>=([\d.]+)", requirement)
        if match is None:
            raise SystemExit(f"{requirement!r} has no lower bound of the form name>=version")
        found[match.group(1)] = match.group(2)
    return found


def oldest(python: Path, name: str, bound: str) -> str:
    """The oldest version from a bound on that has a wheel for this Python."""
    command = [str(python), "-m", "pip", "index", "versions", name]
    done = subprocess.run(command, capture_output=True, text=True)
    versions = re.search(r"Available versions: (.*)", done.stdout)
    if versions is None:
        return bound
    known = [version.strip() for version in versions.group(1).split(",")]
    least = _key(bound)
    allowed = [version for version in known if _key(version)[: len(least)] >= least]
    for version in sorted(allowed, key=_key):
        trial = [str(python), "-m", "pip", "install", "-q", "--no-deps", "--dry-run"]
        trial += ["--only-binary", ":all:", f"{name}=={version}"]
        if subprocess.run(trial, capture_output=True).returncode == 0:
            return version
    raise SystemExit(f"no version of {name} from {bound} on has a wheel for this Python")


def _key(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version))


def main() -> int:
    """Install, test, and return the exit code of the tests."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tests", nargs="*", default=list(TESTS), help="files to run")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        python = Path(folder) / ("Scripts" if sys.platform == "win32" else "bin") / "python"
        pins = [f"{name}=={oldest(python, name, bound)}" for name, bound in lower_bounds().items()]
        print("installing", *pins, flush=True)
        tools = ["pytest", "pytest-xdist", "hypothesis", "pandas", "polars", "matplotlib"]
        install = [str(python), "-m", "pip", "install", "-q", *pins, *tools, str(ROOT)]
        subprocess.run(install, check=True)
        command = [str(python), "-m", "pytest", "-p", "no:cacheprovider", *options.tests]
        return subprocess.run(command, cwd=ROOT).returncode


if __name__ == "__main__":
    raise SystemExit(main())
