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


_UNIT = "one unit for all rows: what is far below the largest value is lost"
_WEIGHTS = "weights of very unlike size make NaN, and NaN makes labels of -1"
_EDGE = "values at the edge of the floating-point range"
_CANCELS = "scores of CSR rows are differences of products"

KNOWN_RED: tuple[Known, ...] = (
    Known(_UNIT, "a huge row changes no other label"),
    Known(_UNIT, "rows without weight change nothing"),
    Known(_UNIT, trait="outlier row"),
    Known(_UNIT, trait="outlier entry"),
    Known(_UNIT, trait="huge column"),
    Known(_UNIT, trait="row scales"),
    Known(_UNIT, trait="mixed scales"),
    Known(_UNIT, trait="column scales"),
    Known(_WEIGHTS, trait="wide weights"),
    Known(_EDGE, trait="denormal"),
    Known(_EDGE, trait="largest"),
    Known(_EDGE, trait="huge"),
    Known(_EDGE, trait="tiny"),
    Known(_EDGE, area="Transformed", trait="scaled"),
    Known(_EDGE, area="KhatriRao product", trait="scaled"),
    Known(_EDGE, area="label_features", trait="scaled"),
    Known(_CANCELS, "sparse labels are nearest to the last digit"),
    Known(_CANCELS, "sparse inertia agrees to the last digit"),
    Known("transform is less careful than predict", "distances are accurate"),
    Known("the byte order hides float32", "float32 stays float32", trait="big-endian"),
    Known("polars frames become float64", "float32 stays float32", trait="polars"),
    Known("means are float64", "float32 stays float32", area="Transformed"),
)


def is_known(case: Case, promise: str) -> bool:
    """Whether a problem that breaks this promise is expected to."""
    return any(
        known.promise in ("", promise)
        and known.area in ("", case.area)
        and (not known.trait or known.trait in case.traits)
        for known in KNOWN_RED
    )
