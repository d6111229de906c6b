"""Kernels that are loaded from the disk: what that imports, and errors that are raised in them."""

import json
import os
import subprocess
import sys

#: Runs a kernel whose callee, a function of numba's own, raises where shapes differ.
PROGRAM = """
import json, sys
import numpy as np
from polymeans.kernels.compile import kernel


def copy_column(out, x):
    out[:] = x[:, 0]


copy_column.__module__ = "polymeans.kernels.groups"
copied = kernel(copy_column, allocates=True)
out = np.zeros(3)
copied(out, np.arange(6.0).reshape(3, 2))
assert out.tolist() == [0.0, 2.0, 4.0]
late = {"arrays": "numba.np.arrayobj" in sys.modules}
from numba.core import entrypoints
late["extensions"] = getattr(entrypoints, "_already_initialized", None)
try:
    copied(np.zeros(4), np.ones((3, 2)))
except ValueError as error:
    message = str(error)
loaded = sum(copied.stats.cache_hits.values())
print(json.dumps({"loaded": loaded, "message": message, **late}))
"""


def test_a_loaded_kernel_needs_no_compiler_and_raises_what_a_compiled_one_does(tmp_path):
    settings = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    compiled, loaded = (
        json.loads(
            subprocess.check_output([sys.executable, "-c", PROGRAM], text=True, env=settings)
        )
        for _ in range(2)
    )
    assert (compiled.pop("loaded"), loaded.pop("loaded")) == (0, 1)
    assert compiled.pop("message") == loaded.pop("message") != ""
    assert compiled == {"arrays": True, "extensions": True}
    assert loaded == {"arrays": False, "extensions": False}
