"""Sparse factors of k-means centroids beside pyfaust, the reference implementation of palm4MSA.

Everybody has one thread and gets the same matrix; all take turns, our median is compared with the
best of pyfaust. pyfaust goes first and sets the budget: nobody of ours may have more non-zeros than
the hierarchical method left there, and palm4MSA no more than pyfaust's palm4MSA. Rows of the matrix
count alike, since pyfaust knows no weights.
"""

import contextlib
import os
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmarks.data import load
from benchmarks.harness import MissingRequirementError, Report
from benchmarks.record import version
from polymeans import KMeans

K = 64  #: centroids
N_ROWS = 20000  #: of the data, at most
PER_COLUMN = 5  #: of pyfaust's right factor, and per row and column of the others
SWEEPS = 100  #: of palm4MSA from the default start
LEAST_GAIN, LEAST_SPEED = 4.0, 2.0  #: wanted of factorize, over hierarchical palm4MSA of pyfaust
CASES = {"mnist": 1.0, "fashion_mnist": 1.0, "coil20": 255.0}  #: files, and what to divide by


@dataclass
class Centroids:
    """A matrix to factorize, and what k-means says about it."""

    target: np.ndarray
    counts: np.ndarray
    inertia: float

    def excess(self, product: np.ndarray) -> float:
        """By how much the inertia grows at the same labels, as a share of it."""
        return float(self.counts @ ((self.target - product) ** 2).sum(axis=1) / self.inertia)

    def relative_error(self, product: np.ndarray) -> float:
        """In the Frobenius norm."""
        return float(np.linalg.norm(self.target - product) / np.linalg.norm(self.target))


@dataclass(eq=False)
class Contender:
    """Somebody who factorizes, and what came of it."""

    name: str
    run: Callable[[], tuple[int, int, np.ndarray]]  #: factors, non-zeros, product
    pyfaust: bool = False
    n_factors: int = 0
    n_nonzeros: int = 0
    product: np.ndarray | None = None
    times: list[float] = field(default_factory=list)

    def measure(self) -> None:
        """Once more."""
        began = time.perf_counter()
        self.n_factors, self.n_nonzeros, self.product = self.run()
        self.times.append(time.perf_counter() - began)

    @property
    def seconds(self) -> float:
        """Best of pyfaust, median of ours."""
        return min(self.times) if self.pyfaust else statistics.median(self.times)


def run(options: Any, report: Report) -> None:
    """All data sets whose name contains ``--only``."""
    _import_pyfaust()
    names = [name for name in CASES if options.only in name]
    if not names:
        raise MissingRequirementError(f"nothing to run for --only {options.only!r}.")
    centroids = {name: _centroids(options, name) for name in names}
    _compile()
    summary = []
    for name in names:
        summary += _case(name, centroids[name], options, report)
    report.table(
        "wanted",
        summary,
        "gain: squared error of the peer over ours; faster: its seconds over ours",
    )


def _centroids(options: Any, name: str) -> Centroids:
    X = load(options.data, name)["X"][:N_ROWS] / CASES[name]
    model = KMeans(K, random_state=0).fit(X)
    counts = np.bincount(model.labels_, minlength=K)
    return Centroids(np.asarray(model.cluster_centers_, np.float64), counts, model.inertia_)


def _compile() -> None:
    """Everything once, on little."""
    from polymeans.factorization import factorize, hierarchical_palm4msa, palm4msa, prune_and_grow

    target = np.random.default_rng(0).normal(size=(16, 40))
    palm4msa(target, sparsity_level=2, max_iter=3)
    rough = hierarchical_palm4msa(target, sparsity_level=2, max_iter=3)
    prune_and_grow(target, rough.factors, rough.nnz, n_rounds=2)
    factorize(target, n_nonzeros=300, random_state=0, n_threads=1)


# --- one matrix ------------------------------------------------------------------------------

BACKENDS = (2016, 2020)  #: of pyfaust: two implementations of the same
HIERARCHICAL, FLAT = "hierarchical palm4MSA", "palm4MSA"


