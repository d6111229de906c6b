"""Non-redundant k-means beside ClustPy: quality and time of fits, choice of views, growth.

ClustPy is not in the ``bench`` extra, since it would bring gigabytes along that are not needed
here: ``pip install --no-deps clustpy``. Its time depends much on the number of BLAS threads, so a
short fit is run with one and with all, and it gets the better. Costs are measured anew from
everybody's labels and subspaces, by one formula; what a package itself says stands beside.

Parts are chosen with ``--only``: "fits", "auto", "growth", the name of a data set, or both
("fits fruit"). Cases whose file is not in ``--data`` are named and left out.
"""

import json
import statistics
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import normalized_mutual_info_score

from benchmarks import nonredundant_growth, peers
from benchmarks.harness import MissingRequirementError, Report, in_new_process
from benchmarks.nonredundant_data import CASES, HIDDEN, Case, Hidden, shown, whitened
from polymeans import NonRedundantKMeans
from polymeans.datasets import make_nonredundant
from polymeans.metrics import (
    average_variation_of_information,
    labelings_confusion,
    pair_f1_score,
)

HIT = 1e-3  #: relative distance to the best known cost
THOROUGH = 4.0  #: effort of the run that helps to know the best cost
PEER_SEEDS = 10  #: at most, as far as the patience goes
AUTO_SEEDS, AUTO_PEER_SEEDS = 10, 3


def run(options: Any, report: Report) -> None:
    """All three parts. ``--repeats``, where given, is the number of seeds of ours."""
    peers.nrkmeans(np.zeros((2, 1)), (2,))  # so that a missing package is noticed at once
    given = options.repeats if options.repeats != 3 else None
    cases = _found(CASES, options, lambda case: case.make(options.data))
    hidden = _found(HIDDEN, options, lambda case: case.make(options.data, 0))
    _compile()
    if cases:
        _fits(cases, options, report, given)
    if hidden:
        _auto(hidden, options, report, given or AUTO_SEEDS)
    nonredundant_growth.run(options, report)
    if not report.tables:
        raise MissingRequirementError(f"nothing to run for --only {options.only!r}.")


def _found(cases: list, options: Any, make: Callable) -> list:
    """Cases that were asked for and whose data is there; others are named before time is spent."""
    found = []
    for case in cases:
        if options.only.lower() not in case.title.lower():
            continue
        try:
            make(case)
        except MissingRequirementError as missing:
            print(f"left out: {case.title}: {missing}\n", flush=True)
            continue
        found.append(case)
    return found


def _compile() -> None:
    """Fits of the kinds to be timed, on few rows."""
    X = make_nonredundant(200, (3, 3), random_state=0)[0]
    for init in ("search", "random"):
        NonRedundantKMeans((3, 3), init=init, random_state=0).fit(X)


# --- fits ------------------------------------------------------------------------------------


@dataclass
class Fit:
    """What one seed gave: labels in views, cost by our formula and by the package's own."""

    labels: np.ndarray
    cost: float
    reported: float


@dataclass
class Entrant:
    """Somebody who fits the case, seed after seed."""

    name: str
    fit: Callable[[int], Fit | None]  #: None: it failed
    n_seeds: int
    patience: float = inf
    fits: list[Fit] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    def wants_another(self) -> bool:
        """Whether seeds are left, and by experience the time for one more."""
        done = len(self.seconds)
        if done == 0:
            return self.n_seeds > 0
        return done < self.n_seeds and sum(self.seconds) * (1 + 1 / done) <= self.patience

    def take_turn(self) -> None:
        """Fit with the next seed."""
        began = time.perf_counter()
        fit = self.fit(len(self.seconds))
        self.seconds.append(time.perf_counter() - began)
        if fit is not None:
            self.fits.append(fit)


def cost(X: np.ndarray, labels: np.ndarray, bases: list[np.ndarray]) -> float:
    """Scatter about the centers within each view's subspace, plus that outside of all of them.

    As a share of the whole scatter: that does not depend on how whitened rows are scaled.
    """
    centered = X - X.mean(axis=0)
    total = rest = float(np.square(centered).sum())
    for column, basis in zip(labels.T, bases):
        inside = centered @ basis
        about = inside.copy()
        for label in np.unique(column):
            about[column == label] -= inside[column == label].mean(axis=0)
        rest += float(np.square(about).sum() - np.square(inside).sum())
    return rest / total


def _our_fit(X: np.ndarray, case: Case, total: float, seed: int, **parameters: Any) -> Fit:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = NonRedundantKMeans(
            case.sizes, whiten=case.whiten or False, random_state=seed, **parameters
        ).fit(X)
    rows = X if case.whiten is None else (X - model.mean_) @ model.whitening_
    bases = np.split(model.rotation_, np.cumsum(model.n_dims_)[:-1], axis=1)
    labels = model.labels_per_view_
    return Fit(labels, total * cost(rows, labels, bases), float(model.inertia_))


