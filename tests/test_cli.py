"""The command line: what it prints, what it writes, how it fails."""

import contextlib
import io
import re
import subprocess
import sys

import numpy as np
import pytest
from matplotlib.image import imread

import polymeans
from polymeans.cli import main


def run(arguments):
    """Exit code, stdout and stderr of a command run in this process."""
    out, notes = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(notes):
        code = main(arguments)
    return code, out.getvalue(), notes.getvalue()


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """Output, notes and picture of one quick demo."""
    path = tmp_path_factory.mktemp("demo") / "picture.png"
    return *run(["demo", "--quick", "--seed", "3", "--output", str(path)]), path


def cells(text):
    """The demo's table: name of a line -> its two cells."""
    lines = [re.split(r"\s{2,}", line.strip()) for line in text.splitlines()]
    return {line[0]: line[1:] for line in lines if len(line) == 3}


def test_demo_table_says_the_same_of_both_libraries(demo):
    code, out, _, _ = demo
    assert code == 0
    assert re.search(r"^ +digits +documents$", out, re.MULTILINE)
    table = cells(out)
    assert table["rows x features"] == ["1797 x 64", "1500 x 1000"]
    assert table["clusters"] == ["64", "20"]
    assert all(int(cell) > 2 for cell in table["iterations"])
    assert table["inertia, polymeans"] == table["inertia, scikit-learn"]
    assert table["equal labels"] == ["100.00 %", "100.00 %"]
    for ours, theirs, ratio in zip(
        table["seconds, polymeans"], table["seconds, scikit-learn"], table["ratio"]
    ):
        assert float(ours) > 0
        assert float(theirs) / float(ours) == pytest.approx(float(ratio), rel=0.02, abs=0.1)


def test_demo_table_is_aligned(demo):
    lines = [line for line in demo[1].splitlines() if re.search(r"\S\s{2,}\S+.*\S$", line)]
    assert len(lines) == 10
    assert len({len(line) for line in lines}) == 1


def test_demo_says_what_was_not_timed_and_where_the_picture_is(demo):
    _, out, notes, path = demo
    assert "compiled before" in out
    assert f"Picture: {path}\n" in out
    assert "Look at" in out.splitlines()[-1]
    assert re.search(r"\d\.\d s, not counted", notes)


def test_demo_picture_shows_something(demo):
    path = demo[3]
    assert path.read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    picture = imread(path)[..., :3]
    height, width, _ = picture.shape
    assert height > 400
    assert width > 800
    # Every part of it has something drawn: both halves, and the corner of the seconds.
    for part in (
        picture[:, : width // 2],
        picture[: height // 2, width // 2 :],
        picture[height // 2 :, width // 2 :],
    ):
        ink = (part.min(axis=2) < 0.9).mean()
        assert 0.01 < ink < 0.9
    assert [entry.name for entry in path.parent.iterdir()] == ["picture.png"]


def test_demo_depends_on_the_seed_only():
    from polymeans._demo import make_problems

    a, b, c = (make_problems(seed, quick=True) for seed in (0, 0, 1))
    for x, y, z in zip(a, b, c):
        np.testing.assert_array_equal(x.starts, y.starts)
        assert (x.starts != z.starts).any()


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        ([], "COMMAND", "polymeans --help"),
        (["paint"], "'paint'", "polymeans --help"),
        (["demo", "--fast"], "--fast", "--help"),
        (["demo", "--seed", "-1"], "'-1' is not a whole number", "polymeans demo --help"),
        (["demo", "--seed", "one"], "'one' is not a whole number", "polymeans demo --help"),
        (["demo", "--output", "a.txt"], "format of 'a.txt'", ".png"),
        (["demo", "--output", "no/such/a.png"], "no directory 'no/such'", "--output"),
        (["demo", "--output", "folder.png"], "'folder.png' is a directory", "file"),
    ],
)
def test_errors_are_one_line_and_a_hint(arguments, message, hint, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder.png").mkdir()
    code, out, notes = run(arguments)
    assert code == 2
    assert out == ""
    first, second = notes.splitlines()
    assert first.startswith("polymeans: error: ")
    assert message in first
    assert second.startswith("hint: ")
    assert hint in second


def test_unwritable_picture(tmp_path, monkeypatch):
    from polymeans import _demo

    def refuse(figure, path):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(_demo, "save", refuse)
    code, _, notes = run(["demo", "--quick", "--output", str(tmp_path / "a.png")])
    assert code == 2
    assert "Permission denied" in notes
    assert notes.splitlines()[-1].startswith("hint: ")


def test_without_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    code, _, notes = run(["demo", "--quick"])
    assert code == 2
    assert 'pip install "polymeans[plot]"' in notes


def test_interrupt(monkeypatch):
    from polymeans import _demo

    def interrupt(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(_demo, "make_problems", interrupt)
    assert run(["demo", "--quick"])[0] == 130


def test_help_lists_the_commands():
    code, out, _ = run(["--help"])
    assert code == 0
    assert "demo" in out


def test_version_by_module():
    done = subprocess.run(
        [sys.executable, "-m", "polymeans", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout == f"polymeans {polymeans.__version__}\n"
    assert done.stderr == ""
