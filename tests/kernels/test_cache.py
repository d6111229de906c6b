"""Files of compiled kernels: found by later processes, never wrong, whatever happens to them."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from polymeans.kernels import cache

#: Groups labels of each type that is named, and prints the results and how many kernels were
#: compiled and loaded.
PROGRAM = """
import json, sys
import numpy as np
from polymeans.kernels.groups import group_by_label

results = []
for name in sys.argv[1].split():
    labels = np.array([2, 0, 1, 0, 2, 2], dtype=np.dtype(name))
    starts, items = np.empty(4, dtype=np.int64), np.empty(6, dtype=np.int64)
    group_by_label(labels, starts, items)
    results.append([starts.tolist(), items.tolist()])
stats = group_by_label.stats
print(json.dumps({
    "results": results,
    "compiled": sum(stats.cache_misses.values()),
    "loaded": sum(stats.cache_hits.values()),
    "ready": any("linalg" in name for name in sys.modules if name.startswith("numba.np")),
}))
"""

#: Damages the one file that there is in several ways. Each time a new kernel, which has nothing in
#: memory, has to compile; another one loads what the first has written.
DAMAGING = """
import hashlib, json, sys
from pathlib import Path
import numpy as np
from polymeans.kernels import cache
from polymeans.kernels.compile import kernel
from polymeans.kernels.groups import group_by_label

labels = np.array([2, 0, 1, 0, 2, 2], dtype=np.int32)


def grouped():
    again = kernel(group_by_label.py_func)
    starts, items = np.empty(4, dtype=np.int64), np.empty(6, dtype=np.int64)
    again(labels, starts, items)
    compiled, loaded = again.stats.cache_misses, again.stats.cache_hits
    result = [starts.tolist(), items.tolist()]
    return {"compiled": len(compiled), "loaded": len(loaded), "result": result}


