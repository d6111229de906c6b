"""Figures as files: the tables of a run as JSON, with machine, versions and commit.

``docs/figures/NAME.json`` holds the figures of one benchmark that the site shows; its page of
benchmarks is rendered from these files (``docs/_extensions/benchmark_tables.py``).
"""

import datetime
import json
import os
import platform
import re
import subprocess
import sys
from dataclasses import asdict
from importlib import metadata
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]

#: Where the site looks for figures.
SITE = ROOT / "docs" / "figures"

#: Packages whose versions are recorded, if they are installed.
PACKAGES = (
    "numpy",
    "scipy",
    "scikit-learn",
    "numba",
    "torch",
    "faiss-cpu",
    "scikit-learn-intelex",
    "sparsekmeans",
    "superkmeans",
    "clustpy",
    "dask",
    "dask-ml",
    "pyfaust",
    "onnxruntime",
    "yellowbrick",
)


def version(package: str) -> str:
    """Installed version, or nothing."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""


def processor() -> str:
    """Name of the processor."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            return next(line.split(":")[1].strip() for line in lines if "model name" in line)
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def commit() -> str:
    """The revision that ran; with a plus if the library differs from it. Nothing if unknown."""
    try:
        found = _git("rev-parse", "--short", "HEAD")
        return found + ("+" if _git("status", "--porcelain", "src", "benchmarks") else "")
    except (OSError, subprocess.CalledProcessError):
        return ""


def _git(*words: str) -> str:
    git = ["git", "-C", str(ROOT), *words]
    return subprocess.run(git, capture_output=True, text=True, check=True).stdout.strip()


def command(words: list[str]) -> str:
    """What to type to repeat a run, with ``DIR`` for folders of this machine."""
    said = ["DIR" if "/" in word and not word.startswith("-") else word for word in words]
    said = [re.sub(r"^(--\w+=).*/.*$", r"\1DIR", word) for word in said]
    return " ".join(["python", "-m", "benchmarks", *said])


def provenance() -> dict[str, Any]:
    """When, where and with what a run was made."""
    return {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "commit": commit(),
        "command": command(sys.argv[1:]),
        "processor": processor(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "versions": {name: version(name) for name in PACKAGES if version(name)},
    }


def store(
    path: Path,
    name: str,
    run: dict[str, Any],
    tables: list[dict[str, Any]],
    only: str = "",
    area: str = "",
) -> None:
    """Write the tables of a run to a file.

    Parameters
    ----------
    path : Path
        The file; its folder is made.
    name : str
        The benchmark.
    run : dict
        What :func:`provenance` returned.
    tables : list of dict
        With a title, rows and a note each.
    only : str
        Which cases were run. If the file exists, tables of these cases, which have the text in
        their titles, replace those of the same titles there, and others stay. All cases: the file
        is replaced.
    area : str
        Which block of the benchmark was run. All its tables replace those of the same titles.
    """
    runs: list[dict[str, Any]] = []
    if (only or area) and path.exists():
        runs = json.loads(path.read_text(encoding="utf-8"))["runs"]
        tables = [table for table in tables if only in table["title"]]
        new = {table["title"] for table in tables}
        for old in runs:
            old["tables"] = [table for table in old["tables"] if table["title"] not in new]
        runs = [old for old in runs if old["tables"]]
    runs.append({**run, "tables": tables})
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"name": name, "runs": runs}, indent=1, default=_plain, ensure_ascii=False)
    path.write_text(text + "\n", encoding="utf-8")


def _plain(value: Any) -> Any:
    return asdict(value) if hasattr(value, "__dataclass_fields__") else value.item()
