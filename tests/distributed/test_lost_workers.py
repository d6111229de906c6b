"""What was kept of blocks on a worker that is gone is known again, with the same bits."""

import os
import signal
import threading

import numpy as np
import pytest

from polymeans import KhatriRaoKMeans, KMeans
from polymeans.distributed import placement
from polymeans.distributed.placed_block import PlacedBlock
from polymeans.distributed.replay import EFFECTS
from polymeans.engine import visits
from tests.distributed.chunked import in_chunks, random_weights
from tests.distributed.conftest import cluster_of
from tests.marks import long
from tests.out_of_core.sources import MODELS, assert_same_bits, rows

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

#: No two of these 3000 rows are alike, so that many iterations follow each other.
LENGTHS = (1, 999, 700, 300, 600, 400)


def many_rows():
    return np.random.default_rng(0).normal(size=(3000, 8)).astype(np.float32)


@pytest.mark.parametrize("at", [*long(2, 6), 15], ids=lambda at: f"visit {at}")
def test_a_worker_is_killed(at, monkeypatch):
    """While blocks are surveyed, while a start is looked for, and between two iterations."""
    X, visited, killed = many_rows(), [], []
    expected = KMeans(30, init="k-means||", random_state=0, tol=0, max_iter=12).fit(X)
    assert expected.n_iter_ == 12
    whole = placement.OnWorkers._run
    with cluster_of(2) as client:
        pids = client.run(os.getpid)

        def kill():
            os.kill(min(pids.values()), signal.SIGKILL)
            killed.append(True)

        def run(self, *args, **options):
            visited.append(args[0].function.__name__)
            if len(visited) == at:
                threading.Timer(0.01, kill).start()
            return whole(self, *args, **options)

        monkeypatch.setattr(placement.OnWorkers, "_run", run)
        model = KMeans(30, random_state=0, tol=0, max_iter=12).fit(in_chunks(X, LENGTHS))
        assert killed
        assert_same_bits(expected, model)


@pytest.fixture
def forgetful(monkeypatch):
    """Workers in this process that keep nothing, so that each visit repeats the ones before."""
    with cluster_of(2, processes=False) as client:
        n_lost = []
        find = PlacedBlock.kept

        def kept(self, version):
            n_lost.append(version is not None)
            return find(self, version)

        monkeypatch.setattr(PlacedBlock, "kept", kept)
        monkeypatch.setattr(PlacedBlock, "keep", lambda *_: None)
        yield n_lost
    assert sum(n_lost) > 10
    del client


@pytest.mark.parametrize("kind", ["float32", *long("csr")])
@pytest.mark.parametrize("name", ["kmeans", "sum", *long("cosine", "quick", "l1")])
def test_everything_can_be_repeated(name, kind, forgetful):
    X, weights = rows(kind), random_weights(300)
    model = MODELS[name](random_state=0).fit(X, sample_weight=weights)
    lengths = (100, 120, 80)
    other = MODELS[name](random_state=0).fit(in_chunks(X, lengths), sample_weight=weights)
    assert_same_bits(model, other)


@pytest.mark.parametrize("init", ["k-means++", *long("afk-mc2")])
def test_seeding_can_be_repeated(init, forgetful):
    X = rows("float64")

    def make():
        return KMeans(4, init=init, random_state=0)

    assert_same_bits(make().fit(X), make().fit(in_chunks(X, (200, 100))))


def test_relocations_can_be_repeated(forgetful):
    X = rows("float64")
    start = [X[:3].copy(), np.zeros((4, 5))]
    start[0][2] = start[1][3] = -1000

    def make():
        return KhatriRaoKMeans((3, 4), init=start)

    assert_same_bits(make().fit(X), make().fit(in_chunks(X, (200, 100))))


def test_the_log_of_a_long_fit_is_short(monkeypatch, client):
    logs = []
    close = placement.OnWorkers.close

    def look(self):
        logs.extend(self._logs)
        close(self)

    monkeypatch.setattr(placement.OnWorkers, "close", look)
    model = KMeans(30, random_state=0, tol=0, max_iter=12).fit(in_chunks(many_rows(), LENGTHS))
    assert model.n_iter_ == 12
    names = [[record.visit.function.__name__ for record in log] for log in logs]
    assert names[0].count("assign_and_add_up") == 1
    assert max(map(len, names)) <= 4


def test_a_visitor_that_changes_what_it_does_not_say_is_refused(monkeypatch, client):
    monkeypatch.delitem(EFFECTS, visits.assign_and_add_up)
    with pytest.raises(RuntimeError, match="assign_and_add_up changes gaps, labels of what"):
        KMeans(3, random_state=0).fit(in_chunks(rows("float64")))
