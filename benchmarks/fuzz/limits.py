"""What the README's footnotes leave out of its guarantees: counted apart, not as failures."""

from dataclasses import dataclass

from benchmarks.fuzz.case import Case


@dataclass(frozen=True)
class Limit:
    """Problems for which a promise is not made; an empty field stands for anything.

    Parameters
    ----------
    why : str
        What the documentation says.
    promises : tuple of str
    area : str
    trait : str
        One of the problem's traits.
    """

    why: str
    promises: tuple[str, ...]
    area: str = ""
    trait: str = ""


#: Labels and inertia belong to the centroids before these are rounded to the grid of subnormal
#: numbers, which no unit can refine.
_DIGITS = (
    "distances are accurate",
    "inertia agrees",
    "labels are nearest",
    "lowest index among equal centroids",
    "predict gives labels_",
    "score is minus inertia",
    "a label depends on its row alone",
    "a huge row changes no other label",
    "fast labels are those of few rows",
    "sparse inertia agrees to the last digit",
    "sparse labels are nearest to the last digit",
    "weights are repetitions",
)

LIMITS: tuple[Limit, ...] = (
    Limit("subnormal numbers are rounded after labels were found", _DIGITS, trait="denormal"),
)


def is_beyond(case: Case, promise: str) -> bool:
    """Whether a promise is not made for a problem."""
    return any(
        promise in limit.promises
        and limit.area in ("", case.area)
        and (not limit.trait or limit.trait in case.traits)
        for limit in LIMITS
    )