def _case(name: str, given: Centroids, options: Any, report: Report) -> list[dict[str, Any]]:
    """Table of one matrix; rows of the summary."""
    from polymeans.factorization import (
        factorize,
        hierarchical_palm4msa,
        palm4msa,
        prune_and_grow,
    )

    target = given.target
    peers = [_pyfaust_hierarchical(target, backend) for backend in BACKENDS]
    flat_peers = [_pyfaust_flat(target, backend) for backend in BACKENDS]
    for peer in peers + flat_peers:
        peer.measure()
    budget, flat_budget = _fewest(peers), _fewest(flat_peers)

    def ours(label: str, method: Callable[[], Any]) -> Contender:
        def once() -> tuple[int, int, np.ndarray]:
            found = method()
            return len(found.factors), found.nnz, found.toarray()

        return Contender("ours: " + label, once)

    def within(limit: int, method: Callable[..., Any], **arguments: Any) -> Callable[[], Any]:
        """The method with the largest sparsity level that leaves no more than the limit."""
        level = 2 * PER_COLUMN
        while level > 1 and method(target, sparsity_level=level, **arguments).nnz > limit:
            level -= 1
        return lambda: method(target, sparsity_level=level, **arguments)

    def grown() -> Any:
        rough = hierarchical_palm4msa(target, sparsity_level=PER_COLUMN - 1, max_iter=20)
        return prune_and_grow(target, rough.factors, budget)

    def two(effort: float) -> Callable[[], Any]:
        return lambda: factorize(
            target, n_nonzeros=budget, effort=effort, random_state=0, n_threads=1
        )

    chosen = ours("factorize", two(1.0))
    hierarchical = ours(HIERARCHICAL, within(budget, hierarchical_palm4msa))
    published = within(budget, hierarchical_palm4msa, step="lipschitz")
    flat = ours(FLAT, within(flat_budget, palm4msa, max_iter=SWEEPS))
    deep = [
        *peers,
        ours(HIERARCHICAL + ", published step", published),
        hierarchical,
        ours(HIERARCHICAL + ", then prune and grow", grown),
        ours("factorize, a third of the effort", two(1 / 3)),
        chosen,
    ]
    everybody = [*deep, *flat_peers, flat]
    for turn in range(max(1, options.repeats)):
        for one in everybody:
            if turn or not one.times:
                one.measure()
    report.table(
        f"{name}: {target.shape[0]} x {target.shape[1]}, {target.size} entries",
        [_row(one, given, peers if one in deep else flat_peers) for one in everybody],
        f"gain, faster: over the better of pyfaust's two ({version('pyfaust')}) of the same kind; "
        f"{FLAT}: {SWEEPS} sweeps from the default start; excess: growth of k-means' inertia",
    )
    wanted = [
        (chosen, peers, LEAST_GAIN, LEAST_SPEED),
        (hierarchical, peers, 1.0, None),
        (flat, flat_peers, 1.0, None),
    ]
    return [_judged(name, given, *one) for one in wanted]


def _fewest(peers: list[Contender]) -> int:
    return min(peer.n_nonzeros for peer in peers)


def _row(one: Contender, given: Centroids, peers: list[Contender]) -> dict[str, Any]:
    gain, faster = _ratios(one, given, peers)
    return {
        "": one.name,
        "factors": one.n_factors,
        "non-zeros": one.n_nonzeros,
        "relative error": given.relative_error(one.product),
        "gain": gain,
        "excess": given.excess(one.product),
        "seconds": one.seconds,
        "faster": faster,
    }


def _ratios(one: Contender, given: Centroids, peers: list[Contender]) -> tuple[float, float]:
    """Squared error and time of the best of the peers, over ours."""
    error = min(given.relative_error(peer.product) for peer in peers)
    return (
        (error / given.relative_error(one.product)) ** 2,
        min(peer.seconds for peer in peers) / one.seconds,
    )


def _judged(
    name: str,
    given: Centroids,
    one: Contender,
    peers: list[Contender],
    gain_wanted: float,
    speed_wanted: float | None,
) -> dict[str, Any]:
    gain, faster = _ratios(one, given, peers)
    fewer = one.n_nonzeros <= _fewest(peers)
    reached = fewer and gain >= gain_wanted and (speed_wanted is None or faster >= speed_wanted)
    return {
        "": name,
        "ours": one.name.removeprefix("ours: "),
        "non-zeros": one.n_nonzeros,
        "pyfaust's": _fewest(peers),
        "gain": gain,
        "at least": gain_wanted,
        "faster": faster,
        "at least ": "" if speed_wanted is None else speed_wanted,
        "reached": "yes" if reached else "no",
    }


# --- pyfaust ---------------------------------------------------------------------------------


def _import_pyfaust() -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it misses packages it does not need
            import pyfaust.fact
            import pyfaust.factparams
            import pyfaust.proj
    except ImportError:
        raise MissingRequirementError("needs pyfaust: pip install pyfaust") from None
    return pyfaust


def _pyfaust_hierarchical(target: np.ndarray, backend: int) -> Contender:
    """As its authors factorize rectangular matrices."""
    pyfaust = _import_pyfaust()
    n_factors = int(np.log2(max(target.shape)))
    parameters = pyfaust.factparams.ParamsHierarchicalRectMat(
        *target.shape, n_factors, PER_COLUMN, PER_COLUMN
    )
    return _pyfaust(
        f"pyfaust {HIERARCHICAL} ({backend})",
        lambda: pyfaust.fact.hierarchical(target, parameters, backend=backend),
    )


def _pyfaust_flat(target: np.ndarray, backend: int) -> Contender:
    """From the start that is also our default, factors updated from right to left."""
    pyfaust = _import_pyfaust()
    k, d = target.shape
    n_factors = int(np.log2(max(k, d)))
    limits = [pyfaust.proj.splincol((k, k), PER_COLUMN) for _ in range(n_factors - 1)]
    limits.append(pyfaust.proj.splincol((k, d), PER_COLUMN))
    parameters = pyfaust.factparams.ParamsPalm4MSA(
        limits, pyfaust.factparams.StoppingCriterion(SWEEPS), is_update_way_R2L=True
    )
    return _pyfaust(
        f"pyfaust {FLAT} ({backend})",
        lambda: pyfaust.fact.palm4msa(target, parameters, backend=backend),
    )


def _pyfaust(name: str, method: Callable[[], Any]) -> Contender:
    from threadpoolctl import threadpool_limits

    def once() -> tuple[int, int, np.ndarray]:
        with threadpool_limits(1), _silence():
            found = method()
        return found.numfactors(), found.nnz_sum(), found.toarray()

    return Contender(name, once, pyfaust=True)


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    """Its C++ reports progress on standard output, whoever reads there."""
    sys.stdout.flush()
    kept = os.dup(1)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    try:
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)
        os.close(nowhere)
