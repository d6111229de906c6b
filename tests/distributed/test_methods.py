"""Methods of a fitted estimator are lazy, and nothing stays on the cluster."""

import pickle
import time

import dask
import dask.array
import numpy as np
import pytest

from polymeans import KMeans
from polymeans.distributed.placement import OnWorkers
from tests.distributed.chunked import UNEVEN, in_chunks
from tests.marks import long
from tests.out_of_core.sources import MODELS, rows

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.mark.parametrize("kind", ["float32", *long("csr")])
@pytest.mark.parametrize("name", MODELS)
def test_methods_of_a_fitted_estimator(name, kind, client):
    X = rows(kind)
    model = MODELS[name](random_state=0).fit(X)
    chunked = in_chunks(X)
    labels, coordinates = model.predict(chunked), model.transform(chunked)
    expected = model.transform(X)
    assert labels.chunks == (UNEVEN,)
    assert labels.dtype == np.int32
    assert coordinates.chunks == (UNEVEN, (expected.shape[1],))
    assert coordinates.dtype == expected.dtype
    np.testing.assert_array_equal(labels.compute(), model.predict(X))
    np.testing.assert_allclose(coordinates.compute(), expected, rtol=1e-5, atol=1e-5)
    score = model.score(chunked)
    assert isinstance(score, float)
    assert score == pytest.approx(model.score(X), rel=1e-9)


def test_nothing_is_computed_before_it_is_asked_for():
    X, computed = rows("float64"), []

    def look(chunk):
        computed.append(len(chunk))
        return chunk

    lazy = in_chunks(X).map_blocks(look, dtype="f8", meta=np.empty((0, 0)))
    model = KMeans(5, random_state=0).fit(X)
    with dask.config.set(scheduler="threads"):
        labels, distances = model.predict(lazy), model.transform(lazy)
        assert not computed
        labels.compute()
        distances.compute()
    assert sorted(computed) == sorted(2 * UNEVEN)


def test_fit_predict_and_fit_transform(client):
    X = in_chunks(rows("float64"))
    model = KMeans(5, random_state=0)
    labels, distances = model.fit_predict(X), model.fit_transform(X)
    np.testing.assert_array_equal(labels.compute(), model.labels_.compute())
    np.testing.assert_array_equal(distances.compute().argmin(axis=1), labels.compute())


def test_output_is_a_dask_array_whatever_set_output_asks_for():
    X = rows("float64")
    model = KMeans(5, random_state=0).fit(X).set_output(transform="pandas")
    with dask.config.set(scheduler="synchronous"):
        found = model.transform(in_chunks(X))
        assert isinstance(found, dask.array.Array)
        np.testing.assert_allclose(found.compute(), model.transform(X).to_numpy())
    assert model.transform(X).columns.tolist() == model.get_feature_names_out().tolist()


def test_a_fitted_estimator_can_be_pickled(client):
    X = in_chunks(rows("float64"))
    model = KMeans(5, random_state=0).fit(X)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.labels_.compute(), model.labels_.compute())


def held_by(client):
    """Keys that the workers hold once released ones are gone."""
    for _ in range(100):
        held = {key for keys in client.has_what().values() for key in keys}
        if not any("polymeans" in str(key) for key in held):
            break
        time.sleep(0.05)
    return held


def test_a_fit_releases_what_it_persisted(client):
    X = in_chunks(rows("float64"))
    model = KMeans(5, random_state=0).fit(X)
    assert not any("polymeans" in str(key) for key in held_by(client))
    del model


def test_an_interrupted_fit_releases_what_it_persisted(client, monkeypatch):
    X, visits = in_chunks(rows("float64")), []
    whole = OnWorkers._run

    def run(self, *args, **options):
        visits.append(args)
        if len(visits) == 8:
            raise KeyboardInterrupt
        return whole(self, *args, **options)

    monkeypatch.setattr(OnWorkers, "_run", run)
    model = KMeans(5, random_state=0)
    before = dict(vars(model))
    with pytest.raises(KeyboardInterrupt):
        model.fit(X)
    assert vars(model) == before
    assert not any("polymeans" in str(key) for key in held_by(client))


def test_tasks_have_names_that_say_what_they_do(client):
    KMeans(5, random_state=0, max_iter=2).fit(in_chunks(rows("float64")))
    prefixes = client.run_on_scheduler(lambda dask_scheduler: set(dask_scheduler.task_prefixes))
    wanted = ("rows", "survey-block", "draw-next", "assign-and-add-up", "merge", "arguments")
    assert {f"polymeans-{name}" for name in wanted} <= prefixes
    assert not any("hold" in prefix for prefix in prefixes)
