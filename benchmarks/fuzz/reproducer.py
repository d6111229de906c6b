"""A failure as a few lines of Python."""

from typing import Any

import numpy as np

from benchmarks.fuzz.case import Case
from benchmarks.fuzz.estimators import AREAS

#: Numbers that may be written out; beyond, the problem is made anew from seed and number.
_LARGEST = 150


#: How promises that take more than a fit are shown.
_SHOWN = {
    "a huge row changes no other label": [
        "from scipy.sparse import csr_array, issparse",
        "rows = X.toarray() if issparse(X) else np.asarray(X)",
        "far = np.full_like(rows[:1], 1e300 if rows.dtype == 'float64' else 1e37)",
        "more = np.vstack([rows, far])",
        "print(model.predict(csr_array(more) if issparse(X) else more)[:-1])",
    ],
    "distances are accurate": ["print(model.transform(X))"],
    "no NaN": ["print(vars(model), model.transform(X), model.distances(X))"],
    "attributes are finite": ["print(vars(model), model.transform(X))"],
    "same bits for any threads": [
        "others = [model.set_params(n_threads=n).fit(X) for n in (1, 2, 3)]",
    ],
}


def reproducer(case: Case, promise: str, detail: str) -> str:
    """Lines that show the problem.

    Parameters
    ----------
    case : Case
        Best a shrunk one.
    promise, detail : str
        What was broken, and what was seen.

    Returns
    -------
    str
        Valid Python.
    """
    head = [f"# {case.area}, {promise}: {detail}".replace("\n", " ")]
    if case.area not in AREAS or case.X.size > _LARGEST:
        return "\n".join([*head, *_from_number(case)])
    lines = [
        "import numpy as np",
        f"from polymeans import {AREAS[case.area][1]}",
        "from benchmarks.fuzz.containers import wrap",
        "nan, inf = np.nan, np.inf",
        f"X = wrap({_written(case.X)}, {case.container!r})",
    ]
    if any(callable(value) for value in case.params.values()):
        lines.append("from benchmarks.fuzz.estimators import some_rows")
    given = ", ".join(f"{name}={_written(value)}" for name, value in case.params.items())
    weights = "" if case.weights is None else f", sample_weight={_written(case.weights)}"
    lines.append(f"model = {AREAS[case.area][1]}({given}).fit(X{weights})")
    lines.append("print(model.labels_, model.predict(X), model.inertia_, model.score(X))")
    lines += _SHOWN.get(promise, [])
    lines.append(f"# seed {case.seed}, problem {case.number}; checks: {sorted(case.checks)}")
    return "\n".join([*head, *lines])


def _from_number(case: Case) -> list[str]:
    return [
        "from benchmarks.fuzz.areas import make_case",
        "from benchmarks.fuzz.judge import judge",
        f"print(judge(make_case({case.seed}, {case.number})))",
    ]


def _written(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"np.array({value.tolist()!r}, {value.dtype.name!r})"
    if isinstance(value, list):
        return "[" + ", ".join(map(_written, value)) + "]"
    return value.__name__ if callable(value) else repr(value)
