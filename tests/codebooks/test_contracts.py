"""Every codebook keeps the contract: it lowers what it reports, travels, and needs no rows."""

import io
import pickle
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp

from polymeans.codebooks.alternating import AlternatingCodebook
from polymeans.codebooks.factored import FactoredCodebook
from polymeans.codebooks.khatri_rao import AdditiveCodebook, MultiplicativeCodebook
from polymeans.codebooks.l1 import L1Codebook
from polymeans.codebooks.learned_metric import LearnedMetricCodebook
from polymeans.codebooks.orthogonal import OrthogonalCodebook, make_views
from polymeans.core.contracts import Centroids
from polymeans.core.statistics import KnownSums
from polymeans.engine.assignment import grid_codebook, make_codebook
from polymeans.engine.block_runner import BlockRunner
from polymeans.engine.blocks import DenseBlock, SparseBlock
from polymeans.engine.lloyd import descend
from polymeans.engine.placement import Held
from polymeans.engine.runners import LocalRunner
from polymeans.factorization.update import PairUpdate

SIZES = (3, 4)


RHO = 10.0


def rows_of(kind):
    rng = np.random.default_rng(0)
    if kind.startswith("white"):
        # Rows as the learned metric sees them: scatter diagonal, divided by its roots plus rho.
        X = rows_of("dense")
        X = X - X.mean(axis=0)
        turned = X @ np.linalg.svd(X, full_matrices=False)[2].T
        white = turned / np.sqrt(np.sum(turned**2, axis=0) + RHO)
        return sp.csr_matrix(white) if kind == "white csr" else white
    if kind == "csr":
        return sp.random(400, 30, 0.3, "csr", random_state=1)
    centers = 3 * rng.standard_normal((12, 6))
    return centers[rng.integers(0, 12, 400)] + rng.standard_normal((400, 6)) + 2


def free(runner, spherical=False):
    X = runner.matrix()[:12]
    return make_codebook(runner.frame, X.toarray() if sp.issparse(X) else X)


def table_start(runner):
    return runner.take(np.arange(12)).astype(np.float64)


def factored(runner):
    target = table_start(runner)
    return FactoredCodebook(
        runner.frame,
        [sp.csr_array(np.eye(12)), sp.csr_array(np.where(np.abs(target) > 0.5, target, 0.0))],
        np.zeros(target.shape[1]),
        PairUpdate(60),
    )


def grid(aggregator, stored=True):
    def make(runner):
        theta = np.abs(runner.take(np.arange(7)).astype(np.float64)) + 0.1
        return grid_codebook(runner.frame, theta, SIZES, aggregator, stored=stored)

    return make


def orthogonal(runner):
    theta = runner.take(np.arange(7)).astype(np.float64)
    views = make_views(SIZES, runner.frame.n_used)
    return OrthogonalCodebook(theta, SIZES, views, None, runner.frame.is_sparse)


def squares_of(runner):
    """Scatter of the rows before they were divided."""
    X = runner.matrix()
    shares = np.sum((X.toarray() if sp.issparse(X) else X) ** 2, axis=0)
    return RHO * shares / (1 - shares)


def metric(runner):
    log_det = float(np.sum(np.log1p(squares_of(runner) / RHO)))
    return LearnedMetricCodebook(12, runner.frame.n_used, RHO, log_det)


def alternating(runner):
    return AlternatingCodebook(12, squares_of(runner), RHO / 2, 1.0)


BOOKS = {
    "free": free,
    "l1": lambda runner: L1Codebook(runner.frame, table_start(runner), 2.0),
    "l1 budget": lambda runner: L1Codebook(runner.frame, table_start(runner), None, 40),
    "factored": factored,
    "sum": grid("sum"),
    "product": grid("product"),
    "product not stored": grid("product", stored=False),
    "orthogonal": orthogonal,
    "metric": metric,
    "alternating": alternating,
}


@pytest.fixture(params=["dense", "csr"])
def runner(request, name):
    X = rows_of(f"white {request.param}" if name in ("metric", "alternating") else request.param)
    return LocalRunner(X, np.ones(X.shape[0]))


@pytest.fixture
def labels():
    return np.random.default_rng(5).integers(0, 12, 400).astype(np.int32)


def book_of(name, runner):
    if name == "product not stored" and runner.frame.is_sparse:
        pytest.skip("products of sparse rows are kept")
    return BOOKS[name](runner)


def through_bytes(state):
    """What travels: arrays and numbers, without pickle."""
    buffer = io.BytesIO()
    np.savez(buffer, **state)
    buffer.seek(0)
    with np.load(buffer, allow_pickle=False) as file:
        return {name: file[name] if file[name].ndim else file[name].item() for name in file.files}


@pytest.mark.parametrize("name", BOOKS)
def test_refit_lowers_the_inertia_it_reports(name, runner, labels):
    codebook = book_of(name, runner)
    statistics = runner.statistics_of(labels, codebook)
    before = codebook.inertia(statistics)
    drift = codebook.refit(statistics)
    assert drift.shape == (codebook.n_clusters,)
    assert (drift >= 0).all()
    after = codebook.inertia(runner.statistics_of(labels, codebook))
    assert after <= before * (1 + 1e-12)
    if codebook.by_rows:
        assert after == pytest.approx(runner.measure(codebook), rel=1e-9)


