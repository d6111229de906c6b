"""warmup: small fits of every estimator and container."""

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from polymeans.cli import main
from polymeans.commands import warmup
from polymeans.commands.estimators import STRUCTURES
from polymeans.kernels.cache import NATIVE

ROOT = Path(__file__).resolve().parents[2]


def test_every_estimator_container_and_type_is_exercised():
    found = Counter(
        (type(estimator).__name__, sp.issparse(rows), np.dtype(rows.dtype).name)
        for _, estimator, rows in warmup.problems()
    )
    for kind in STRUCTURES.values():
        for is_sparse in (False, True):
            for dtype in ("float32", "float64"):
                assert found[kind, is_sparse, dtype]


def test_a_problem_can_be_solved():
    name, estimator, rows = next(warmup.problems())
    assert "KMeans" in name
    warmup.exercise(estimator, rows)
    assert not hasattr(estimator, "labels_")  # a copy was fitted


def test_wrong_options_are_refused(capsys):
    assert main(["warmup", "--only", "NoKMeans"]) == 2
    assert "no problem has 'NoKMeans' in its name" in capsys.readouterr().err
    assert main(["warmup", "--jobs", "0"]) == 2
    assert "--jobs must be at least 1" in capsys.readouterr().err


def test_processes_side_by_side(capsys):
    only = "KMeans of few clusters, dense"
    assert main(["warmup", "--only", only, "--jobs", "2", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["n_fits"] == 2
    assert main(["warmup", "--only", only, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["n_compiled"] == 0  # all of them are kept


def test_native_kernels_are_asked_for_while_warming_up_only(monkeypatch, capsys):
    seen = []
    monkeypatch.delenv(NATIVE, raising=False)
    monkeypatch.setattr(warmup, "solve", lambda name: seen.append(os.environ.get(NATIVE)) or 0)
    for options in ([], ["--native"]):
        assert main(["warmup", "--only", "KMeans, elkan, dense float32", "--json", *options]) == 0
    assert seen == [None, "1"]
    assert NATIVE not in os.environ


@pytest.mark.parametrize(
    ("combination", "which"),
    [
        ("dense float64", []),
        *(
            pytest.param(f"{container} {dtype}", ["every"], marks=pytest.mark.long)
            for container in ("dense", "sparse")
            for dtype in ("float32", "float64")
        ),
    ],
)
def test_everyday_fits_need_no_other_kernels(combination, which):
    done = subprocess.run(
        [sys.executable, "-m", "tests.commands.everyday", combination, *which],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert not done.stdout