def _peer_fit(
    rows: np.ndarray, case: Case, total: float, n_init: int, threads: int, seed: int
) -> Fit | None:
    contender = peers.nrkmeans(rows, case.sizes, seed=seed, n_init=n_init, threads=threads)
    outcome = contender.run(300)
    if "error" in outcome:
        print(f"  {case.title}: {contender.name}, seed {seed} failed: {outcome['error']}")
        return None
    labels = outcome["labels"]
    views = labels[:, labels.max(axis=0) > 0]  # without the noise space
    return Fit(views, total * cost(rows, labels, outcome["bases"]), outcome["inertia"])


def _fits(cases: list[Case], options: Any, report: Report, n_seeds: int | None) -> None:
    costs, agreement = [], []
    for case in cases:
        X, y = case.make(options.data)
        rows = whitened(X, case.whiten) if case.whiten else X
        total = float(np.square(rows - rows.mean(axis=0)).sum())
        threads = peers.nrkmeans_threads(rows, case.sizes)
        entrants = _entrants(case, X, rows, total, threads, n_seeds, options.patience)
        while any(entrant.wants_another() for entrant in entrants):
            for entrant in filter(Entrant.wants_another, entrants):
                entrant.take_turn()
        thorough = _our_fit(X, case, total, 1000, effort=THOROUGH).cost
        best = min([thorough, *(fit.cost for entrant in entrants for fit in entrant.fits)])
        first = entrants[0]
        for entrant in entrants:
            costs.append(_cost_row(case, entrant, best, first, threads))
            if entrant.fits:
                agreement.append(_agreement_row(case, entrant, y))
            print(
                f"  {case.title}: {entrant.name}: {costs[-1]['hits']} hits, "
                f"{costs[-1]['seconds']:.3g} s",
                flush=True,
            )
    print()
    report.table(
        "fits: cost, hits and time",
        costs,
        f"cost: the best seed's, by one formula for all; reported: that fit's own figure; hits: "
        f"seeds within {HIT:g} of the best cost seen by anyone, an effort={THOROUGH:g} run of ours "
        "included; lost: fits with fewer clusters or views than asked for; seconds: ours median, "
        "others best; times: over our default fit; threads: BLAS threads ClustPy is faster with",
    )
    report.table(
        "fits: agreement with the labels",
        agreement,
        "medians over seeds; NMI of views: of each known labeling with its partner (0 without "
        "one); worst: lowest of any labeling in any seed; joint: of the combinations of all "
        "labels; papers: pair F1/VI",
    )


def _entrants(
    case: Case,
    X: np.ndarray,
    rows: np.ndarray,
    total: float,
    threads: int,
    n_seeds: int | None,
    patience: float,
) -> list[Entrant]:
    seeds = n_seeds or case.n_seeds
    ours = partial(_our_fit, X, case, total)
    entrants = [
        Entrant("polymeans", lambda seed: ours(seed), seeds),
        Entrant(
            "polymeans, 10 random starts", lambda seed: ours(seed, init="random", n_init=10), seeds
        ),
    ]
    for n_init in case.peer_inits:
        name = peers.nrkmeans(rows, case.sizes, n_init=n_init).name
        fit = partial(_peer_fit, rows, case, total, n_init, threads)
        entrants.append(Entrant(name, fit, min(PEER_SEEDS, seeds), patience))
    return entrants


def _cost_row(
    case: Case, entrant: Entrant, best: float, ours: Entrant, threads: int
) -> dict[str, Any]:
    is_ours = entrant.name.startswith("polymeans")
    seconds = statistics.median(entrant.seconds) if is_ours else min(entrant.seconds)
    lowest = min(entrant.fits, key=lambda fit: fit.cost, default=None)
    costs = [fit.cost for fit in entrant.fits]
    hits = sum(value <= best * (1 + HIT) for value in costs)
    return {
        "": case.name,
        "sizes": shown(case.sizes),
        "by": entrant.name,
        "cost": f"{lowest.cost:.6g}" if lowest else "failed",
        "reported": f"{lowest.reported:.6g}" if lowest else "",
        "best/known": f"{min(costs) / best:.4f}" if costs else "",
        "worst/known": f"{max(costs) / best:.4f}" if costs else "",
        "hits": f"{hits}/{len(entrant.seconds)}",
        "lost": sum(_has_lost(fit, case.sizes) for fit in entrant.fits),
        "failed": len(entrant.seconds) - len(entrant.fits),
        "seconds": seconds,
        "times": seconds / statistics.median(ours.seconds),
        "threads": "" if is_ours else threads,
    }


def _has_lost(fit: Fit, sizes: tuple[int, ...]) -> bool:
    found = sorted(len(np.unique(column)) for column in fit.labels.T)
    return found != sorted(sizes)


def _agreement_row(case: Case, entrant: Entrant, y: np.ndarray) -> dict[str, Any]:
    views = np.array([_nmi_of_views(y, fit.labels) for fit in entrant.fits])
    return {
        "": case.name,
        "sizes": shown(case.sizes),
        "by": entrant.name,
        "seeds": len(entrant.fits),
        "pair F1": _median(pair_f1_score(y, fit.labels) for fit in entrant.fits),
        "VI": _median(_variation(fit.labels) for fit in entrant.fits),
        "NMI of views": " ".join(f"{value:.2f}" for value in np.median(views, axis=0)),
        "lowest": f"{np.median(views.min(axis=1)):.3f}",
        "worst": f"{views.min():.3f}",
        "joint": _median(_joint_nmi(y, fit.labels) for fit in entrant.fits),
        "original": case.original,
        "re-implementation": case.reimplementation,
    }


