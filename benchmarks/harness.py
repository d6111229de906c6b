"""Fair measurement: contenders take turns in one run, on one machine, from the same start.

Shared machines are noisy, so no figure stands alone: ours is measured before, between and after
the peers, its median is compared with each peer's best, and only ratios are meant to travel.
"""

import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks import record


class MissingRequirementError(Exception):
    """Something the benchmark needs is not there; the message says what and how to get it."""


@dataclass
class Contender:
    """Somebody who can do the job.

    ``run(n_iter)`` does it and returns what is to be compared (labels, inertia, ...). With
    ``equal_iterations`` its time for many iterations may be extrapolated from few.
    """

    name: str
    run: Callable[[int], dict[str, Any]]
    equal_iterations: bool = False


@dataclass
class Result:
    """What one contender achieved in one case."""

    name: str
    seconds: float
    all_seconds: list[float]
    outcome: dict[str, Any] = field(default_factory=dict)
    extrapolated: bool = False


def machine(run: dict[str, Any]) -> str:
    """One line that says where the figures of a run come from."""
    versions = ", ".join(f"{name} {number}" for name, number in run["versions"].items())
    return f"{run['processor']}, {run['cores']} cores, Python {run['python']}, {versions}"


def drawing() -> Any:
    """matplotlib.pyplot without a screen; imported when something is drawn."""
    try:
        import matplotlib
    except ImportError:
        raise MissingRequirementError('needs matplotlib: pip install ".[bench]"') from None
    matplotlib.use("Agg")
    from matplotlib import pyplot

    return pyplot


_ADDED_PEAK = """
def resident(field):
    with open("/proc/self/status") as lines:
        return int(dict(line.split(":", 1) for line in lines)[field].split()[0]) / 1024

def added_peak(fit):
    before = resident("VmRSS")
    open("/proc/self/clear_refs", "w").write("5")  # forget the peak so far
    fit()
    return resident("VmHWM") - before
"""


def in_new_process(code: str, patience: float | None = None) -> str:
    """What a script prints; with ``added_peak(fit)``, the MB of memory a call adds at most.

    Nothing, if it takes more seconds than the patience.
    """
    try:
        done = subprocess.run(
            [sys.executable, "-c", _ADDED_PEAK + code],
            capture_output=True,
            text=True,
            timeout=patience,
        )
    except subprocess.TimeoutExpired:
        return ""
    if done.returncode:
        raise RuntimeError(f"A measurement in a process of its own failed:\n{done.stderr}")
    return done.stdout


def compete(
    ours: Contender,
    peers: list[Contender],
    *,
    n_iter: int,
    repeats: int,
    patience: float = 150.0,
    probe: int = 3,
) -> dict[str, Result]:
    """Let everybody run, ours between all of them.

    Parameters
    ----------
    ours : Contender
    peers : list of Contender
    n_iter : int
        Iterations everybody is asked for.
    repeats : int
        Measurements; slow peers (over a tenth of the patience) get one.
    patience : float
        Seconds beyond which a peer with equal iterations is extrapolated from ``probe`` of them.
    probe : int
        Iterations to extrapolate from.
    """
    ours.run(2)  # compile and touch everything once
    results = {ours.name: Result(ours.name, float("inf"), [])}
    mine = results[ours.name]

    def measure(contender: Contender, iterations: int) -> tuple[float, dict[str, Any]]:
        began = time.perf_counter()
        outcome = contender.run(iterations)
        return time.perf_counter() - began, outcome

    def measure_ours() -> None:
        seconds, mine.outcome = measure(ours, n_iter)
        mine.all_seconds.append(seconds)

    measure_ours()
    for peer in peers:
        result = results[peer.name] = Result(peer.name, float("inf"), [])
        if peer.equal_iterations:
            short, _ = measure(peer, 1)
            longer, _ = measure(peer, 1 + probe)
            # Fits from the same start end together; nobody is charged for iterations after that.
            whole = min(n_iter, mine.outcome.get("n_iter") or n_iter)
            expected = short + (longer - short) / probe * (whole - 1)
            if expected > patience:
                result.all_seconds, result.extrapolated = [expected], True
                result.outcome = {}
                measure_ours()
                continue
        for repeat in range(repeats):
            seconds, result.outcome = measure(peer, n_iter)
            result.all_seconds.append(seconds)
            if repeat < 2 or seconds < 5:
                measure_ours()
            if seconds > patience / 10:
                break
    mine.seconds = statistics.median(mine.all_seconds)
    for peer in peers:
        results[peer.name].seconds = min(results[peer.name].all_seconds)
    return results


class Report:
    """Collects tables; prints them as they come, saves them as JSON."""

    def __init__(self, name: str, folder: Path, only: str = "", area: str = "") -> None:
        self.name, self.folder, self.only, self.area = name, folder, only, area
        self.tables: list[dict[str, Any]] = []
        self.run = record.provenance()
        print(f"# {name}\n{machine(self.run)}\n", flush=True)

    def table(self, title: str, rows: list[dict[str, Any]], note: str = "") -> None:
        """Print and keep one table."""
        self.tables.append({"title": title, "rows": rows, "note": note})
        columns = list(dict.fromkeys(key for row in rows for key in row))
        cells = [[_show(row.get(column, "")) for column in columns] for row in rows]
        widths = [max(map(len, column)) for column in zip(columns, *cells, strict=True)]
        print(f"## {title}")
        for line in [columns, *cells]:
            print("  " + "  ".join(text.rjust(w) for text, w in zip(line, widths, strict=True)))
        if note:
            print(f"  {note}")
        print(flush=True)

    def figure(self, name: str, figure: Any) -> None:
        """Save a matplotlib figure as ``folder/name.png``."""
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / f"{name}.png"
        figure.savefig(path, dpi=120)
        print(f"drawn: {path}\n", flush=True)

    def save(self) -> None:
        """Write everything to ``folder/name.json``."""
        path = self.folder / f"{self.name}.json"
        record.store(path, self.name, self.run, self.tables, self.only, self.area)
        print(f"written: {path}")


def _show(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    return str(value)
