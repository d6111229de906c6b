"""Promises of estimators, each checked against something slow and independent."""

from collections.abc import Iterator

from benchmarks.fuzz.case import BrokenPromiseError, Case, require
from benchmarks.fuzz.containers import fingerprint, wrap
from benchmarks.fuzz.estimators import make
from benchmarks.fuzz.promises import of_equal_fits, of_every_fit, of_fitted_models
from benchmarks.fuzz.promises.problems import representable
from benchmarks.fuzz.watch import RefusedError, watched

#: Checked after each fit.
_ALWAYS = (
    of_every_fit.finite,
    of_every_fit.dtypes,
    of_every_fit.labels,
    of_every_fit.inertia,
    of_every_fit.predicts,
    of_every_fit.scores,
)

#: Checked where a problem asks for them.
_BY_NAME = {
    "threads": of_equal_fits.threads,
    "algorithms": of_equal_fits.algorithms,
    "shuffle": of_equal_fits.shuffle,
    "zero weights": of_equal_fits.zero_weights,
    "repeated rows": of_equal_fits.repeated_rows,
    "row by row": of_fitted_models.row_by_row,
    "many rows": of_fitted_models.many_rows,
    "huge row": of_fitted_models.huge_row,
    "transform": of_fitted_models.transform,
    "pickle": of_fitted_models.pickled,
    "failed fit": of_fitted_models.failed_fit,
    "damaged": of_fitted_models.damaged_rows,
    "blocks": of_equal_fits.blocks,
}


def check(case: Case) -> Iterator[str | BrokenPromiseError]:
    """Fit, and check everything the problem asks for.

    Yields a name for each promise kept. Broken ones are yielded as errors: promises do not depend
    on each other, and one defect should not hide the next.
    """
    X = wrap(case.X, case.container)
    before = fingerprint(X)
    weights = None if case.weights is None else case.weights.copy()
    model = make(case.area, case.params)
    with watched(refusable=not representable(case)):
        model.fit(X, sample_weight=weights)
    yield "manners"
    yield require(fingerprint(X) == before, "input is unchanged", "rows differ after fit")
    if weights is not None:
        same = weights.tobytes() == case.weights.tobytes()
        yield require(same, "input is unchanged", "weights differ after fit")
    asked = [promise for name, promise in _BY_NAME.items() if name in case.checks]
    for promise in (*_ALWAYS, *asked):
        try:
            yield from promise(case, model, X)
        except BrokenPromiseError as broken:
            yield broken


__all__ = ["RefusedError", "check", "representable"]
