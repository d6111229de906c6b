"""The outcome of one problem."""

import time
from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from benchmarks.fuzz.areas import areas
from benchmarks.fuzz.case import BrokenPromiseError, Case
from benchmarks.fuzz.watch import RefusedError


@dataclass
class Outcome:
    """What came of a problem.

    Parameters
    ----------
    kept : Counter
        How often each promise was checked and kept.
    broken : str
        The promise that was not kept, or nothing.
    detail : str
        What was seen.
    seconds : float
    """

    kept: Counter = field(default_factory=Counter)
    broken: str = ""
    detail: str = ""
    seconds: float = 0.0


def judge(case: Case) -> Outcome:
    """Check all promises of a problem, up to the first that is broken.

    Parameters
    ----------
    case : Case

    Returns
    -------
    Outcome
    """
    outcome, began = Outcome(), time.perf_counter()
    try:
        # Slow versions may overflow; the library's own warnings are caught where it is called.
        with np.errstate(all="ignore"):
            for promise in areas()[case.area].check(case):
                outcome.kept[promise] += 1
    except BrokenPromiseError as broken:
        outcome.broken, outcome.detail = broken.promise, broken.detail
    except RefusedError:
        outcome.kept["refused with a reason"] += 1
    except Exception as error:  # a call that no promise watches, or the fuzzer itself
        import traceback

        place = traceback.extract_tb(error.__traceback__)[-1]
        outcome.broken = "no other exceptions"
        outcome.detail = (
            f"{type(error).__name__}: {str(error)[:200]} ({place.filename}:{place.lineno})"
        )
    outcome.seconds = time.perf_counter() - began
    return outcome
