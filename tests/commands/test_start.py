"""How the command line starts, ends, and writes to pipes and terminals."""

import os
import pty
import re
import signal
import subprocess
import sys

import numpy as np

import polymeans as library
from polymeans.cli import main
from tests.commands.running import polymeans


def test_help_imports_nothing_heavy():
    code = (
        "import sys\n"
        "from polymeans.cli import main\n"
        "assert main(['--help']) == 0\n"
        "heavy = {'numpy', 'scipy', 'sklearn', 'numba', 'pandas', 'torch'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "fit" in done.stdout
    assert "demo" in done.stdout


def test_every_command_has_a_help_text(capsys):
    from polymeans.commands import COMMANDS

    assert main(["--help"]) == 0
    overview = capsys.readouterr().out
    for name in COMMANDS:
        assert re.search(rf"^    {name} +\w", overview, re.MULTILINE)
        assert main([name, "--help"]) == 0
        assert f"usage: polymeans {name}" in capsys.readouterr().out


def test_version_by_module():
    done = polymeans("--version", folder=".")
    assert done.out == f"polymeans {library.__version__}\n"
    assert (done.code, done.notes) == (0, "")


def test_a_reader_that_has_seen_enough(tmp_path):
    np.save(tmp_path / "x.npy", np.random.default_rng(0).random((200_000, 2)))
    command = f"{sys.executable} -m polymeans fit x.npy -k 2 --quiet --max-iter 1 | head -n 1"
    done = subprocess.run(command, shell=True, cwd=tmp_path, capture_output=True, text=True)
    assert len(done.stdout.split()) == 1
    assert "Traceback" not in done.stderr
    assert "BrokenPipe" not in done.stderr


def test_an_interrupt(tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-m", "polymeans", "fit", "-", "-k", "2", "--model", "m"],
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # A job in the background ignores interrupts, and so would its children.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    # More than a pipe holds: when all is written, the command is reading, and waits for more.
    process.stdin.write(b"1,2\n" * 50_000)
    process.stdin.flush()
    process.send_signal(signal.SIGINT)
    out, notes = process.communicate(timeout=60)
    assert process.returncode == 130, notes
    assert out == b""
    assert os.listdir(tmp_path) == []


def test_a_terminal_gets_a_progress_bar(tmp_path):
    np.save(tmp_path / "x.npy", np.random.default_rng(0).random((30_000, 30)))
    ours, theirs = pty.openpty()
    arguments = ["fit", "x.npy", "-k", "60", "--labels", "l.npy"]
    process = subprocess.Popen(
        [sys.executable, "-m", "polymeans", *arguments], cwd=tmp_path, stderr=theirs
    )
    os.close(theirs)
    shown = b""
    while True:
        try:
            part = os.read(ours, 1000)
        except OSError:  # the other end was closed
            break
        if not part:
            break
        shown += part
    os.close(ours)
    assert process.wait() == 0
    text = shown.decode()
    assert re.search(r"\rfitting: inertia [\d.e+]+, \d+ rows moved \(\d+ s\)", text)
    assert text.rstrip().endswith(" s")
    assert "KMeans: 60 clusters" in text.split("\r")[-2] + text.split("\r")[-1]


def test_without_a_terminal_there_is_none(tmp_path):
    np.save(tmp_path / "x.npy", np.random.default_rng(0).random((300, 3)))
    done = polymeans("fit", "x.npy", "-k", 3, "--labels", "l.npy", folder=tmp_path)
    assert "\r" not in done.notes
    assert len(done.notes.splitlines()) == 1


def test_the_names_of_the_package_are_found_late():
    code = (
        "import sys, polymeans\n"
        "assert 'sklearn' not in sys.modules\n"
        "assert set(polymeans.__all__) <= set(dir(polymeans))\n"
        "assert polymeans.datasets.make_posts\n"
        "from polymeans import KMeans, persistence\n"
        "assert polymeans.KMeans is KMeans and 'KMeans' in vars(polymeans)\n"
        "try:\n    polymeans.nothing\n"
        "except AttributeError as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "module 'polymeans' has no attribute 'nothing'\n"
