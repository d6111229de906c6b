"""Failures that are known and not mended yet.

The fuzzer reports them like all others. The slice of it among the tests leaves them out, so each
entry has to go when its defect is mended; in the end the table is empty.
"""

from dataclasses import dataclass

from benchmarks.fuzz.case import Case


@dataclass(frozen=True)
class Known:
    """Problems that break a promise; an empty field stands for anything.

    Parameters
    ----------
    why : str
        The defect.
    promise, area : str
    trait : str
        One of the problem's traits.
    """

    why: str
    promise: str = ""
    area: str = ""
    trait: str = ""


#: Nothing is known to fail.
KNOWN_RED: tuple[Known, ...] = ()


def is_known(case: Case, promise: str) -> bool:
    """Whether a problem that breaks this promise is expected to."""
    return any(
        known.promise in ("", promise)
        and known.area in ("", case.area)
        and (not known.trait or known.trait in case.traits)
        for known in KNOWN_RED
    )