@pytest.mark.parametrize("name", BOOKS)
def test_drift_is_how_far_centroids_went(name, runner, labels):
    codebook = book_of(name, runner)
    statistics = runner.statistics_of(labels, codebook)
    before = codebook.to_array(runner.frame).astype(np.float64)
    drift = codebook.refit(statistics)
    step = codebook.to_array(runner.frame).astype(np.float64) - before
    used = np.bincount(labels, minlength=codebook.n_clusters) > 0
    np.testing.assert_allclose(drift[used], np.linalg.norm(step, axis=1)[used], rtol=1e-5)


@pytest.mark.parametrize("name", BOOKS)
def test_state_survives_a_journey_through_bytes(name, runner, labels):
    codebook = book_of(name, runner)
    statistics = runner.statistics_of(labels, codebook)
    codebook.refit(statistics)
    again = type(codebook).from_state(through_bytes(codebook.state()))
    frame = runner.frame
    np.testing.assert_array_equal(again.to_array(frame), codebook.to_array(frame))
    assert again.n_parameters == codebook.n_parameters
    assert again.sizes == codebook.sizes
    statistics = runner.statistics_of(labels, codebook)
    assert again.inertia(statistics) == codebook.inertia(statistics)


@pytest.mark.parametrize("name", BOOKS)
def test_a_pickled_codebook_is_refitted_elsewhere(name, runner, labels):
    codebook = book_of(name, runner)
    statistics = runner.statistics_of(labels, codebook)
    sent = pickle.loads(pickle.dumps(codebook))
    drift = codebook.refit(statistics)
    np.testing.assert_array_equal(sent.refit(runner.statistics_of(labels, sent)), drift)
    frame = runner.frame
    np.testing.assert_array_equal(sent.to_array(frame), codebook.to_array(frame))


def taken_sums(statistics):
    """Sums of clusters that are handed out one at a time, or all at once, and their norms."""
    known = KnownSums.unmeasured(np.zeros((len(statistics.counts), statistics.frame.n_used)))
    squares, cross = np.zeros((2, len(statistics.counts)))
    statistics.compare(known, np.flatnonzero(statistics.counts), True, squares, cross)
    return np.column_stack([known.array, squares, cross])


@pytest.mark.parametrize("name", BOOKS)
@pytest.mark.parametrize("kind", ["dense", "csr"])
def test_statistics_of_parts_add_up(name, kind, labels):
    X = rows_of(f"white {kind}" if name in ("metric", "alternating") else kind)
    weights = np.random.default_rng(2).random(X.shape[0])
    whole = LocalRunner(X, weights)
    edges = [0, 1, 90, 91, 250, 400]
    parts = BlockRunner(Held([(X[lo:hi], weights[lo:hi]) for lo, hi in pairwise(edges)]))
    codebook = book_of(name, whole)
    one, other = (runner.statistics_of(labels, codebook) for runner in (whole, parts))
    np.testing.assert_array_equal(one.mass, other.mass)
    np.testing.assert_array_equal(one.counts, other.counts)
    assert one.total_square == other.total_square
    if codebook.needs == "deferred":
        np.testing.assert_array_equal(one.feature_sums(1, 4), other.feature_sums(1, 4))
    elif codebook.cluster_by_cluster:
        np.testing.assert_array_equal(taken_sums(one), taken_sums(other))
    else:
        np.testing.assert_array_equal(one.sums, other.sums)


@pytest.mark.parametrize("name", BOOKS)
def test_codebooks_have_what_the_contract_names(name, runner):
    codebook = book_of(name, runner)
    assert "kind" in Centroids.__annotations__
    for attribute in Centroids.__annotations__:
        assert hasattr(codebook, attribute), attribute
    assert int(np.prod(codebook.sizes)) == codebook.n_clusters
    assert isinstance(codebook.n_parameters, int | np.integer)
    assert not any(isinstance(value, DenseBlock | SparseBlock) for value in vars(codebook).values())


def test_additive_and_multiplicative_grids_say_what_they_need():
    assert AdditiveCodebook.needs == "marginals"
    assert MultiplicativeCodebook.needs == "cells"


def test_what_a_runner_cannot_give_is_refused_before_any_work():
    X = rows_of("dense")
    runner = BlockRunner(Held([(X[:100], np.ones(100)), (X[100:], np.ones(300))]))
    codebook = LearnedMetricCodebook(
        12, runner.frame.n_used, RHO, 0.0, solve=lambda targets: targets
    )
    with pytest.raises(TypeError, match="products"):
        descend(runner, codebook)


@pytest.mark.parametrize("kind", [AdditiveCodebook, MultiplicativeCodebook])
def test_protocentroids_that_are_no_numbers_are_refused_before_a_kernel_compares_rows(kind):
    protocentroids = np.ones((5, 3), dtype=np.float32)
    protocentroids[4, 2] = np.inf
    with pytest.raises(ValueError, match="are no finite numbers"):
        kind(protocentroids, (3, 2))
