"""Worker processes, what they report, and what is known if one dies or hangs."""

import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from multiprocessing import get_context
from multiprocessing.connection import wait
from typing import Any

from benchmarks.fuzz.worker import work

#: Seconds after which a single problem counts as hanging. The first ones compile kernels.
_PATIENCE = 180.0


@dataclass
class Failure:
    """A problem that broke a promise."""

    number: int
    area: str
    promise: str
    detail: str
    traits: str
    lines: str


@dataclass
class Tally:
    """What has come of all problems so far."""

    problems: Counter = field(default_factory=Counter)
    kept: Counter = field(default_factory=Counter)  #: by area and promise
    seconds: Counter = field(default_factory=Counter)
    failures: list[Failure] = field(default_factory=list)

    def add(self, number: int, area: str, outcome: Any, traits: str, lines: dict) -> None:
        """Count one problem."""
        self.problems[area] += 1
        self.seconds[area] += outcome.seconds
        for promise, times in outcome.kept.items():
            self.kept[area, promise] += times
        for promise, detail in outcome.broken.items():
            shown = lines.get(promise, "")
            self.failures.append(Failure(number, area, promise, detail, traits, shown))


class Worker:
    """One process and the pipe to it."""

    def __init__(self, seed: int, first: int, step: int, area: str, to_shrink: float) -> None:
        self.arguments = (seed, first, step, area, to_shrink)
        self.number = first
        self._start(first)

    def _start(self, first: int) -> None:
        context = get_context("spawn")
        self.connection, other = context.Pipe(duplex=False)
        seed, _, step, area, to_shrink = self.arguments
        self.process = context.Process(
            target=work, args=(other, seed, first, step, area, to_shrink), daemon=True
        )
        self.process.start()
        other.close()
        self.heard = time.monotonic()

    def restart(self) -> None:
        """Go on with the problem after the present one."""
        self.stop()
        self._start(self.number + self.arguments[2])

    def stop(self) -> None:
        """End the process."""
        self.connection.close()
        self.process.kill()
        self.process.join()


def run_workers(
    seed: int, seconds: float, jobs: int, area: str = "", first: int = 0, to_shrink: float = 5.0
) -> Iterator[Tally]:
    """Work on problems for some time; yields the tally after each message.

    Parameters
    ----------
    seed : int
    seconds : float
    jobs : int
        Processes; each has every jobs-th problem.
    area : str
        Only problems of this area; all if empty.
    first : int
        Number of the first problem.
    to_shrink : float
        Seconds to shrink one failure.
    """
    tally = Tally()
    workers = [Worker(seed, first + job, jobs, area, to_shrink) for job in range(jobs)]
    end = time.monotonic() + seconds
    try:
        while time.monotonic() < end:
            ready = wait([worker.connection for worker in workers], timeout=1.0)
            for worker in workers:
                if worker.connection in ready:
                    _hear(worker, tally)
                elif time.monotonic() - worker.heard > _PATIENCE + to_shrink:
                    _note(worker, tally, "problems end", f"more than {_PATIENCE:.0f} s")
            yield tally
    finally:
        for worker in workers:
            worker.stop()


def _hear(worker: Worker, tally: Tally) -> None:
    try:
        what, number, *rest = worker.connection.recv()
    except (EOFError, OSError):
        worker.process.join(5)
        _note(worker, tally, "processes live", f"exit code {worker.process.exitcode}")
        return
    worker.heard, worker.number = time.monotonic(), number
    if what == "done":
        tally.add(number, *rest)


def _note(worker: Worker, tally: Tally, promise: str, detail: str) -> None:
    """A process that died or hangs: say in which problem, and go on with the next.

    If that problem does no harm alone, an earlier one of the same process wrote where it should
    not; bounds checking finds it (tests/test_bounds_checking.py).
    """
    from benchmarks.fuzz.areas import area_of

    seed = worker.arguments[0]
    area = area_of(seed, worker.number)
    lines = (
        f"# {area}, {promise}: {detail}\nfrom benchmarks.fuzz.areas import make_case\n"
        "from benchmarks.fuzz.judge import judge\n"
        f"print(judge(make_case({seed}, {worker.number})))"
    )
    tally.problems[area] += 1
    tally.failures.append(Failure(worker.number, area, promise, detail, "", lines))
    worker.restart()
