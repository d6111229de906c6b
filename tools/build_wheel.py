"""Build a release wheel that brings compiled kernels along.

    python tools/build_wheel.py --out dist

Kernels are compiled for a common level of processors (``polymeans.kernels.cache.LEVEL``) by the
fits of ``polymeans warmup``, in a process of its own and from a copy of the sources. A second
process then has to solve the same problems with these kernels alone, without the compiler, or there
is no wheel. The wheel is for this version of Python and this system. Its kernels are used with
exactly the numba that compiled them and on processors of that level; elsewhere it behaves like a
wheel without kernels.
"""

import argparse
import base64
import hashlib
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

#: Settings of numba for code that any processor of the level runs: no features of this processor,
#: no library of vector mathematics that others may lack.
_NEUTRAL = {"NUMBA_CPU_FEATURES": "", "NUMBA_DISABLE_INTEL_SVML": "1"}

#: Prints names of kernels that Python never calls: their code is part of their callers'.
_INNER = """
import importlib, json, pkgutil
import polymeans.kernels
from polymeans.kernels.compile import InnerKernel
found = []
for module in pkgutil.iter_modules(polymeans.kernels.__path__):
    content = vars(importlib.import_module(f"polymeans.kernels.{module.name}"))
    for value in content.values():
        if isinstance(value, InnerKernel):
            found.append(f"{value.__module__.rpartition('.')[2]}.{value.__qualname__}")
print(json.dumps(found))
"""

_FACTS = """
import json, numba
from polymeans.kernels.cache import LEVEL
print(json.dumps({"numba": numba.__version__, "level": LEVEL}))
"""


def main(argv: list[str] | None = None) -> int:
    """Build a wheel and print where it is."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("dist"), help="folder of the wheel")
    parser.add_argument(
        "--program",
        type=Path,
        help="compile what this program needs instead of what warmup does; like warmup --json, it "
        'prints how many kernels were compiled as "n_compiled"',
    )
    parser.add_argument(
        "--platform",
        default=sysconfig.get_platform().replace("-", "_").replace(".", "_"),
        help="platform tag, such as manylinux_2_28_x86_64",
    )
    options = parser.parse_args(argv)
    with tempfile.TemporaryDirectory(prefix="polymeans-") as scratch:
        kernels = compiled_kernels(Path(scratch), options.program)
        plain = plain_wheel(Path(scratch) / "plain")
        options.out.mkdir(parents=True, exist_ok=True)
        wheel = with_kernels(plain, kernels, options.out, options.platform)
    print(wheel)
    return 0


def compiled_kernels(scratch: Path, program: Path | None = None) -> Path:
    """Compile kernels; the folder they are in, which was seen to be sufficient."""
    fits = ["-m", "polymeans", "warmup", "--json", "--quiet"]
    if program is not None:
        fits = [str(program.resolve())]
    source = scratch / "source"
    shutil.copytree(
        ROOT / "src" / "polymeans",
        source / "polymeans",
        ignore=shutil.ignore_patterns("__pycache__", "compiled"),
    )
    facts = json.loads(_python(source, scratch / "none", ["-c", _FACTS]))
    _python(
        source,
        scratch / "compiled",
        fits,
        _NEUTRAL | {"NUMBA_CPU_NAME": facts["level"]},
    )
    inner = set(json.loads(_python(source, scratch / "none", ["-c", _INNER])))
    shipped = source / "polymeans" / "kernels" / "compiled"
    shipped.mkdir()
    for path in sorted((scratch / "compiled" / "polymeans").glob("*.kernel")):
        if path.name.split("-")[0] not in inner:
            shutil.copy(path, shipped)
    (shipped / "facts.json").write_text(json.dumps(facts) + "\n")
    found = json.loads(_python(source, scratch / "empty", fits))
    if found["n_compiled"]:
        raise SystemExit(
            f"{found['n_compiled']} kernels were compiled in spite of those that were there. Is "
            f"this processor of level {facts['level']}?"
        )
    return shipped


def _python(
    source: Path, cache: Path, arguments: list[str], settings: dict[str, str] | None = None
) -> str:
    """What a new process prints that imports the package from ``source``."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(source),
        "NUMBA_CACHE_DIR": str(cache),
        **(settings or {}),
    }
    done = subprocess.run(
        [sys.executable, *arguments],
        env=environment,
        cwd=source,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return done.stdout


def plain_wheel(folder: Path) -> Path:
    """The wheel that every build of this project makes."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    (wheel,) = folder.glob("*.whl")
    return wheel


def with_kernels(plain: Path, kernels: Path, out: Path, platform: str) -> Path:
    """The same wheel with compiled kernels, for this version of Python and a platform."""
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    tag = f"{python}-{python}-{platform}"
    name, version, *_ = plain.name.split("-")
    wheel = out / f"{name}-{version}-{tag}.whl"
    with zipfile.ZipFile(plain) as given:
        content = {entry: given.read(entry) for entry in given.namelist()}
    about = next(entry for entry in content if entry.endswith(".dist-info/WHEEL"))
    record = about.replace("/WHEEL", "/RECORD")
    del content[record]
    lines = content[about].decode().splitlines()
    lines = [line for line in lines if not line.startswith(("Tag:", "Root-Is-Purelib:"))]
    content[about] = "\n".join([*lines, "Root-Is-Purelib: false", f"Tag: {tag}", ""]).encode()
    for path in sorted(kernels.iterdir()):
        content[f"polymeans/kernels/compiled/{path.name}"] = path.read_bytes()
    rows = [f"{entry},sha256={_digest(data)},{len(data)}" for entry, data in content.items()]
    content[record] = "\n".join([*rows, f"{record},,", ""]).encode()
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as made:
        for entry, data in content.items():
            # The same date always, so that equal contents make equal wheels.
            made.writestr(zipfile.ZipInfo(entry, (2020, 2, 2, 0, 0, 0)), data)
    return wheel


def _digest(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")


if __name__ == "__main__":
    raise SystemExit(main())
