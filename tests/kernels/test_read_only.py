"""Read-only arrays are taken by the kernels for writable ones, and nothing writes to them."""

import os
import subprocess
import sys
from collections import namedtuple
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from numba import types
from numpy.testing import assert_array_equal

from polymeans import KMeans
from polymeans.commands.compiling import Compiling
from polymeans.commands.warmup import problems
from polymeans.kernels.read_only import as_writable
from tests.kernels.mapped import kernels, mapped, mapped_rows, use

ROOT = Path(__file__).resolve().parents[2]

#: One type of numbers for each container; the others are the long version.
SOME = [
    name
    for name, *_ in problems()
    if name.endswith(("dense float64", "sparse float32")) and " of " not in name
]
OTHERS = [name for name, *_ in problems() if name not in SOME]


def is_read_only(kind):
    return as_writable(kind) is not kind


@pytest.mark.parametrize(
    "name", [*SOME, *(pytest.param(name, marks=pytest.mark.long) for name in OTHERS)]
)
def test_nothing_is_compiled_for_read_only_memory(name, tmp_path):
    """A kernel that wrote to a file mapped for reading would end the process."""
    estimator, rows = next(found[1:] for found in problems() if found[0] == name)
    rows = rows[:800]
    weights = 1.0 + np.arange(rows.shape[0]) % 2
    expected = use(estimator, rows, weights)
    fixed = mapped_rows(rows, tmp_path)
    with Compiling() as compiling:
        found = use(estimator, fixed, mapped(weights, tmp_path), tmp_path)
    assert compiling.n_kernels == 0
    for part, value in expected.items():
        assert_array_equal(found[part], value, err_msg=part)
    if not sp.issparse(fixed):
        assert not fixed.flags.writeable
    # Kernels of earlier processes are on the disk: none may be loaded for read-only arrays either.
    for kernel in kernels():
        assert not any(is_read_only(kind) for kinds in kernel.signatures for kind in kinds)
    assert any(kernel.read_only for kernel in kernels())


@pytest.mark.long  # compiles; the small version is the test before: a write would end the process
def test_numba_finds_no_kernel_that_writes_to_read_only_arrays():
    done = subprocess.run(
        [sys.executable, "-m", "tests.kernels.mapped", ""],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.split()) > 3


def test_attributes_and_starts_stay_read_only(tmp_path):
    rows = np.random.default_rng(0).normal(size=(300, 4))
    start = mapped(rows[:3], tmp_path)
    model = KMeans(3, init=start).fit(mapped(rows, tmp_path))
    assert model.init is start
    assert not start.flags.writeable
    assert_array_equal(model.labels_, KMeans(3, init=rows[:3]).fit(rows).labels_)
    model.cluster_centers_.flags.writeable = False
    model.predict(rows)
    assert not model.cluster_centers_.flags.writeable
    fixed = rows.copy()
    fixed.flags.writeable = False
    empty = fixed[:0]
    with pytest.raises(ValueError, match="minimum of 1"):
        model.predict(empty)
    assert_array_equal(model.predict(fixed[::2, ::-1][:, ::-1]), model.labels_[::2])


def test_types_of_writable_arrays():
    fixed = types.Array(types.float32, 2, "C", readonly=True, aligned=False)
    free = types.Array(types.float32, 2, "C", aligned=False)
    assert as_writable(fixed) == free
    assert as_writable(free) is free
    assert as_writable(types.int64) is types.int64
    Pair = namedtuple("Pair", ["left", "right"])
    pair = types.BaseTuple.from_types((fixed, types.int64), Pair)
    assert as_writable(pair) == types.BaseTuple.from_types((free, types.int64), Pair)
    mixed = types.BaseTuple.from_types((fixed, types.BaseTuple.from_types((free, fixed))))
    both = types.UniTuple(free, 2)
    assert as_writable(mixed) == types.Tuple((free, both))
    assert as_writable(both) is both