(path,) = Path(sys.argv[1]).glob("polymeans/*.kernel")
whole = path.read_bytes()
body = whole[len(cache._FORMAT) + 32 :]
foreign = cache._FORMAT + hashlib.sha256(b"no pickle").digest() + b"no pickle"
found = {}
for name, damage in {
    "empty": b"",
    "half": whole[: len(whole) // 2],
    "changed": whole[:-40] + bytes([whole[-40] ^ 1]) + whole[-39:],
    "without its head": body,
    "foreign": foreign,
}.items():
    path.write_bytes(damage)
    found[name] = [grouped(), grouped()]
print(json.dumps(found))
"""


def start(folder, dtype="int32", program=PROGRAM, **settings):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder), **settings}
    return subprocess.Popen(
        [sys.executable, "-c", program, dtype],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process):
    printed, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    found = json.loads(printed)
    assert all(result == EXPECTED for result in found["results"])
    return found


EXPECTED = [[0, 2, 3, 6], [1, 3, 2, 0, 4, 5]]


def grouped(folder, dtype="int32", **settings):
    return finish(start(folder, dtype, **settings))


def files(folder):
    return sorted((folder / "polymeans").glob("*.kernel"))


def test_a_later_process_loads_and_does_not_prepare_to_compile(tmp_path):
    first = grouped(tmp_path)
    assert (first["compiled"], first["loaded"], first["ready"]) == (1, 0, True)
    later = grouped(tmp_path)
    assert (later["compiled"], later["loaded"], later["ready"]) == (0, 1, False)
    other = grouped(tmp_path, NUMBA_BOUNDSCHECK="1")  # other code, so another file
    assert other["compiled"] == 1
    assert len(files(tmp_path)) == 2


def test_damaged_files_are_compiled_again(tmp_path):
    grouped(tmp_path)
    printed, errors = start(tmp_path, str(tmp_path), program=DAMAGING).communicate(timeout=120)
    found = json.loads(printed or "{}")
    assert len(found) == 5, errors
    for name, (first, later) in found.items():
        assert (first["compiled"], first["loaded"]) == (1, 0), name
        assert (later["compiled"], later["loaded"]) == (0, 1), name  # it was replaced
        assert first["result"] == later["result"] == EXPECTED
    (path,) = files(tmp_path)
    path.write_bytes(path.read_bytes()[:-40])
    assert grouped(tmp_path)["compiled"] == 1  # in a process that has compiled nothing before


def test_processes_that_write_at_the_same_time(tmp_path):
    kinds = ("int32", "int64", "int16", "int32")
    for process in [start(tmp_path, kind) for kind in kinds]:
        finish(process)
    assert len(files(tmp_path)) == 3
    assert not [path for path in (tmp_path / "polymeans").iterdir() if path.suffix != ".kernel"]
    assert grouped(tmp_path, " ".join(set(kinds)))["loaded"] == 3


def test_types_have_names_that_differ():
    from numba import types

    from polymeans.kernels.rows import DenseArrays

    matrix = types.Array(types.float64, 2, "C")
    name = cache._type_name(types.NamedTuple((matrix,), DenseArrays))
    assert "polymeans.kernels.rows.DenseArrays('values',)" in name
    assert name != cache._type_name(types.Tuple((matrix,)))
    assert cache._type_name(matrix) != cache._type_name(matrix.copy(readonly=True))
    assert cache._type_name(matrix) != cache._type_name(matrix.copy(layout="A"))
    from polymeans.kernels.groups import group_by_label

    assert cache._type_name(group_by_label._numba_type_) is None  # its name is an address


def test_a_folder_that_cannot_be_written_to_is_read_only(tmp_path, monkeypatch, caplog):
    in_the_way = tmp_path / "file"
    in_the_way.write_text("")
    folders = [in_the_way / "a", tmp_path / "b", tmp_path / "c"]
    monkeypatch.setattr(cache, "_candidates", lambda: folders)
    assert cache._folders.__wrapped__() == (tuple(folders[:2]), True)
    monkeypatch.setattr(cache, "_candidates", lambda: folders[:1])
    assert cache._folders.__wrapped__() == (tuple(folders[:1]), False)
    assert caplog.text == ""  # a release wheel may bring all kernels: nothing is to be kept
    cache._warn_that_nothing_is_kept.__wrapped__(tuple(folders[:1]))
    assert "Set NUMBA_CACHE_DIR" in caplog.text


def test_old_files_of_other_sources_are_removed(tmp_path):
    names = ["rows.f-variant-new.kernel", "rows.f-variant-old.kernel", "rows.f-other-old.kernel"]
    for name in names:
        (tmp_path / name).write_text("")
    cache._remove_outdated(tmp_path, names[0])
    assert len(list(tmp_path.iterdir())) == 3  # none is old
    for name in names:
        os.utime(tmp_path / name, (0, 0))
    cache._remove_outdated(tmp_path, names[0])
    assert {path.name for path in tmp_path.iterdir()} == {names[0], names[2]}


WAITING = """
import gc, json, logging, sys
import numpy as np
logging.basicConfig(level=logging.INFO, stream=sys.stdout, format="%(name)s %(message)s")
from polymeans.kernels import waiting
from polymeans.kernels.groups import group_by_label
from polymeans.kernels.seeding import lower_closest
waiting._PATIENCE = 0.0
states = []
for kind in (np.int32, np.int64):
    starts, items = np.empty(4, dtype=np.int64), np.empty(6, dtype=np.int64)
    group_by_label(np.zeros(6, dtype=kind), starts, items)
    states.append(gc.isenabled())
gc.disable()
try:
    lower_closest(1, 2, 3, 4, 5, 6)  # fails to compile
except Exception as error:
    assert "Typing" in type(error).__name__
states.append(gc.isenabled())
assert states == [True, True, False], states
"""


def test_the_log_says_once_that_a_fit_waits_for_the_compiler(tmp_path):
    process = start(tmp_path, program=WAITING)
    printed, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    (line,) = printed.splitlines()
    assert line.startswith("polymeans Waiting for the compiler")
    assert "polymeans warmup" in line


def test_folders_are_those_of_numba(tmp_path):
    program = (
        "import json; from polymeans.kernels import cache;"
        "print(json.dumps([str(folder) for folder in cache._candidates()]))"
    )
    printed, _ = start(tmp_path, program=program).communicate(timeout=60)
    folders = [Path(name) for name in json.loads(printed)]
    assert folders[0] == tmp_path / "polymeans"
    assert folders[1].name == "__pycache__"
    assert len(folders) == 3


@pytest.mark.parametrize("native", ["", "1"])
def test_kernels_for_this_processor_come_before_those_of_a_wheel(native, monkeypatch):
    from numba import int32, int64, void
    from numba.core.registry import cpu_target

    from polymeans.kernels.groups import group_by_label

    monkeypatch.setenv(cache.NATIVE, native)
    monkeypatch.setattr(cache, "_runs_shipped", lambda host: True)
    signature = void(int32[::1], int64[::1], int64[::1])
    places = cache.KernelCache(group_by_label)._places(signature, cpu_target.target_context)
    folders = [path.parent for path in places]
    own = list(cache._folders()[0])
    assert folders == (own if native else [*own, cache.SHIPPED])


@pytest.mark.parametrize("features", ["+avx2,+fma", ""])
def test_kernels_of_a_wheel_need_all_features_of_their_level(features):
    assert not cache._runs_shipped(("linux", "x86_64", "any", features, "False"))
