"""A process that works on problems; it may die, and what it was doing is known then."""

import os
import tempfile
import time
from multiprocessing.connection import Connection

from benchmarks.fuzz.areas import area_of, make_case
from benchmarks.fuzz.case import Case
from benchmarks.fuzz.judge import judge
from benchmarks.fuzz.reproducer import reproducer
from benchmarks.fuzz.shrink import shrink

#: Failures of one area and promise that are shrunk; more of them seldom say more.
_SHRUNK = 1


def work(
    connection: Connection, seed: int, first: int, step: int, area: str, seconds_to_shrink: float
) -> None:
    """Judge problems first, first + step, ... until the other side hangs up.

    Each message is a tuple: ("begin", number) before a problem, ("done", number, area, outcome,
    traits, reproducers) after it.

    Parameters
    ----------
    connection : Connection
    seed, first, step : int
    area : str
        Only problems of this area; all if empty.
    seconds_to_shrink : float
        For one failure.
    """
    printed = _redirect_prints()
    failures: dict[tuple[str, str], int] = {}
    number = first
    try:
        while True:
            if area and area_of(seed, number) != area:
                number += step
                continue
            connection.send(("begin", number))
            case = make_case(seed, number)
            size = os.fstat(printed).st_size
            outcome = judge(case)
            if os.fstat(printed).st_size > size:
                # Below Python: what compiled code writes passes redirected streams.
                outcome.broken.setdefault("nothing is printed", "by compiled code")
            lines = {}
            for promise in outcome.broken:
                key = case.area, promise
                failures[key] = failures.get(key, 0) + 1
                if failures[key] <= _SHRUNK:
                    lines[promise] = _explained(case, promise, seconds_to_shrink)
            traits = " ".join(sorted(case.traits)) + f" {case.X.shape}"
            connection.send(("done", number, case.area, outcome, traits, lines))
            number += step
    except (BrokenPipeError, EOFError, ConnectionResetError):
        return


def _explained(case: Case, promise: str, seconds: float) -> str:
    small = shrink(case, promise, seconds) if seconds > 0 else case
    return reproducer(small, promise, judge(small).broken.get(promise, ""))


def _redirect_prints() -> int:
    """Send both output streams of the process to a file; its descriptor."""
    handle, path = tempfile.mkstemp(suffix=".printed")
    os.unlink(path)
    os.dup2(handle, 1)
    os.dup2(handle, 2)
    return handle


def warm_up(seed: int = 0, seconds: float = 0.0) -> None:
    """Compile kernels before problems are counted: a few of each area.

    Parameters
    ----------
    seed : int
    seconds : float
        Stop after so much time; 0 means the first problem of each area.
    """
    began, seen, number = time.monotonic(), set(), 0
    while number < 400 and (not seconds or time.monotonic() - began < seconds):
        area = area_of(seed, number)
        if seconds or area not in seen:
            seen.add(area)
            judge(make_case(seed, number))
        number += 1
