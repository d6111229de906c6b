"""A wheel with compiled kernels: installed in a new environment, it fits without the compiler."""

import json
import os
import platform
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

#: Fits what the wheel was built for, counts kernels that are compiled, prints bits of the result.
PROGRAM = """
import json, sys
import numpy as np
import polymeans
from polymeans.commands import warmup
from polymeans.commands.compiling import Compiling

results = {}
n_compiled = 0
for name, estimator, rows in warmup.problems():
    if sys.argv[1] in name:
        with Compiling() as compiling:
            model = estimator.fit(rows)
        n_compiled += compiling.n_kernels
        results[name] = [float(model.inertia_).hex(), np.asarray(model.labels_).tolist()]
print(json.dumps({"where": polymeans.__file__, "n_compiled": n_compiled, "results": results}))
"""

_TEXT = {"capture_output": True, "text": True}

_has_level = sys.platform == "linux" and platform.machine() == "x86_64"
if _has_level:
    from llvmlite import binding

    _has_level = all(binding.get_host_cpu_features().get(name) for name in ("avx2", "fma", "f16c"))

pytestmark = pytest.mark.skipif(not _has_level, reason="wheels have kernels for x86-64-v3, Linux")


def fitted(python, only, cache=None, **settings):
    """Results of a new process; without a cache folder, kernels are where they always are."""
    environment = {**os.environ, **settings}
    if cache is not None:
        environment.pop("PYTHONPATH", None)
        environment["NUMBA_CACHE_DIR"] = str(cache)
    done = subprocess.run([python, "-c", PROGRAM, only], env=environment, **_TEXT, cwd=cache)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def installed(wheel, folder):
    """A new environment with the wheel; what it depends on is taken from this one."""
    venv.create(folder, with_pip=False)
    python = folder / "bin" / "python"
    subprocess.run(
        [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet"]
        + ["--no-deps", "--no-index", "--disable-pip-version-check", str(wheel)],
        check=True,
    )
    (packages,) = folder.glob("lib/python*/site-packages")
    # Appended to the path, behind what is installed; editable installs of this one are not seen.
    (packages / "others.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return python


@pytest.mark.parametrize(
    "only",
    ["KMeans of few clusters, dense float64", pytest.param("", marks=pytest.mark.long)],
    ids=["one", "all"],
)
def test_an_installed_wheel_fits_without_compiling(only, tmp_path):
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    subprocess.run(
        [sys.executable, "tools/build_wheel.py", "--out", str(tmp_path), "--only", only],
        cwd=ROOT,
        env=environment,
        check=True,
        stdout=subprocess.DEVNULL,
    )
    (wheel,) = tmp_path.glob("*.whl")
    python = installed(wheel, tmp_path / "environment")
    (tmp_path / "empty").mkdir()
    found = fitted(python, only, tmp_path / "empty")
    assert Path(found["where"]).is_relative_to(tmp_path)
    assert found["n_compiled"] == 0
    assert not list((tmp_path / "empty").rglob("*.kernel"))
    # The same bits as from the compiler, which other tests have waited for.
    compiled = fitted(sys.executable, only, PYTHONPATH=str(ROOT / "src"))
    assert not Path(compiled["where"]).is_relative_to(tmp_path)
    assert compiled["results"] == found["results"]
