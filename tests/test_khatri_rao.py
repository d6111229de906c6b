"""KhatriRaoKMeans against slow and obvious versions, on every kind of input."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

from polymeans import KhatriRaoKMeans, KMeans
from polymeans.codebooks.aggregation import combine, digits_of
from polymeans.datasets import make_khatri_rao, make_stick_figures
from tests.oracles import inertia, nearest

AGGREGATORS = ("sum", "product")
SIZES = [(4, 5), (3, 2, 4), (1, 6), (2, 2, 2, 3)]


def starting_sets(X, sizes, aggregator, seed=0):
    """Protocentroids that make centroids of the size of the rows."""
    rng = np.random.default_rng(seed)
    X = X.toarray() if sp.issparse(X) else X
    sets = [X[rng.choice(len(X), h, replace=False)].copy() for h in sizes]
    for theta in sets[1:]:
        if aggregator == "sum":
            theta -= X.mean(axis=0)
        else:
            theta /= np.maximum(np.sqrt((X**2).mean(axis=0)), 1e-3)
    return sets


def one_step(X, sets, aggregator, weights=None):
    """Labels, then least squares for the labels by a general solver; the new inertia."""
    C = combine(sets, aggregator)
    labels = nearest(X, C)
    weights = np.ones(len(X)) if weights is None else weights
    sizes = [len(theta) for theta in sets]
    digits = digits_of(labels, sizes)
    design = np.zeros((len(X), sum(sizes)))
    start = 0
    for digit, h in zip(digits, sizes):
        design[np.arange(len(X)), start + digit] = 1.0
        start += h
    root = np.sqrt(weights)[:, None]
    fitted = np.linalg.lstsq(design * root, X * root, rcond=None)[0]
    return labels, float((weights[:, None] * (X - design @ fitted) ** 2).sum())


# --- labels, centroids and inertia ---------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("aggregator", AGGREGATORS)
def test_labels_are_those_of_brute_force(blobs, aggregator, sizes, dtype):
    X = blobs[:400].astype(dtype)
    start = starting_sets(X, sizes, aggregator)
    model = KhatriRaoKMeans(sizes, aggregator=aggregator, init=start).fit(X)
    C = combine([theta.astype(np.float64) for theta in model.protocentroids_], aggregator)
    assert_array_equal(model.labels_, nearest(X.astype(np.float64), C))
    assert_array_equal(model.predict(X), model.labels_)
    assert_allclose(model.inertia_, inertia(X.astype(np.float64), C, model.labels_), rtol=1e-6)
    assert_allclose(model.inertia_, -model.score(X), rtol=1e-6)
    assert_allclose(model.cluster_centers_, C, rtol=1e-5, atol=1e-6)
    assert model.cluster_centers_.dtype == dtype


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("aggregator", AGGREGATORS)
def test_inertia_never_rises(blobs, aggregator, sizes):
    start = starting_sets(blobs, sizes, aggregator, seed=1)
    model = KhatriRaoKMeans(sizes, aggregator=aggregator, init=start, tol=0).fit(blobs)
    history = model.history_["inertia"]
    assert len(history) > 3
    assert (np.diff(history) <= 1e-10 * history[0]).all()
    assert model.inertia_ <= history[-1] * (1 + 1e-10)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("sizes", SIZES)
def test_the_joint_solve_is_least_squares(blobs, sizes, weighted):
    X = blobs[:300]
    weights = np.random.default_rng(0).integers(0, 4, len(X)).astype(float) if weighted else None
    start = starting_sets(X, sizes, "sum", seed=3)
    labels, expected = one_step(X, start, "sum", weights)
    # Nobody to be relocated, which would be another problem.
    assert all(len(np.unique(d)) == h for d, h in zip(digits_of(labels, sizes), sizes))
    model = KhatriRaoKMeans(sizes, init=start, max_iter=1, tol=0)
    model.fit(X, sample_weight=weights)
    C = model.cluster_centers_
    assert_allclose(inertia(X, C, labels, weights), expected, rtol=1e-9)


def test_the_product_refit_reaches_a_stationary_point():
    from polymeans.codebooks.multiplicative import fit_multiplicative

    rng = np.random.default_rng(0)
    masses = rng.integers(0, 5, 12).astype(float)
    sums = masses[:, None] * rng.normal(size=(12, 3))
    sets = fit_multiplicative(sums, masses, [rng.normal(size=(3, 3)), rng.normal(size=(4, 3))], 500)

    def cost(sets):
        v = combine(sets, "product")
        return float((masses[:, None] * v**2 - 2 * sums * v).sum())

    for q in range(2):
        for index in np.ndindex(sets[q].shape):
            for step in (1e-4, -1e-4):
                moved = [theta.copy() for theta in sets]
                moved[q][index] += step
                assert cost(moved) >= cost(sets) - 1e-5


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("sizes", [(4, 5), (3, 2, 4), (40, 30)])
def test_streamed_products_equal_stored_ones(blobs, sizes, dtype):
    X = blobs.astype(dtype)
    start = starting_sets(X, sizes, "product")
    fits = [
        KhatriRaoKMeans(
            sizes, aggregator="product", init=start, store_centroids=stored, max_iter=8
        ).fit(X)
        for stored in (True, False)
    ]
    assert_array_equal(fits[0].labels_, fits[1].labels_)
    assert_allclose(fits[0].inertia_, fits[1].inertia_, rtol=1e-9)
    assert_array_equal(fits[0].predict(X), fits[1].predict(X))
    for one, other in zip(fits[0].protocentroids_, fits[1].protocentroids_):
        assert_allclose(one, other, rtol=1e-4 if dtype == np.float32 else 1e-9, atol=1e-6)


@pytest.mark.parametrize("aggregator", AGGREGATORS)
def test_one_set_is_plain_kmeans(blobs, aggregator):
    ours = KhatriRaoKMeans((12,), aggregator=aggregator, random_state=3).fit(blobs)
    plain = KMeans(12, random_state=3).fit(blobs)
    assert_array_equal(ours.labels_, plain.labels_)
    assert_array_equal(ours.cluster_centers_, plain.cluster_centers_)
    assert ours.inertia_ == plain.inertia_
    assert_array_equal(ours.predict(blobs), plain.predict(blobs))
    given = KhatriRaoKMeans(12, init=[blobs[:12]]).fit(blobs)
    assert_array_equal(given.labels_, KMeans(12, init=blobs[:12]).fit(blobs).labels_)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("container", [sp.csr_matrix, sp.csr_array])
@pytest.mark.parametrize("aggregator", AGGREGATORS)
def test_sparse_equals_dense(documents, aggregator, container, dtype):
    X = container(documents[:800]).astype(dtype)
    rng = np.random.default_rng(0)
    start = [rng.random((h, X.shape[1])).astype(dtype) * scale for h, scale in ((3, 0.1), (4, 1.0))]
    if aggregator == "sum":
        start = starting_sets(X, (3, 4), aggregator)
    sparse = KhatriRaoKMeans((3, 4), aggregator=aggregator, init=start, max_iter=15).fit(X)
    dense = KhatriRaoKMeans((3, 4), aggregator=aggregator, init=start, max_iter=15)
    dense.fit(X.toarray())
    assert_array_equal(sparse.labels_, dense.labels_)
    assert_allclose(sparse.inertia_, dense.inertia_, rtol=1e-6)
    assert_array_equal(sparse.predict(X), sparse.labels_)
    assert_allclose(sparse.cluster_centers_, dense.cluster_centers_, rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("aggregator", AGGREGATORS)
def test_features_new_sparse_rows_lack_still_count(documents, aggregator):
    model = KhatriRaoKMeans((3, 3), aggregator=aggregator, random_state=0, effort=0.1)
    model.fit(documents)
    few = documents[:40]
    assert (np.asarray(few.sum(axis=0)).ravel() == 0).any()
    assert_array_equal(model.predict(few), model.predict(few.toarray()))


# --- structure of the result -------------------------------------------------------------------


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("aggregator", AGGREGATORS)
def test_the_gauge_is_fixed(blobs, aggregator, sizes):
    weights = np.random.default_rng(1).random(len(blobs))
    start = starting_sets(blobs, sizes, aggregator)
    model = KhatriRaoKMeans(sizes, aggregator=aggregator, init=start, max_iter=5, tol=0)
    model.fit(blobs, sample_weight=weights)
    step = KhatriRaoKMeans(sizes, aggregator=aggregator, init=start, max_iter=4, tol=0)
    labels = step.fit(blobs, sample_weight=weights).labels_  # those the last refit was for
    for q, theta in enumerate(model.protocentroids_[1:], start=1):
        if aggregator == "sum":
            digit = digits_of(labels, sizes)[q]
            mass = np.bincount(digit, weights, minlength=len(theta))
            assert_allclose(mass @ theta / mass.sum(), 0.0, atol=1e-10)
        else:
            assert_allclose(np.sqrt((theta**2).mean(axis=0)), 1.0)
            assert (theta.sum(axis=0) >= 0).all()


def test_attributes_describe_each_other(blobs):
    model = KhatriRaoKMeans((3, 4, 2), init="residual", random_state=0).fit(blobs)
    assert model.n_clusters_ == 24
    assert model.cluster_centers_.shape == (24, blobs.shape[1])
    assert model.protolabels_.shape == (len(blobs), 3)
    codes = np.ravel_multi_index(tuple(model.protolabels_.T), (3, 4, 2))
    assert_array_equal(codes, model.labels_)
    assert_array_equal(model.predict_protolabels(blobs), model.protolabels_)
    assert model.n_parameters_ == 9 * blobs.shape[1]
    assert model.compression_ == 24 / 9
    assert "cluster_centers_" not in vars(model)
    assert model.transform(blobs).shape == (len(blobs), 24)
    assert_allclose(model.transform(blobs).min(axis=1) ** 2 @ np.ones(len(blobs)), model.inertia_)
    assert len(model.get_feature_names_out()) == 24


@pytest.mark.parametrize("aggregator", AGGREGATORS)
def test_weights_count_like_repeated_rows(blobs, aggregator):
    X = blobs[:200]
    weights = np.random.default_rng(0).integers(0, 3, len(X))
    start = starting_sets(X, (3, 4), aggregator)
    model = KhatriRaoKMeans((3, 4), aggregator=aggregator, init=start, max_iter=4, tol=0)
    weighted = clone(model).fit(X, sample_weight=weights)
    repeated = clone(model).fit(np.repeat(X, weights, axis=0))
    assert_allclose(weighted.inertia_, repeated.inertia_, rtol=1e-9)
    assert_array_equal(np.repeat(weighted.labels_, weights), repeated.labels_)


@pytest.mark.parametrize("aggregator", AGGREGATORS)
def test_any_number_of_threads_gives_the_same_bits(aggregator):
    X, _ = make_blobs(6000, n_features=20, centers=30, random_state=0)
    fits = [
        KhatriRaoKMeans(
            (6, 7), aggregator=aggregator, effort=0.1, random_state=0, n_threads=n_threads
        ).fit(X)
        for n_threads in (1, 3)
    ]
    assert_array_equal(fits[0].labels_, fits[1].labels_)
    assert fits[0].inertia_ == fits[1].inertia_
    for one, other in zip(fits[0].protocentroids_, fits[1].protocentroids_):
        assert_array_equal(one, other)


@settings(max_examples=40, deadline=None)
@given(
    X=arrays(
        np.float64,
        st.tuples(st.integers(6, 30), st.integers(1, 4)),
        elements=st.floats(-5, 5, width=16) | st.sampled_from([0.0, 1.0, 1e6, -1e-6]),
    ),
    aggregator=st.sampled_from(AGGREGATORS),
    sizes=st.sampled_from([(2, 2), (2, 3), (1, 3), (2, 1, 2)]),
    init=st.sampled_from(["search", "residual", "k-means++", "random", "naive"]),
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_nothing_but_numbers_comes_out(X, aggregator, sizes, init):
    before = X.copy()
    model = KhatriRaoKMeans(
        sizes, aggregator=aggregator, init=init, effort=0.02, n_init=1, random_state=0
    )
    model.fit(X)
    assert_array_equal(X, before)
    assert all(np.isfinite(theta).all() for theta in model.protocentroids_)
    assert np.isfinite(model.inertia_)
    C = combine(model.protocentroids_, aggregator)
    distances = ((X[:, None, :] - C[None]) ** 2).sum(axis=-1)
    own = distances[np.arange(len(X)), model.labels_]
    scale = 1e-9 * (1 + (X**2).sum(axis=1).max() + (C**2).sum(axis=1).max())
    assert (own <= distances.min(axis=1) + scale).all()
    assert abs(own.sum() - model.inertia_) <= scale * len(X)


def test_extreme_scales_are_no_trouble(blobs):
    for factor in (1e-150, 1e18, 1e150):
        for aggregator in AGGREGATORS:
            start = starting_sets(blobs, (3, 4), aggregator)
            plain = KhatriRaoKMeans((3, 4), aggregator=aggregator, init=start, max_iter=5)
            plain.fit(blobs)
            scaled = [theta.copy() for theta in start]
            for theta in scaled if aggregator == "sum" else scaled[:1]:
                theta *= factor
            far = clone(plain).set_params(init=scaled).fit(blobs * factor)
            assert_array_equal(far.labels_, plain.labels_)
            assert_allclose(far.protocentroids_[0], plain.protocentroids_[0] * factor, rtol=1e-6)


def test_sums_do_not_mind_a_large_offset():
    X, *_ = make_khatri_rao(600, (3, 4), 5, random_state=0)
    near = KhatriRaoKMeans((3, 4), random_state=0, effort=0.2).fit(X)
    far = KhatriRaoKMeans((3, 4), random_state=0, effort=0.2).fit(X + 1e6)
    assert_allclose(far.inertia_, near.inertia_, rtol=1e-4)


# --- good optima ---------------------------------------------------------------------------------


@pytest.mark.parametrize("aggregator", AGGREGATORS)
@pytest.mark.parametrize("sizes", [(3, 4), (2, 3, 3)])
def test_a_default_fit_finds_hidden_structure(aggregator, sizes):
    X, protolabels, _ = make_khatri_rao(
        800, sizes, 8, aggregator=aggregator, noise=0.02, random_state=1
    )
    model = KhatriRaoKMeans(sizes, aggregator=aggregator, random_state=0).fit(X)
    codes = np.ravel_multi_index(tuple(protolabels.T), sizes)
    C = np.stack([X[codes == c].mean(axis=0) for c in range(int(np.prod(sizes)))])
    assert model.inertia_ <= 1.02 * inertia(X, C, codes)


def test_stick_figures_come_apart_into_bodies():
    images, poses = make_stick_figures(450, random_state=0)
    for aggregator in AGGREGATORS:
        model = KhatriRaoKMeans((3, 3), aggregator=aggregator, random_state=0).fit(images)
        free = KMeans(9, n_init=10, random_state=0).fit(images)
        assert model.inertia_ <= 1.01 * free.inertia_
        pairs = {tuple(pair) for pair in np.c_[model.labels_, poses @ [3, 1]]}
        assert len(pairs) == 9


def test_the_search_is_as_good_as_the_best_of_twenty_plain_runs(blobs):
    for aggregator in AGGREGATORS:
        plain = KhatriRaoKMeans(
            (4, 4), aggregator=aggregator, init="random", n_init=20, random_state=0
        ).fit(blobs)
        search = KhatriRaoKMeans((4, 4), aggregator=aggregator, random_state=0).fit(blobs)
        assert search.inertia_ <= plain.inertia_ * 1.001
        assert search.n_passes_ > search.n_iter_


def test_more_effort_is_not_worse_on_average(blobs):
    values = [
        np.mean(
            [
                KhatriRaoKMeans((4, 5), effort=effort, random_state=seed).fit(blobs).inertia_
                for seed in range(3)
            ]
        )
        for effort in (0.05, 1.0)
    ]
    assert values[1] <= values[0] * (1 + 1e-6)


@pytest.mark.parametrize("init", ["search", "residual", "k-means++", "random", "naive"])
@pytest.mark.parametrize("aggregator", AGGREGATORS)
def test_every_start_works_on_every_kind_of_rows(documents, blobs, aggregator, init):
    for X in (blobs[:300].astype(np.float32), documents[:300]):
        model = KhatriRaoKMeans(
            (2, 3), aggregator=aggregator, init=init, effort=0.05, n_init=1, random_state=0
        ).fit(X)
        again = clone(model).fit(X)
        assert_array_equal(model.labels_, again.labels_)
        assert np.isfinite(model.inertia_)


def test_many_centroids_are_started_cheaply():
    X, _ = make_blobs(4000, n_features=8, centers=60, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = KhatriRaoKMeans((40, 40), random_state=0, max_iter=20).fit(X)
        plain = KhatriRaoKMeans((40, 40), init="random", n_init=1, random_state=0, max_iter=20)
        assert model.inertia_ < plain.fit(X).inertia_


def test_a_callable_start_is_called(blobs):
    def start(X, n_protocentroids, random_state):
        assert n_protocentroids == (2, 3)
        return starting_sets(X, n_protocentroids, "sum", random_state.randint(100))

    model = KhatriRaoKMeans((2, 3), init=start, n_init=3, random_state=0).fit(blobs)
    assert model.labels_.max() <= 5


# --- bad input ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        ({"n_protocentroids": (0, 3)}, r"n_protocentroids\[0\] must be an integer of at least 1"),
        ({"n_protocentroids": (2, -1)}, r"n_protocentroids\[1\]"),
        ({"n_protocentroids": ()}, "must be a tuple of integers"),
        ({"n_protocentroids": (2, 2.5)}, r"n_protocentroids\[1\]"),
        ({"n_protocentroids": "33"}, "must be a tuple of integers"),
        ({"n_protocentroids": (h for h in (2, 3))}, "must be a tuple of integers"),
        ({"n_init": np.array([1, 2])}, "n_init must be an integer"),
        ({"n_protocentroids": (10**6,) * 4}, "1000000000000000000000000 centroids, more than"),
        ({"aggregator": "mean"}, "aggregator must be one of 'sum', 'product', got 'mean'"),
        ({"init": "kmeans"}, "init must be one of 'search'"),
        ({"init": [np.zeros((2, 2))]}, "a list of 2 arrays"),
        ({"init": [np.zeros((2, 2)), np.zeros((4, 2))]}, r"init\[1\].*does not match"),
        ({"init": [np.full((2, 2), np.nan), np.zeros((3, 2))]}, "NaN"),
        ({"effort": 0}, "effort must be a finite number"),
        ({"store_centroids": "yes"}, "store_centroids must be"),
        ({"max_iter": 0}, "max_iter"),
        ({"tol": -1.0}, "tol"),
    ],
)
def test_errors_name_parameter_value_and_remedy(parameters, match):
    X = np.random.default_rng(0).normal(size=(30, 2))
    with pytest.raises((ValueError, TypeError), match=match):
        KhatriRaoKMeans(**parameters).fit(X)


@pytest.mark.parametrize("aggregator", AGGREGATORS)
def test_more_centroids_than_rows_warn_and_work(aggregator):
    X = np.random.default_rng(0).normal(size=(7, 3))
    with pytest.warns(ConvergenceWarning, match="9 centroids for 7 rows"):
        model = KhatriRaoKMeans((3, 3), aggregator=aggregator, random_state=0).fit(X)
    assert np.isfinite(model.inertia_)
    assert len(model.labels_) == 7


def test_identical_rows_warn_and_work():
    X = np.ones((20, 2))
    for aggregator in AGGREGATORS:
        with pytest.warns(ConvergenceWarning, match="serve no row"):
            model = KhatriRaoKMeans((2, 3), aggregator=aggregator, random_state=0).fit(X)
        assert model.inertia_ == pytest.approx(0.0, abs=1e-12)


def test_a_feature_that_is_always_zero_stays_zero(blobs):
    X = blobs.copy()
    X[:, 3] = 0.0
    for stored in (True, False):
        model = KhatriRaoKMeans(
            (3, 4), aggregator="product", random_state=0, effort=0.1, store_centroids=stored
        ).fit(X)
        assert (model.cluster_centers_[:, 3] == 0).all()
        assert all(np.isfinite(theta).all() for theta in model.protocentroids_)


def test_heavy_rows_are_never_left_out_of_the_search():
    rng = np.random.default_rng(0)
    grid = (10 * rng.normal(size=(5, 1, 3)) + 10 * rng.normal(size=(1, 4, 3))).reshape(20, 3)
    X = np.concatenate([grid, rng.normal(size=(30000, 3))])
    weights = np.concatenate([np.full(20, 1e7), np.ones(30000)])
    model = KhatriRaoKMeans((5, 4), random_state=0, effort=0.3).fit(X, sample_weight=weights)
    assert model.inertia_ < 2 * float((X[20:] ** 2).sum()) + 1e-3 * 1e7 * float((grid**2).sum())


def test_sparse_rows_without_entries_are_no_trouble():
    X = sp.random_array((60, 400), density=0.05, format="csr", random_state=0)
    X.data[:] = 0
    for aggregator in AGGREGATORS:
        with pytest.warns(ConvergenceWarning):
            model = KhatriRaoKMeans((2, 3), aggregator=aggregator, random_state=0).fit(X)
        assert model.inertia_ == 0


@pytest.mark.parametrize("far", [1e5, 1e7, 1e8])
def test_far_vectors_that_cancel_do_not_spoil_the_inertia(far):
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(50, 2)), 50 + rng.normal(size=(50, 2))])
    start = [
        np.array([[far, far], [50 - far, 50 - far]]),
        np.array([[-far, -far], [far, far]]),
    ]
    model = KhatriRaoKMeans((2, 2), init=start).fit(X)
    assert_allclose(model.inertia_, -model.score(X), rtol=1e-6)
    assert (np.diff(model.history_["inertia"]) <= 1e-6 * model.history_["inertia"][0]).all()


@pytest.mark.parametrize("offset", [1e8, 1e13, 1e14])
def test_small_and_large_batches_agree_far_from_the_origin(offset):
    X, *_ = make_khatri_rao(5000, (6, 7), 4, noise=1.0, random_state=0)
    X = 10 * X + offset
    start = starting_sets(X, (6, 7), "sum")
    model = KhatriRaoKMeans((6, 7), init=start, max_iter=3, tol=0).fit(X)
    parts = [model.predict(part) for part in np.array_split(X, 10)]
    assert_array_equal(np.concatenate(parts), model.predict(X))


@pytest.mark.parametrize("scale", [1e-205, 1e200])
def test_weights_of_any_size_give_the_same_clusters(blobs, scale):
    X = blobs[:300]
    for aggregator in AGGREGATORS:
        for init in (starting_sets(X, (3, 4), aggregator), "residual", "search"):
            model = KhatriRaoKMeans(
                (3, 4), aggregator=aggregator, init=init, effort=0.05, random_state=0
            )
            plain = clone(model).fit(X)
            scaled = clone(model).fit(X, sample_weight=np.full(len(X), scale))
            assert_array_equal(plain.labels_, scaled.labels_)


def test_a_fitted_model_keeps_its_own_sizes(blobs):
    model = KhatriRaoKMeans((2, 3), init="residual", random_state=0).fit(blobs)
    expected = model.protolabels_
    model.set_params(n_protocentroids=(5, 5))
    assert_array_equal(model.predict_protolabels(blobs), expected)
    assert len(model.get_feature_names_out()) == model.transform(blobs).shape[1] == 6


@pytest.mark.parametrize("shape", [(150, 400), (400, 150), (100, 1000)])
def test_principal_axes_are_axes(shape):
    from polymeans.search.summary import principal_axes

    rng = np.random.default_rng(0)
    for rank in (3, 60):
        rows = rng.normal(size=(shape[0], rank)) @ rng.normal(size=(rank, shape[1]))
        rows -= rows.mean(axis=0)
        basis = principal_axes(rows, rng)
        assert_allclose(basis @ basis.T, np.eye(len(basis)), atol=1e-8)
        assert_allclose(rows @ basis.T @ basis, rows, atol=1e-6 * np.abs(rows).max())


def test_an_unused_protocentroid_is_employed(blobs):
    start = starting_sets(blobs, (3, 4), "sum")
    start[0][2] += 1e4
    start[1][1] -= 1e4
    model = KhatriRaoKMeans((3, 4), init=start).fit(blobs)
    assert len(np.unique(model.protolabels_[:, 0])) == 3
    assert len(np.unique(model.protolabels_[:, 1])) == 4


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(
    [
        KhatriRaoKMeans(effort=0.05),
        KhatriRaoKMeans((2, 2), aggregator="product", effort=0.05),
    ],
    expected_failed_checks=lambda estimator: dict.fromkeys(
        (
            "check_sample_weight_equivalence_on_dense_data",
            "check_sample_weight_equivalence_on_sparse_data",
        ),
        "sample weights change the random starts, as for scikit-learn's own KMeans",
    ),
)
def test_scikit_learn_conventions(estimator, check):
    check(estimator)
