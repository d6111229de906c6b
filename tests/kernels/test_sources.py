"""What a kernel's file on the disk depends on, and which kernels Python may call."""

import ast
import re
from pathlib import Path

import pytest

from polymeans.kernels import sources
from polymeans.kernels.compile import InnerKernel
from polymeans.kernels.small_kmeans import center_on

ROOT = Path(__file__).resolve().parents[2]
KERNELS = ROOT / "src" / "polymeans" / "kernels"


def test_every_import_of_a_kernel_module_is_seen():
    for path in KERNELS.glob("*.py"):
        if path.stem in sources._MACHINERY:
            continue
        text = path.read_text(encoding="utf-8")
        named = {
            f"{node.module}.{name.name}" if node.module == "polymeans.kernels" else node.module
            for node in ast.walk(ast.parse(text))
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("polymeans")
            for name in node.names
        }
        assert not any(
            isinstance(node, ast.ImportFrom) and node.level for node in ast.walk(ast.parse(text))
        ), f"{path.name}: a relative import"
        found = {f"polymeans.kernels.{name}" for name in sources._IMPORT.findall(text)}
        assert named == found, path.name


def test_machinery_is_there():
    assert all((KERNELS / f"{name}.py").is_file() for name in sources._MACHINERY)


def test_modules_that_are_needed_through_others():
    needed = sources.needed_modules("seeding")
    assert {"seeding", "dense", "rows", "exact"} <= set(needed)
    assert "compile" not in needed
    assert "grid_moves" not in needed  # nothing there is called
    assert sources.needed_modules("groups") == ("groups",)


def test_digest_follows_modules_that_are_needed(tmp_path, monkeypatch):
    for path in KERNELS.glob("*.py"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    monkeypatch.setattr(sources, "_FOLDER", tmp_path)

    def digests(*names):
        for function in (sources._source, sources.needed_modules, sources.sources_digest):
            function.cache_clear()
        return [sources.sources_digest(name) for name in names]

    try:
        before = digests("seeding", "groups")
        for name, same in (("rows", False), ("grid_moves", True), ("compile", True)):
            (tmp_path / f"{name}.py").write_bytes((KERNELS / f"{name}.py").read_bytes() + b"\n#\n")
            after = digests("seeding", "groups")
            assert (after[0] == before[0]) is same, name
            assert after[1] == before[1]
            before = after
    finally:
        monkeypatch.undo()
        digests()


def inner_kernels():
    found = set()
    for path in KERNELS.glob("*.py"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef) and any(
                "inner=True" in ast.unparse(decorator) for decorator in node.decorator_list
            ):
                found.add((path.stem, node.name))
    return found


def test_only_kernels_name_inner_kernels():
    inner = inner_kernels()
    assert len(inner) > 50
    for folder in ("src", "tests", "benchmarks", "examples"):
        for path in (ROOT / folder).rglob("*.py"):
            if path.parent == KERNELS or path == Path(__file__):
                continue
            tree = ast.parse(path.read_text(encoding="utf-8"))
            modules = {}
            for node in ast.walk(tree):
                if isinstance(node, ast.ImportFrom) and node.module == "polymeans.kernels":
                    modules |= {name.asname or name.name: name.name for name in node.names}
            for node in ast.walk(tree):
                named = []
                if isinstance(node, ast.ImportFrom) and re.match(
                    r"polymeans\.kernels\.", node.module or ""
                ):
                    named = [(node.module.rpartition(".")[2], name.name) for name in node.names]
                elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                    named = [(modules.get(node.value.id), node.attr)]
                assert not inner & set(named), f"{path}: {inner & set(named)}"


def test_calling_an_inner_kernel_is_an_error():
    assert isinstance(center_on, InnerKernel)
    with pytest.raises(TypeError, match="center_on is called by other kernels only"):
        center_on(None, 0, None, None)
