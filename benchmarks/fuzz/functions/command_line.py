"""The command line: exit codes, and two lines for what cannot be done."""

import contextlib
import io
from collections.abc import Iterator

import numpy as np

from benchmarks.fuzz.case import Case, require
from polymeans.cli import main

WORDS = (
    "demo",
    "--help",
    "--version",
    "--seed",
    "-1",
    "7",
    "1e3",
    "4294967296",
    "--output",
    "picture.xyz",
    "no such folder/picture.png",
    "--quick",
    "",
    "--nonsense",
    "\u00e9",
)


def draw(rng: np.random.Generator, area: str, seed: int, number: int) -> Case:
    """A few words."""
    words = [str(rng.choice(WORDS)) for _ in range(int(rng.integers(0, 5)))]
    return Case(area, seed, number, np.zeros((1, 1)), params={"words": words})


def check(case: Case) -> Iterator[str]:
    """Run it unless it would draw the demo."""
    words = list(case.params["words"])
    if words[:1] == ["demo"]:
        # The demo takes seconds: an output that cannot be written stops it before the work.
        words += ["--output", "no such folder/picture.png"]
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(words)
    yield require(code in (0, 1, 2), "exit codes", f"{words}: {code}")
    if code == 0:
        yield require(out.getvalue() and not err.getvalue(), "answers go to stdout", words)
    else:
        lines = err.getvalue().strip().splitlines()
        kept = len(lines) == 1 and lines[0].startswith("polymeans: error") and not out.getvalue()
        yield require(kept, "a reason and a remedy", f"{words}: {err.getvalue()!r}")
