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

#: Fits models, counts kernels that are compiled, prints bits of the results.
PROGRAM = """
import json
import numpy as np
import polymeans
from polymeans.commands import warmup
from polymeans.commands.compiling import Compiling

results = {{}}
with Compiling() as compiling:
    for name, estimator, rows in {problems}:
        model = estimator.fit(rows)
        results[name] = [float(model.inertia_).hex(), np.asarray(model.labels_).tolist()]
found = {{"where": polymeans.__file__, "n_compiled": compiling.n_kernels, "results": results}}
print(json.dumps(found))
"""

#: A fit that needs few kernels.
ONE = """[(
    "one",
    polymeans.KMeans(5, algorithm="elkan", init="random", n_init=1, random_state=0),
    np.random.default_rng(0).random((200, 7)),
)]"""

_TEXT = {"capture_output": True, "text": True}

_has_level = sys.platform == "linux" and platform.machine() == "x86_64"
if _has_level:
    from llvmlite import binding

    _has_level = all(binding.get_host_cpu_features().get(name) for name in ("avx2", "fma", "f16c"))

pytestmark = pytest.mark.skipif(not _has_level, reason="wheels have kernels for x86-64-v3, Linux")


def fitted(python, program, cache=None, **settings):
    """Results of a new process; without a cache folder, kernels are where they always are."""
    environment = {**os.environ, **settings}
    if cache is not None:
        environment.pop("PYTHONPATH", None)
        environment["NUMBA_CACHE_DIR"] = str(cache)
    done = subprocess.run([python, program], env=environment, **_TEXT, cwd=cache)
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
    ("problems", "fits"),
    [
        (ONE, ["--program", "program.py"]),
        pytest.param("warmup.problems()", [], marks=pytest.mark.long),
    ],
    ids=["one", "all"],
)
def test_an_installed_wheel_fits_without_compiling(problems, fits, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM.format(problems=problems))
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    subprocess.run(
        [sys.executable, ROOT / "tools" / "build_wheel.py", "--out", tmp_path, *fits],
        cwd=tmp_path,
        env=environment,
        check=True,
        stdout=subprocess.DEVNULL,
    )
    (wheel,) = tmp_path.glob("*.whl")
    python = installed(wheel, tmp_path / "environment")
    (tmp_path / "empty").mkdir()
    found = fitted(python, program, tmp_path / "empty")
    assert Path(found["where"]).is_relative_to(tmp_path)
    assert found["n_compiled"] == 0
    assert not list((tmp_path / "empty").rglob("*.kernel"))
    # The same bits as from the compiler, which other tests have waited for.
    compiled = fitted(sys.executable, program, PYTHONPATH=str(ROOT / "src"))
    assert not Path(compiled["where"]).is_relative_to(tmp_path)
    assert compiled["results"] == found["results"]
