"""Names of packages that import them late: complete, and what they are called after."""

import importlib
import subprocess
import sys

import pytest


@pytest.mark.parametrize("package", ["polymeans.blocks", "polymeans.grids"])
def test_every_public_name_is_there(package):
    module = importlib.import_module(package)
    assert set(module.__all__) <= set(dir(module))
    for name in module.__all__:
        assert getattr(module, name).__name__ == name
    with pytest.raises(AttributeError, match=f"module '{package}' has no attribute 'from_paper'"):
        _ = module.from_paper


def test_no_name_is_hidden_by_a_module():
    program = (
        "import importlib, pkgutil, sys\n"
        "for package in ('polymeans.blocks', 'polymeans.grids'):\n"
        "    module = importlib.import_module(package)\n"
        "    for found in pkgutil.iter_modules(module.__path__, package + '.'):\n"
        "        importlib.import_module(found.name)\n"
        "    for name in module.__all__:\n"
        "        assert not isinstance(getattr(module, name), type(sys)), name\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
