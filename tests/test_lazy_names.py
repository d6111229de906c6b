"""Names that are imported when they are first asked for: complete, and free until then."""

import subprocess
import sys

import pytest

import polymeans

#: Prints modules that importing the package has loaded although nothing asked for them.
PROGRAM = """
import sys
import polymeans
late = ("inspection", "reporting", "metrics", "distributed", "federated")
found = [name for name in late if f"polymeans.{name}" in sys.modules]
assert not found, found
# scikit-learn may load pandas where it is installed.
extras = {"numba", "matplotlib", "polars", "dask"}
assert not extras & set(sys.modules)
polymeans.describe, polymeans.report
assert "polymeans.reporting" in sys.modules
assert not extras & set(sys.modules)
"""


def test_importing_the_package_loads_nothing_else():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_every_public_name_is_there():
    found = {}
    exec("from polymeans import *", found)
    assert set(polymeans.__all__) - {"__version__"} <= set(found)
    assert set(polymeans.__all__) <= set(dir(polymeans))
    assert set(polymeans._LAZY) <= set(polymeans.__all__)


def test_other_names_are_missing():
    with pytest.raises(AttributeError, match="has no attribute 'describes'"):
        polymeans.describes()
