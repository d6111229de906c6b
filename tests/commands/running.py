"""Commands as users run them, in a process of their own; and the same without starting one."""

import contextlib
import io
import os
import subprocess
import sys
from dataclasses import dataclass

from polymeans.cli import main


@dataclass
class Done:
    """What a command left behind."""

    code: int
    out: str
    notes: str


def polymeans(*arguments, folder, stdin=None, before=None, **environment):
    """Run a command in a folder."""
    done = subprocess.run(
        [sys.executable, "-m", "polymeans", *map(str, arguments)],
        cwd=folder,
        input=stdin,
        capture_output=True,
        preexec_fn=before,
        env={**os.environ, "PYTHONIOENCODING": "utf-8", **environment},
    )
    return Done(done.returncode, done.stdout.decode(), done.stderr.decode())


def polymeans_here(*arguments, folder, stdin=b""):
    """Run a command in this process: quicker, for what does not depend on the process.

    Each way to read, write and fail is also tried in a process of its own.
    """
    out, notes = io.StringIO(), io.StringIO()
    to_notes = contextlib.redirect_stderr(notes)
    before, sys.stdin = sys.stdin, io.TextIOWrapper(io.BytesIO(stdin))
    try:
        with contextlib.chdir(folder), contextlib.redirect_stdout(out), to_notes:
            code = main([str(argument) for argument in arguments])
    finally:
        sys.stdin = before
    return Done(code, out.getvalue(), notes.getvalue())


def check_error(done, *parts, code=1):
    """One line with a reason and a hint, and nothing on the standard output."""
    assert done.code == code, done
    assert done.out == ""
    assert len(done.notes.splitlines()) == 1, done.notes
    assert done.notes.startswith("polymeans: error: ")
    assert "(hint: " in done.notes
    for part in parts:
        assert part in done.notes
