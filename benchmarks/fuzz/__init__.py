"""Random and hostile problems for everything that is public: ``python -m benchmarks fuzz``.

A seed and a number determine a problem (``areas.make_case``). ``judge.judge`` checks the promises
of its area against slow versions that share nothing with the library. A failure is made smaller
(``shrink``) and shown as a few lines of Python (``reproducer``). Problems run in processes of their
own (``worker``, ``pool``), so that a crash is a failure like any other.
"""

import time
from typing import Any

from benchmarks.fuzz.areas import areas
from benchmarks.fuzz.pool import Failure, Tally, run_workers
from benchmarks.harness import MissingRequirementError, Report

#: Seconds between two lines about the progress.
_NEWS = 60.0


def run(options: Any, report: Report) -> None:
    """Work on problems for some minutes, then show counts and failures.

    Raises SystemExit with code 1 if a promise was broken.
    """
    if options.area and options.area not in areas():
        raise MissingRequirementError(f"no area {options.area!r}; one of: {', '.join(areas())}")
    tally, began, told, n_shown = Tally(), time.monotonic(), time.monotonic(), 0
    for tally in run_workers(
        options.seed,
        60 * options.minutes,
        options.jobs,
        options.area,
        options.problem,
        options.shrink,
    ):
        for failure in tally.failures[n_shown:]:
            print(
                f"problem {failure.number} of seed {options.seed}: {failure.area}, "
                f"{failure.promise}: {failure.detail}\n{failure.lines}",
                flush=True,
            )
        n_shown = len(tally.failures)
        if time.monotonic() - told > _NEWS:
            told = time.monotonic()
            done = sum(tally.problems.values())
            print(
                f"{(told - began) / 60:.0f} min: {done} problems, {len(tally.failures)} failures",
                flush=True,
            )
    show(tally, report, time.monotonic() - began)
    if tally.failures:
        report.save()
        raise SystemExit(1)


def show(tally: Tally, report: Report, seconds: float) -> None:
    """Tables of what was checked and what was found."""
    done = sum(tally.problems.values())
    report.table(
        f"{done} problems in {seconds / 60:.1f} minutes",
        [
            {
                "area": area,
                "problems": tally.problems[area],
                "milliseconds": 1000 * tally.seconds[area] / max(1, tally.problems[area]),
                "failures": sum(failure.area == area for failure in tally.failures),
            }
            for area in areas()
        ],
    )
    report.table(
        "promises kept",
        [
            {"area": area, "promise": promise, "times": times}
            for (area, promise), times in sorted(tally.kept.items())
        ],
    )
    report.table("failures", _summary(tally.failures), "Reproducers are above.")


def _summary(failures: list[Failure]) -> list[dict[str, Any]]:
    """One row for each area and promise: how many, the first numbers, an example."""
    groups: dict[tuple[str, str], list[Failure]] = {}
    for failure in failures:
        groups.setdefault((failure.area, failure.promise), []).append(failure)
    return [
        {
            "area": area,
            "promise": promise,
            "times": len(group),
            "problems": " ".join(str(failure.number) for failure in group[:6]),
            "of which": group[0].traits,
            "detail": group[0].detail[:160],
        }
        for (area, promise), group in sorted(groups.items())
    ]
