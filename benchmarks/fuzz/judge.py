"""The outcome of one problem."""

import time
from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from benchmarks.fuzz.areas import areas
from benchmarks.fuzz.case import BrokenPromiseError, Case
from benchmarks.fuzz.limits import is_beyond
from benchmarks.fuzz.watch import RefusedError


@dataclass
class Outcome:
    """What came of a problem.

    Parameters
    ----------
    kept : Counter
        How often each promise was checked and kept.
    broken : dict
        Promises that were not kept, with what was seen.
    seconds : float
    """

    kept: Counter = field(default_factory=Counter)
    broken: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0


def judge(case: Case) -> Outcome:
    """Check all promises of a problem.

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
                if isinstance(promise, BrokenPromiseError):
                    outcome.broken.setdefault(promise.promise, promise.detail)
                else:
                    outcome.kept[promise] += 1
    except BrokenPromiseError as broken:
        outcome.broken.setdefault(broken.promise, broken.detail)
    except RefusedError:
        outcome.kept["refused with a reason"] += 1
    except Exception as error:  # a call that no promise watches, or the fuzzer itself
        import traceback

        place = traceback.extract_tb(error.__traceback__)[-1]
        told = f"{type(error).__name__}: {str(error)[:200]} ({place.filename}:{place.lineno})"
        outcome.broken["no other exceptions"] = told
    for promise in [promise for promise in outcome.broken if is_beyond(case, promise)]:
        del outcome.broken[promise]
        outcome.kept["beyond a documented limit"] += 1
    outcome.seconds = time.perf_counter() - began
    return outcome
