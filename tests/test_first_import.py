"""An interrupt during the first fit of a process leaves a library that works."""

import gc
import json
import os
import signal
import subprocess
import sys
import threading

import pytest

from polymeans import _first_import, _garbage
from tests.marks import long

#: Seconds after the first fit begins at which it is interrupted: while numba is imported, while it
#: fills its registries, and while kernels are loaded or compiled.
MOMENTS = (0.01, 0.1, 0.3, 0.7)

#: Those of the default run; the long run has all.
SHORT = (0.1, 0.7)

#: Prints when the first fit is done or was interrupted, and what a second one finds.
PROGRAM = """
import os, signal, sys, threading
import numpy as np
from polymeans import KMeans
assert "numba" not in sys.modules
X = np.random.default_rng(0).normal(size=(50, 3))
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job ignores it
threading.Timer({moment}, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    for _ in range(10_000_000):
        KMeans(3, random_state=0).fit(X)
except KeyboardInterrupt:
    print("interrupted")
model = KMeans(3, random_state=0).fit(X)
print(*model.predict(X))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no process can send itself SIGINT there")
@pytest.mark.parametrize("moments", [SHORT, *long(MOMENTS)], ids=str)
def test_a_fit_works_after_the_first_one_was_interrupted(moments):
    found = set()
    for moment in moments:
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM.format(moment=moment)],
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, f"interrupted after {moment} s:\n{done.stderr}"
        first, labels = done.stdout.splitlines()
        assert first == "interrupted"
        found.add(labels)
    assert len(found) == 1


@pytest.fixture
def _interruptible():
    """SIGINT interrupts, also where the tests are a background job, which ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("_interruptible")
def test_an_interrupt_waits_for_the_end_of_the_block():
    steps = []

    def interrupted():
        with _first_import.interrupts_deferred():
            signal.raise_signal(signal.SIGINT)
            steps.append("after the signal")
        steps.append("after the block")

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert steps == ["after the signal"]


def test_the_handler_is_put_back():
    before, during = signal.getsignal(signal.SIGINT), []

    def failing():
        with _first_import.interrupts_deferred():
            during.append(signal.getsignal(signal.SIGINT))
            raise ImportError

    with pytest.raises(ImportError):
        failing()
    assert during != [before]
    assert signal.getsignal(signal.SIGINT) is before


def test_other_threads_leave_handlers_alone():
    before, seen = signal.getsignal(signal.SIGINT), []

    def work():
        with _first_import.interrupts_deferred():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [before]


#: What no estimator needs before it fits: the compiler, solvers and pools that some fits use,
#: readers of files, the diagnosis of given centroids.
NEEDED_LATER = (
    "numba",
    "llvmlite",
    "matplotlib",
    "polymeans.kernels.compile",
    "polymeans.blocks.arrow",
    "polymeans.blocks.csr_files",
    "polymeans.blocks.hdf5",
    "polymeans.blocks.npy",
    "polymeans.blocks.parquet",
    "polymeans.blocks.sequence",
    "polymeans.blocks.zarr",
    "polymeans.grids.decomposition",
    "polymeans.grids.diagnosis",
)

#: Prints what is in memory after all estimators were imported: of the list, of packages in
#: which more is imported than scikit-learn's clusterings did, and whether garbage is collected.
IMPORTS = """
import gc, json, sys
import sklearn.cluster
before = set(sys.modules)
from polymeans import (
    KhatriRaoKMeans, KMeans, L1KMeans, NonRedundantKMeans, QuickKMeans, TransformedKMeans
)
new = set(sys.modules) - before
print(json.dumps([
    sorted(set(sys.argv[1:]) & new),
    sorted({name.partition(".")[0] for name in new} - sys.stdlib_module_names),
    gc.isenabled(),
]))
"""


def test_estimators_import_nothing_that_only_some_fits_need():
    found = subprocess.check_output([sys.executable, "-c", IMPORTS, *NEEDED_LATER], text=True)
    early, foreign, collects = json.loads(found)
    assert early == []
    assert set(foreign) <= {"polymeans", "sklearn"}
    assert collects


def test_objects_that_stay_are_not_looked_through():
    collected, made = [], []

    def note(phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            collected.append(info["generation"])

    gc.callbacks.append(note)
    try:
        with _garbage.garbage_kept():
            assert not gc.isenabled()
            made.extend([] for _ in range(2 * _garbage._MANY))
        made.extend([] for _ in range(100))
    finally:
        gc.callbacks.pop()
    assert gc.isenabled()
    assert collected == [0]  # before the block, so that what the program made does not grow old
    assert gc.get_freeze_count() == 0


def test_objects_that_a_program_has_frozen_stay_frozen():
    program = (
        "import gc; from polymeans import _garbage; gc.freeze(); n = gc.get_freeze_count()\n"
        "with _garbage.garbage_kept(): kept = [[] for _ in range(100_000)]\n"
        "assert n and gc.get_freeze_count() >= n - 100, (n, gc.get_freeze_count())\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_process_forked_beside_an_import_collects_garbage():
    inside, done = threading.Event(), threading.Event()

    def load() -> None:
        with _garbage.garbage_kept():
            inside.set()
            done.wait(10)

    thread = threading.Thread(target=load)
    thread.start()
    inside.wait(10)
    child = os.fork()
    if child == 0:
        with _garbage.garbage_kept():
            paused = not gc.isenabled()
        os._exit(0 if paused and gc.isenabled() else 1)
    done.set()
    thread.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert gc.isenabled()


def test_an_interrupt_at_the_end_of_an_import_leaves_the_collector_on(monkeypatch):
    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(_garbage, "_MANY", 0)
    monkeypatch.setattr(_garbage.gc, "freeze", interrupted)
    kept = []
    with pytest.raises(KeyboardInterrupt), _garbage.garbage_kept():
        kept.extend([] for _ in range(100))
    assert gc.isenabled()
    assert gc.get_freeze_count() == 0


#: Prints whether a fit has imported what compiles operations on arrays, and numba itself.
FITS = """
import sys
import numpy as np
import polymeans
X = np.random.default_rng(0).normal(size=(60, 4))
polymeans.KMeans(3, random_state=0).fit(X)
print("numba.np.arrayobj" in sys.modules, "numba" in sys.modules)
"""


def test_a_fit_with_kernels_on_the_disk_imports_nothing_of_the_compiler():
    fits = [subprocess.check_output([sys.executable, "-c", FITS], text=True) for _ in range(2)]
    assert fits[1].split() == ["False", "True"]
