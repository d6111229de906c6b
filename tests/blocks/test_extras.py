"""Libraries for files are imported late, and their absence is explained."""

import subprocess
import sys

import pytest

from polymeans.blocks import from_arrow, from_hdf5, from_parquet, from_zarr


def test_importing_the_readers_imports_no_library_for_files():
    # scikit-learn imports pandas where it is installed, and that imports pyarrow.
    program = (
        "import sys, polymeans; polymeans.KMeans; before = set(sys.modules); "
        "import polymeans.blocks; "
        "new = set(sys.modules) - before; "
        "print([name for name in new if name.split('.')[0] in ('pyarrow', 'h5py', 'zarr')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("library", "call"),
    [
        ("pyarrow", lambda: from_arrow(None)),
        ("pyarrow.dataset", lambda: from_parquet("rows.parquet")),
        ("h5py", lambda: from_hdf5("rows.h5", "X")),
        ("zarr", lambda: from_zarr("rows.zarr")),
    ],
)
def test_a_missing_library_is_named_with_the_extra(library, call, monkeypatch):
    monkeypatch.setitem(sys.modules, library, None)
    name = library.partition(".")[0]
    with pytest.raises(ImportError, match=rf'needs {name}, .*pip install "polymeans\[files\]"'):
        call()
