"""Learning from batches: what is remembered, how it decays, and what the centroids then are."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.cluster import MiniBatchKMeans

from polymeans import KhatriRaoKMeans, KMeans
from tests.oracles_streams import SlowStream

MODELS = {
    "KMeans": KMeans(6, random_state=0),
    "KMeans, cosine": KMeans(6, metric="cosine", random_state=0),
    "KMeans, half_life": KMeans(6, half_life=150, random_state=0),
    "KhatriRaoKMeans": KhatriRaoKMeans((2, 3), effort=0.1, random_state=0),
    "KhatriRaoKMeans, product": KhatriRaoKMeans(
        (2, 3), aggregator="product", effort=0.1, half_life=1000, random_state=0
    ),
    "KhatriRaoKMeans, one set": KhatriRaoKMeans(6, effort=0.1, random_state=0),
}


def stream(n_batches=8, n_rows=100, n_features=5, seed=0, dtype=np.float64):
    """Batches of rows around a grid of six places."""
    rng = np.random.default_rng(seed)
    places = rng.normal(0, 6, (2, 1, n_features)) + rng.normal(0, 6, (1, 3, n_features))
    places = places.reshape(6, n_features)
    chosen = rng.integers(0, 6, (n_batches, n_rows))
    return (places[chosen] + rng.normal(0, 1, (n_batches, n_rows, n_features))).astype(dtype)


def spread_start(batches, n):
    """Rows of the first batch that are far from each other."""
    rows = [batches[0][0]]
    for _ in range(n - 1):
        apart = ((batches[0][:, None] - np.array(rows)) ** 2).sum(axis=2).min(axis=1)
        rows.append(batches[0][apart.argmax()])
    return np.array(rows)


def vectors_of(model):
    return getattr(model, "protocentroids_", None) or [model.cluster_centers_]


def learned(model):
    """Everything that batches leave on a model."""
    names = ("labels_", "inertia_", "cluster_weights_", "n_steps_", "_seen_means", "_given")
    return [*vectors_of(model), *(getattr(model, name) for name in names)]


def assert_same_bits(one, other):
    for mine, theirs in zip(learned(one), learned(other), strict=True):
        np.testing.assert_array_equal(mine, theirs)


# --- against the slow version ---------------------------------------------------------------


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("half_life", [None, 130.0])
@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_free_centroids_are_the_decayed_means(metric, half_life, weighted, sparse):
    batches = stream()
    start = spread_start(batches, 6)
    if metric == "cosine":
        start /= np.linalg.norm(start, axis=1)[:, None]
    model = KMeans(6, metric=metric, init=start, half_life=half_life)
    slow = SlowStream([start], half_life=half_life, spherical=metric == "cosine")
    rng = np.random.default_rng(1)
    for batch in batches:
        weights = rng.uniform(0.5, 2, len(batch)) if weighted else None
        model.partial_fit(sp.csr_matrix(batch) if sparse else batch, sample_weight=weights)
        slow.learn(batch, weights)
        np.testing.assert_allclose(model.cluster_weights_, slow.mass, rtol=1e-12)
        np.testing.assert_allclose(model.cluster_centers_, slow.centers, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("offset", [0.0, 1e6])
@pytest.mark.parametrize("half_life", [None, 130.0])
@pytest.mark.parametrize("sparse", [False, True])
def test_sums_of_protocentroids_solve_least_squares(half_life, sparse, offset):
    batches = stream() + offset
    start = [
        np.array(part)
        for part in KhatriRaoKMeans((2, 3), effort=0.1, random_state=0)
        .fit(batches[0])
        .protocentroids_
    ]
    model = KhatriRaoKMeans((2, 3), init=start, half_life=half_life)
    slow = SlowStream(start, "sum", half_life)
    for batch in batches:
        model.partial_fit(sp.csr_matrix(batch) if sparse else batch)
        slow.learn(batch)
        np.testing.assert_allclose(model.cluster_weights_, slow.mass, rtol=1e-12)
        np.testing.assert_allclose(
            model.cluster_centers_, slow.centers, rtol=1e-9, atol=1e-9 * (1 + offset)
        )


@pytest.mark.parametrize("stored", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
def test_products_of_protocentroids_are_at_a_minimum(sparse, stored):
    batches = stream()
    start = KhatriRaoKMeans((2, 3), aggregator="product", effort=0.1, random_state=0)
    start = [np.array(part) for part in start.fit(batches[0]).protocentroids_]
    model = KhatriRaoKMeans(
        (2, 3), aggregator="product", init=start, half_life=130.0, store_centroids=stored
    )
    slow = SlowStream(start, "product", 130.0)
    slow._refit = lambda: None
    for batch in batches:
        model.partial_fit(sp.csr_matrix(batch) if sparse else batch)
        slow.learn(batch)
        slow.vectors = [np.array(part) for part in model.protocentroids_]
        found = slow.objective()
        for q, part in enumerate(model.protocentroids_):
            for factor in (0.99, 1.01):
                slow.vectors[q] = part * factor
                assert slow.objective() > found
            slow.vectors[q] = np.array(part)
    np.testing.assert_allclose(model.cluster_weights_, slow.mass, rtol=1e-12)


def test_one_batch_is_one_step_of_lloyd(blobs):
    start = blobs[:40].copy()
    one_step = KMeans(40, init=start, max_iter=1, tol=0).fit(blobs)
    batch = KMeans(40, init=start).partial_fit(blobs)
    np.testing.assert_allclose(batch.cluster_centers_, one_step.cluster_centers_, rtol=1e-12)
    np.testing.assert_array_equal(batch.labels_, one_step.labels_)


def test_a_pass_is_about_as_good_as_that_of_scikit_learn(blobs):
    ours, theirs = KMeans(40, random_state=0), MiniBatchKMeans(40, random_state=0)
    for lo in range(0, len(blobs), 500):
        ours.partial_fit(blobs[lo : lo + 500])
        theirs.partial_fit(blobs[lo : lo + 500])
    assert -ours.score(blobs) < 1.05 * -theirs.score(blobs)


# --- labels, inertia, bits ------------------------------------------------------------------


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", MODELS)
def test_labels_and_inertia_are_those_of_the_last_batch(name, dtype, sparse):
    model = clone(MODELS[name])
    for batch in stream(4, dtype=dtype):
        batch = sp.csr_matrix(np.maximum(batch, 0)) if sparse else batch
        model.partial_fit(batch)
        np.testing.assert_array_equal(model.labels_, model.predict(batch))
        np.testing.assert_allclose(model.inertia_, -model.score(batch), rtol=1e-12)
        assert model.cluster_centers_.dtype == dtype
        if hasattr(model, "protolabels_"):
            np.testing.assert_array_equal(model.protolabels_, model.predict_protolabels(batch))
    assert model.n_steps_ == 4


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("name", MODELS)
def test_same_bits_for_any_number_of_threads(name, sparse, monkeypatch):
    monkeypatch.setattr("polymeans._base._POOLED", 0)
    found = []
    for n_threads in (1, 2, 3):
        model = clone(MODELS[name]).set_params(n_threads=n_threads)
        for batch in stream(3, 300, 40):
            model.partial_fit(sp.csr_array(np.maximum(batch, 0)) if sparse else batch)
        found.append(model)
    assert_same_bits(found[0], found[1])
    assert_same_bits(found[0], found[2])


@pytest.mark.parametrize("name", MODELS)
def test_sparse_batches_without_some_features(name):
    """Features come and go; what was seen of them stays."""
    dense, sparse = clone(MODELS[name]), clone(MODELS[name])
    start = None
    for step, batch in enumerate(stream(6)):
        batch = batch.copy()
        batch[:, step % 5] = 0.0
        if start is None:
            start = vectors_of(clone(MODELS[name]).partial_fit(batch))
            start = start if isinstance(dense, KhatriRaoKMeans) else start[0]
            dense.set_params(init=start)
            sparse.set_params(init=start)
        dense.partial_fit(batch)
        sparse.partial_fit(sp.csr_matrix(batch))
    np.testing.assert_allclose(sparse.cluster_centers_, dense.cluster_centers_, rtol=1e-6)


@pytest.mark.parametrize("name", MODELS)
def test_pickled_or_not_the_stream_goes_on_alike(name):
    batches = stream(4)
    model = clone(MODELS[name]).partial_fit(batches[0]).partial_fit(batches[1])
    other = pickle.loads(pickle.dumps(model))
    for batch in batches[2:]:
        model.partial_fit(batch)
        other.partial_fit(batch)
    assert_same_bits(model, other)
    assert not hasattr(clone(model), "cluster_weights_")


# --- the first batch ------------------------------------------------------------------------


@pytest.mark.parametrize("name", MODELS)
def test_rows_one_at_a_time(name):
    model = clone(MODELS[name])
    rows = stream(1, 60)[0]
    for row in rows:
        model.partial_fit(row[None])
    assert model.n_steps_ == 60
    assert np.isfinite(model.cluster_centers_).all()
    if isinstance(model, KMeans):
        assert (model.cluster_weights_ > 0).all()
        if model.half_life is None:
            assert model.cluster_weights_.sum() == 60


def test_clusters_wait_for_rows_when_the_first_batch_is_small():
    model = KMeans(3, random_state=0).partial_fit([[0.0, 0.0]])
    np.testing.assert_array_equal(model.cluster_weights_, [1, 0, 0])
    np.testing.assert_array_equal(model.predict([[5.0, 5.0]]), [0])
    model.partial_fit([[9.0, 0.0]]).partial_fit([[0.0, 9.0]])
    np.testing.assert_array_equal(model.cluster_weights_, [1, 1, 1])
    np.testing.assert_array_equal(model.cluster_centers_, [[0, 0], [9, 0], [0, 9]])


@pytest.mark.parametrize("init", ["k-means||", "afk-mc2", "random"])
def test_any_start(init):
    model = KMeans(6, init=init, random_state=0).partial_fit(stream(1)[0])
    assert model.cluster_weights_.sum() == 100
    few = KMeans(6, init=init, random_state=0).partial_fit(stream(1)[0][:4])
    assert few.cluster_centers_.shape == (6, 5)


def test_given_centroids_stay_until_they_get_rows():
    start = np.array([[0.0, 0.0], [100.0, 100.0]])
    model = KMeans(2, init=start, half_life=10)
    for _ in range(5):
        model.partial_fit([[0.0, 1.0], [1.0, 0.0], [3.0, 3.0]])
    np.testing.assert_array_equal(model.cluster_centers_[1], start[1])
    model.partial_fit([[102.0, 102.0]])
    np.testing.assert_array_equal(model.cluster_centers_[1], [102.0, 102.0])


def test_a_callable_gives_the_start():
    rows = stream(1)[0]
    called = KMeans(6, init=lambda X, k, random_state: X[:k]).partial_fit(rows)
    given = KMeans(6, init=rows[:6]).partial_fit(rows)
    np.testing.assert_array_equal(called.cluster_centers_, given.cluster_centers_)


# --- forgetting -----------------------------------------------------------------------------


def test_what_was_seen_counts_half_after_the_half_life():
    model = KMeans(1, half_life=4, init=np.zeros((1, 1)))
    model.partial_fit(np.zeros((8, 1))).partial_fit(np.ones((4, 1)))
    np.testing.assert_array_equal(model.cluster_weights_, [8])
    np.testing.assert_array_equal(model.cluster_centers_, [[0.5]])


def test_forgotten_clusters_get_far_rows():
    rng = np.random.default_rng(0)
    model = KMeans(2, half_life=20, random_state=0)
    model.partial_fit(np.concatenate([rng.normal(0, 1, (50, 2)), rng.normal(50, 1, (50, 2))]))
    for _ in range(20):  # nothing comes near the second cluster any more
        model.partial_fit(np.concatenate([rng.normal(0, 1, (25, 2)), rng.normal(-30, 1, (25, 2))]))
    assert set(np.sign(np.round(model.cluster_centers_[:, 0] / 20))) == {0.0, -1.0}


def test_nothing_is_forgotten_without_half_life():
    model = KMeans(2, init=np.array([[0.0], [50.0]])).partial_fit([[0.0], [50.0]])
    for _ in range(50):
        model.partial_fit(np.full((100, 1), -30.0))
    assert model.cluster_centers_[1] == 50.0
    assert model.cluster_weights_[1] == 1.0


# --- with fit -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MODELS)
def test_after_a_fit_the_rows_of_the_fit_count(name):
    rows, batch = stream(2, 300)
    model = clone(MODELS[name]).fit(rows)
    centers, weights = model.cluster_centers_, model.cluster_weights_
    np.testing.assert_array_equal(weights, np.bincount(model.labels_, minlength=6))
    assert model.n_steps_ == 0
    model.partial_fit(batch[:3])
    assert model.n_steps_ == 1
    # A few rows beside three hundred.
    assert np.abs(model.cluster_centers_ - centers).max() < 1.0
    if model.half_life is None:
        assert model.cluster_weights_.sum() == 303


def test_a_fit_with_weights_leaves_their_sums():
    rows = stream(1)[0]
    weights = np.random.default_rng(0).uniform(0, 1, len(rows)) * 1e200
    model = KMeans(6, random_state=0).fit(rows, sample_weight=weights)
    expected = np.bincount(model.labels_, weights, minlength=6)
    np.testing.assert_allclose(model.cluster_weights_, expected, rtol=1e-12)


def test_a_sum_loses_nothing_by_a_fit_in_between():
    """The fitted protocentroids stand for the rows, as far as later refits can tell."""
    rows, batch = stream(2, 300)
    model = KhatriRaoKMeans((2, 3), effort=0.1, tol=0, random_state=0).fit(rows)
    slow = SlowStream(model.protocentroids_)
    slow.learn(rows)
    slow.learn(batch)
    model.partial_fit(batch)
    np.testing.assert_allclose(model.cluster_centers_, slow.centers, rtol=1e-7)


@pytest.mark.parametrize("name", MODELS)
def test_a_fit_starts_afresh_unless_told_to_go_on(name):
    batches = stream(4)
    rows = np.concatenate(batches)
    model = clone(MODELS[name])
    for batch in batches:
        model.partial_fit(batch)
    vectors = vectors_of(model)
    given = vectors if isinstance(model, KhatriRaoKMeans) else vectors[0]
    fresh = clone(model).fit(rows)
    warm = pickle.loads(pickle.dumps(model)).set_params(warm_start=True).fit(rows)
    continued = clone(model).set_params(init=given).fit(rows)
    model.fit(rows)
    for fitted, expected in ((model, fresh), (warm, continued)):
        np.testing.assert_array_equal(fitted.cluster_centers_, expected.cluster_centers_)
        np.testing.assert_array_equal(fitted.labels_, expected.labels_)
        assert fitted.n_steps_ == 0
    again = warm.fit(rows)  # it is where it ends
    assert again.n_iter_ <= 2


def test_a_warm_start_needs_centroids_that_fit():
    rows = stream(1)[0]
    model = KMeans(6, warm_start=True, random_state=0).fit(rows)
    with pytest.raises(ValueError, match="warm_start"):
        model.fit(rows[:, :3])
    with pytest.raises(ValueError, match="n_clusters=4"):
        model.set_params(n_clusters=4).fit(rows)
    grid = KhatriRaoKMeans((2, 3), effort=0.1, warm_start=True, random_state=0).fit(rows)
    with pytest.raises(ValueError, match="aggregator"):
        grid.set_params(aggregator="product").fit(rows)


# --- ugly numbers ---------------------------------------------------------------------------

ugly = st.sampled_from(
    [0.0, 1.0, -1.0, 1.0 + 2.0**-52, 1e-300, -1e-300, 5e-324, 1e300, -1e300, 1e150, 1e8, 0.1]
)


@settings(max_examples=60, deadline=None)
@given(
    name=st.sampled_from(["KMeans", "KMeans, cosine", "KMeans, half_life"]),
    batches=st.lists(
        st.lists(st.lists(ugly, min_size=2, max_size=2), min_size=1, max_size=6),
        min_size=1,
        max_size=4,
    ),
    weight=st.sampled_from([1.0, 1e-300, 1e290]),
    sparse=st.booleans(),
)
def test_centroids_stay_within_the_rows(name, batches, weight, sparse):
    model = clone(MODELS[name]).set_params(n_clusters=3)
    seen = np.concatenate([np.array(batch) for batch in batches])
    for batch in batches:
        rows = np.array(batch)
        model.partial_fit(
            sp.csr_array(rows) if sparse else rows, sample_weight=np.full(len(rows), weight)
        )
        np.testing.assert_array_equal(model.labels_, model.predict(rows))
    assert np.isfinite(model.cluster_centers_).all()
    assert np.isfinite(model.cluster_weights_).all()
    if name != "KMeans, cosine":
        margin = 1e-12 * np.abs(seen).max(axis=0)
        assert (model.cluster_centers_ >= seen.min(axis=0) - margin).all()
        assert (model.cluster_centers_ <= seen.max(axis=0) + margin).all()


@settings(max_examples=30, deadline=None)
@given(
    aggregator=st.sampled_from(["sum", "product"]),
    batches=st.lists(
        st.lists(
            st.lists(st.sampled_from([0.0, 1.0, -2.0, 0.5, 1e-12, 1e6]), min_size=2, max_size=2),
            min_size=1,
            max_size=6,
        ),
        min_size=1,
        max_size=3,
    ),
    scale=st.sampled_from([1.0, 1e-290, 1e290]),
)
def test_grids_of_ugly_rows_are_finite(aggregator, batches, scale):
    model = KhatriRaoKMeans((2, 2), aggregator=aggregator, init="random", random_state=0)
    for batch in batches:
        model.partial_fit(np.array(batch) * scale)
        assert all(np.isfinite(part).all() for part in model.protocentroids_)
        assert model.inertia_ >= 0
    assert model.cluster_weights_.sum() == sum(map(len, batches))
