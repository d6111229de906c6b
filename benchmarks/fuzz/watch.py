"""What a call may not do: print, warn without need, change its input, fail without a reason."""

import contextlib
import io
import warnings
from collections.abc import Iterator

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from benchmarks.fuzz.case import BrokenPromiseError, require

#: Beginnings of warnings that are documented, apart from ConvergenceWarning.
DOCUMENTED = (
    "Explicit initial center position passed",
    "A view has one large cluster",
    "n_components=",
    "sparsity_level=",
)

#: Beginnings of refusals that depend on the rows in a documented way.
LIMITS = (
    "whiten=",
    "kernel=",
    "A matrix of ",
    "Values of X (and of a given start) range",
    "init has protocentroids",
    "Protocentroids (or their products) of these rows",
    "Centers of the views of these rows",
    "Factored centroids of these rows",
    "Rows of sample_weight 0 have values up to",
)


def _numpy_warns() -> np.errstate:
    """numpy's own settings: slow versions of the fuzzer run without its warnings."""
    return np.errstate(divide="warn", over="warn", invalid="warn", under="ignore")


class RefusedError(Exception):
    """A call that the library declined with a reason."""


@contextlib.contextmanager
def watched(refusable: bool, *documented: str) -> Iterator[None]:
    """Run a call of the library and judge its manners.

    Parameters
    ----------
    refusable : bool
        Whether a ValueError or TypeError with a reason is an acceptable outcome; it becomes
        ``RefusedError``.
    *documented : str
        Beginnings of further warnings that are part of this call's contract.
    """
    out, err = io.StringIO(), io.StringIO()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), _numpy_warns():
            try:
                yield
            except BrokenPromiseError:
                raise
            except (ValueError, TypeError) as error:
                if not refusable and not str(error).startswith(LIMITS):
                    raise BrokenPromiseError("accepts finite rows", _told(error)) from error
                if len(str(error)) < 12:
                    raise BrokenPromiseError("errors have a reason", _told(error)) from error
                raise RefusedError(str(error)) from error
            except Exception as error:
                raise BrokenPromiseError("no other exceptions", _told(error)) from error
    for warning in caught:
        known = issubclass(warning.category, ConvergenceWarning) or str(warning.message).startswith(
            DOCUMENTED + documented
        )
        require(
            known,
            "no undocumented warnings",
            f"{warning.category.__name__}: {warning.message} "
            f"({warning.filename.rsplit('/', 1)[-1]}:{warning.lineno})",
        )
    # Lines of the log are what ``verbose`` asks for.
    lines = out.getvalue().splitlines()
    lines += [line for line in err.getvalue().splitlines() if not line.startswith("polymeans: ")]
    require(not lines, "nothing is printed", " ".join(lines)[:200])


def _told(error: BaseException) -> str:
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    where = ""
    if place is not None:
        file = place.tb_frame.f_code.co_filename.rsplit("/", 1)[-1]
        where = f" ({file}:{place.tb_lineno})"
    return f"{type(error).__name__}: {str(error)[:200]}{where}"