def _median(values: Iterator[float]) -> str:
    return f"{statistics.median(values):.3f}"


def _nmi_of_views(y: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """For each known labeling the NMI of its partner; 0 for those that have none."""
    scores = np.zeros(y.shape[1])
    confusion = labelings_confusion(y, labels)
    scores[confusion.true_columns] = confusion.matched
    return scores


def _variation(labels: np.ndarray) -> float:
    return average_variation_of_information(labels) if labels.shape[1] > 1 else 0.0


def _joint_nmi(y: np.ndarray, labels: np.ndarray) -> float:
    true, found = (np.unique(part, axis=0, return_inverse=True)[1].ravel() for part in (y, labels))
    return float(normalized_mutual_info_score(true, found))


# --- numbers of views and clusters -------------------------------------------------------------

_AUTONR = """
import json, time
from pathlib import Path
from benchmarks import peers
from benchmarks.nonredundant_data import hidden
name, folder, seed, threads = {arguments!r}
X = hidden(name).make(folder and Path(folder), seed)
began = time.perf_counter()
found = peers.autonr(X, seed=seed, threads=threads)
print(json.dumps([found, time.perf_counter() - began]))
"""


@dataclass
class Answers:
    """Sorted numbers of clusters for each seed, and how long it took to find them."""

    found: list[tuple[int, ...]] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    n_warned: int = 0
    trouble: str = ""  #: why there are not more of them

    def most_frequent(self) -> str:
        """What was found by most seeds."""
        return shown(Counter(self.found).most_common(1)[0][0]) if self.found else "-"


def _auto(cases: list[Hidden], options: Any, report: Report, n_seeds: int) -> None:
    rows = []
    for case in cases:
        ours, theirs = Answers(), Answers()
        threads = peers.nrkmeans_threads(case.make(options.data, 0), (3, 3))
        for seed in range(n_seeds):  # in turns
            _ask_ours(ours, case, options.data, seed)
            if seed < AUTO_PEER_SEEDS and not theirs.trouble:
                _ask_autonr(theirs, case, options, seed, threads)
        rows += [
            _answer_row(case, "polymeans", ours, statistics.median),
            _answer_row(case, "AutoNR", theirs, min),
        ]
        print(
            f"  {case.title}: {rows[-2]['exact']} exact, {rows[-2]['seconds']:.3g} s; "
            f"AutoNR {rows[-1]['exact']} {rows[-1]['note']}",
            flush=True,
        )
    print()
    report.table(
        "auto: numbers of views and clusters",
        rows,
        "exact: seeds that found the numbers expected, in any order; made and noise data are drawn "
        "anew for each seed; seconds: ours median, AutoNR best",
    )


@contextmanager
def _counting_warnings(answers: Answers) -> Iterator[None]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    answers.n_warned += bool(caught)


def _ask_ours(answers: Answers, case: Hidden, folder: Path | None, seed: int) -> None:
    X = case.make(folder, seed)
    began = time.perf_counter()
    with _counting_warnings(answers):
        model = NonRedundantKMeans("auto", resolution=case.resolution, random_state=seed).fit(X)
    answers.seconds.append(time.perf_counter() - began)
    answers.found.append(tuple(sorted(model.n_clusters_)))


def _ask_autonr(answers: Answers, case: Hidden, options: Any, seed: int, threads: int) -> None:
    """In a process of its own, which can be stopped when all its patience is used up."""
    folder = str(options.data) if options.data else None
    code = _AUTONR.format(arguments=(case.name, folder, seed, threads))
    left = options.patience - sum(answers.seconds)
    if answers.seconds and answers.seconds[-1] > left:
        answers.trouble = "no time for more seeds"
        return
    try:
        answer = in_new_process(code, left)
    except RuntimeError as error:
        answers.trouble = "failed: " + str(error).strip().splitlines()[-1]
        return
    if not answer:
        answers.trouble = f"not finished in {left:.0f} s"
        return
    found, seconds = json.loads(answer.splitlines()[-1])
    answers.found.append(tuple(sorted(found)))
    answers.seconds.append(seconds)


def _answer_row(case: Hidden, by: str, answers: Answers, summary: Callable) -> dict[str, Any]:
    exact = sum(found == tuple(sorted(case.sizes)) for found in answers.found)
    return {
        "": case.name,
        "resolution": case.resolution if by == "polymeans" else "",
        "expected": case.expected,
        "by": by,
        "exact": f"{exact}/{len(answers.found)}",
        "most frequent": answers.most_frequent(),
        "warned": answers.n_warned if by == "polymeans" else "",
        "seconds": summary(answers.seconds) if answers.seconds else "",
        "note": answers.trouble,
    }
