"""Sparse factors of k-means centroids beside pyfaust, the reference implementation of palm4MSA.

Everybody has one thread and gets the same matrix. pyfaust goes first and sets the budget: nobody
of ours may have more non-zeros than the hierarchical method left there, and palm4MSA no more than
pyfaust's palm4MSA. Rows of the matrix count alike, since pyfaust knows no weights.
"""

import contextlib
import os
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.data import load
from benchmarks.harness import MissingRequirementError, Report, version
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


@dataclass
class Outcome:
    """What somebody made of it."""

    name: str
    n_factors: int
    n_nonzeros: int
    product: np.ndarray
    seconds: float


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
    peers = [_pyfaust_hierarchical(target, backend) for backend in (2016, 2020)]
    budget = min(peer.n_nonzeros for peer in peers)
    flat_peers = [_pyfaust_flat(target, backend) for backend in (2016, 2020)]
    flat_budget = min(peer.n_nonzeros for peer in flat_peers)

    def measured(label: str, method: Callable[[], Any], repeats: int = options.repeats) -> Outcome:
        seconds = []
        for _ in range(repeats):
            began = time.perf_counter()
            found = method()
            seconds.append(time.perf_counter() - began)
        product = found.toarray() if hasattr(found, "toarray") else found.operator.toarray()
        return Outcome(label, len(found.factors), found.nnz, product, statistics.median(seconds))

    def within(limit: int, method: Callable[..., Any], **arguments: Any) -> Callable[[], Any]:
        """The method with the largest sparsity level that leaves no more than the limit."""
        for level in range(2 * PER_COLUMN, 0, -1):
            if method(target, sparsity_level=level, **arguments).nnz <= limit:
                break
        return lambda: method(target, sparsity_level=level, **arguments)

    def grown() -> Any:
        rough = hierarchical_palm4msa(target, sparsity_level=PER_COLUMN - 1, max_iter=20)
        return prune_and_grow(target, rough.factors, budget)

    chosen = measured(
        "factorize",
        lambda: factorize(target, n_nonzeros=budget, random_state=0, n_threads=1),
    )
    hierarchical = measured(HIERARCHICAL, within(budget, hierarchical_palm4msa))
    flat = measured(FLAT, within(flat_budget, palm4msa, max_iter=SWEEPS))
    outcomes = [
        *peers,
        hierarchical,
        measured(
            HIERARCHICAL + ", published step",
            within(budget, hierarchical_palm4msa, step="lipschitz"),
            1,
        ),
        measured(HIERARCHICAL + " + prune and grow", grown, 1),
        chosen,
        *flat_peers,
        flat,
    ]
    n_flat = len(flat_peers) + 1
    report.table(
        f"{name}: {target.shape[0]} x {target.shape[1]}, {target.size} entries",
        [
            _row(one, given, peers if place < len(outcomes) - n_flat else flat_peers)
            for place, one in enumerate(outcomes)
        ],
        f"gain, faster: over the better of pyfaust's two ({version('pyfaust')}) of the same kind; "
        f"{FLAT}: {SWEEPS} sweeps from the default start; excess: growth of k-means' inertia",
    )
    wanted = [
        (chosen, peers, LEAST_GAIN, LEAST_SPEED),
        (hierarchical, peers, 1.0, None),
        (flat, flat_peers, 1.0, None),
    ]
    return [_judged(name, given, *one) for one in wanted]


def _row(one: Outcome, given: Centroids, peers: list[Outcome]) -> dict[str, Any]:
    gain, faster = _ratios(one, given, peers)
    return {
        "": one.name if one in peers else "ours: " + one.name,
        "factors": one.n_factors,
        "non-zeros": one.n_nonzeros,
        "relative error": given.relative_error(one.product),
        "gain": gain,
        "excess": given.excess(one.product),
        "seconds": one.seconds,
        "faster": faster,
    }


def _ratios(one: Outcome, given: Centroids, peers: list[Outcome]) -> tuple[float, float]:
    """Squared error and time of the best of the peers, over ours."""
    error = min(given.relative_error(peer.product) for peer in peers)
    return (
        (error / given.relative_error(one.product)) ** 2,
        min(peer.seconds for peer in peers) / one.seconds,
    )


def _judged(
    name: str,
    given: Centroids,
    one: Outcome,
    peers: list[Outcome],
    gain_wanted: float,
    speed_wanted: float | None,
) -> dict[str, Any]:
    gain, faster = _ratios(one, given, peers)
    fewer = one.n_nonzeros <= min(peer.n_nonzeros for peer in peers)
    reached = fewer and gain >= gain_wanted and (speed_wanted is None or faster >= speed_wanted)
    return {
        "": name,
        "ours": one.name,
        "non-zeros": one.n_nonzeros,
        "pyfaust's": min(peer.n_nonzeros for peer in peers),
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


def _pyfaust_hierarchical(target: np.ndarray, backend: int) -> Outcome:
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


def _pyfaust_flat(target: np.ndarray, backend: int) -> Outcome:
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


def _pyfaust(name: str, method: Callable[[], Any]) -> Outcome:
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1), _silence():
        began = time.perf_counter()
        found = method()
        seconds = time.perf_counter() - began
    return Outcome(name, found.numfactors(), found.nnz_sum(), found.toarray(), seconds)


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
