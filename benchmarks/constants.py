"""What constants of the searches trade: each at half its value, at its value, and doubled.

For a few constants that decide how much a search tries, small generated problems that one fit does
not solve reliably are fitted with several seeds. Reported are the costs relative to the best one
that any fit of the same problem found, how many fits come within a thousandth of it, and the
processor time of a fit. The page ``docs/explanation/constants.rst`` quotes these tables.
"""

import dataclasses
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np

from benchmarks.harness import Report
from polymeans import KhatriRaoKMeans, KMeans, NonRedundantKMeans
from polymeans.datasets import make_double_digits, make_khatri_rao, make_nonredundant
from polymeans.factorization import factorize, guaranteed_n_nonzeros, two_factors
from polymeans.factorization import pair_selection as pairs
from polymeans.search.grids import portfolio as grids
from polymeans.search.views import portfolio as views

FACTORS = (0.5, 1.0, 2.0)

#: Fits of each problem for each of the ``--repeats``.
SEEDS_PER_REPEAT = 3

#: A fit succeeds if its cost is at most this share above the best known one.
TOLERANCE = 1e-3


@dataclass(frozen=True)
class Problem:
    """A problem that is solved once for each seed; ``solve`` returns the cost."""

    name: str
    solve: Callable[[int], float]


@dataclass(frozen=True)
class Study:
    """Constants that are varied together, and the problems they are varied on."""

    title: str
    scaled: Callable[[float], Any]  #: context in which the constants are multiplied
    problems: Callable[[], list[Problem]]
    note: str = ""


def run(options: Any, report: Report) -> None:
    """All studies whose title contains ``--only``."""
    n_seeds = SEEDS_PER_REPEAT * options.repeats
    for study in STUDIES:
        if options.only.lower() in study.title.lower():
            rows = [row for p in study.problems() for row in _rows(study, p, n_seeds)]
            report.table(study.title, rows, study.note)


def _rows(study: Study, problem: Problem, n_seeds: int) -> list[dict[str, Any]]:
    """One row for each multiple; multiples take turns, so that drifts of the machine cancel."""
    problem.solve(n_seeds)  # compile
    costs: dict[float, list[float]] = {factor: [] for factor in FACTORS}
    seconds: dict[float, list[float]] = {factor: [] for factor in FACTORS}
    for seed in range(n_seeds):
        for factor in FACTORS:
            with study.scaled(factor):
                began = time.process_time()
                costs[factor].append(problem.solve(seed))
                seconds[factor].append(time.process_time() - began)
    best = min(min(values) for values in costs.values())
    return [
        {
            "problem": problem.name,
            "constant x": factor,
            "mean": statistics.mean(costs[factor]) / best,
            "worst": max(costs[factor]) / best,
            "best found": f"{sum(c <= (1 + TOLERANCE) * best for c in costs[factor])}/{n_seeds}",
            "CPU seconds": statistics.mean(seconds[factor]),
        }
        for factor in FACTORS
    ]


@contextmanager
def replaced(module: ModuleType, **values: Any) -> Iterator[None]:
    """Other values for names of a module, inside the context."""
    before = {name: getattr(module, name) for name in values}
    for name, value in values.items():
        setattr(module, name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(module, name, value)


def multiplied(module: ModuleType, *names: str) -> Callable[[float], Any]:
    """Constants of a module times a factor; whole numbers stay whole and at least 1."""

    def scaled(factor: float) -> Any:
        return replaced(module, **{name: _times(getattr(module, name), factor) for name in names})

    return scaled


def _times(value: Any, factor: float) -> Any:
    if isinstance(value, tuple):
        return tuple(_times(part, factor) for part in value)
    return max(1, round(value * factor)) if isinstance(value, int) else value * factor


# --- grids of protocentroids -----------------------------------------------------------------


def planned(*names: str) -> Callable[[float], Any]:
    """Fields of the plan of a search times a factor."""

    def scaled(factor: float) -> Any:
        make_plan = grids.make_plan

        def changed(*arguments: Any) -> Any:
            plan = make_plan(*arguments)
            return dataclasses.replace(
                plan, **{name: _times(getattr(plan, name), factor) for name in names}
            )

        return replaced(grids, make_plan=changed)

    return scaled


def _grid_problems() -> list[Problem]:
    problems = []
    for aggregator, sizes in (("sum", (5, 5)), ("product", (4, 6))):
        X = make_khatri_rao(
            500, sizes, aggregator=aggregator, interaction=0.3, spread=1.0, random_state=0
        )[0]

        def solve(seed: int, X: Any = X, sizes: Any = sizes, aggregator: str = aggregator) -> float:
            model = KhatriRaoKMeans(sizes, aggregator=aggregator, random_state=seed)
            return float(model.fit(X).inertia_)

        problems.append(Problem(f"{aggregator} {sizes[0]} x {sizes[1]}", solve))
    return problems


# --- several clusterings ---------------------------------------------------------------------


def _view_problems() -> list[Problem]:
    """Clusters that overlap, beside many directions of noise."""
    return [_views((3, 4, 5), 1.0, 30), _views((3, 3, 4, 6, 2), 2.0, 20)]


def _views(sizes: tuple[int, ...], center_scale: float, n_noise: int) -> Problem:
    X = make_nonredundant(
        500,
        sizes,
        n_noise=n_noise,
        separation=None,
        center_scale=center_scale,
        random_state=0,
    )[0]

    def solve(seed: int) -> float:
        return float(NonRedundantKMeans(sizes, random_state=seed).fit(X).inertia_)

    return Problem(f"views {sizes}", solve)


# --- sparse factors --------------------------------------------------------------------------


def _factor_problems() -> list[Problem]:
    problems = []
    X = make_double_digits(3000, random_state=0)[0]
    for k, level in ((32, 3), (48, 4)):
        model = KMeans(k, random_state=0).fit(X)
        target = np.asarray(model.cluster_centers_, dtype=np.float64)
        weights = np.bincount(model.labels_, minlength=k).astype(float)
        n_nonzeros = guaranteed_n_nonzeros(target, level)

        def solve(
            seed: int, target: Any = target, weights: Any = weights, n_nonzeros: int = n_nonzeros
        ) -> float:
            found = factorize(target, n_nonzeros=n_nonzeros, weights=weights, random_state=seed)
            return float(found.errors[-1])

        problems.append(Problem(f"{k} x {X.shape[1]}, {n_nonzeros} non-zeros", solve))
    return problems


STUDIES = (
    Study("grids: starts and survivors", planned("n_starts", "n_kept"), _grid_problems),
    Study("grids: passes for moves", planned("budget"), _grid_problems),
    Study("views: batches of starts", multiplied(views, "_BATCHES"), _view_problems),
    Study("views: failed perturbations", multiplied(views, "_PATIENCE"), _view_problems),
    Study(
        "factors: rounds",
        multiplied(two_factors, "_TRIAL_ROUNDS", "_FINAL_ROUNDS"),
        _factor_problems,
        "squared errors; supports are so many that hardly any two fits end in the same ones",
    ),
    Study(
        "factors: share of new entries",
        multiplied(two_factors, "_FINAL_SHARES"),
        _factor_problems,
    ),
    Study(
        "factors: share of the budget that changes sides",
        multiplied(pairs, "_MAX_TRANSFER"),
        _factor_problems,
    ),
)
