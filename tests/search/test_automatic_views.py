"""Automatic choice of views: what it finds, what it leaves alone, and the parts it is made of."""

import warnings

import numpy as np
import pytest
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.optimize import linear_sum_assignment
from sklearn.base import clone
from sklearn.isotonic import isotonic_regression

from polymeans import NonRedundantKMeans
from polymeans.datasets import make_nonredundant, make_stick_figures
from polymeans.metrics import labelings_confusion
from polymeans.search.views.dependence_tree import DependenceTree, mutual_information
from polymeans.search.views.gain import WITHIN_FLOOR, gain, parameter_penalty, scatters
from polymeans.search.views.independent_components import CONTRASTS, unmix
from tests.marks import long


def gaussian(seed):
    """An elongated cloud without clusters."""
    rng = np.random.default_rng(seed)
    turn = np.linalg.qr(rng.normal(size=(8, 8)))[0]
    return (rng.normal(size=(800, 8)) * np.linspace(5, 1, 8)) @ turn


NOTHING = {
    "gaussian": gaussian,
    "uniform": lambda seed: np.random.default_rng(seed).uniform(size=(800, 5)),
    "t": lambda seed: np.random.default_rng(seed).standard_t(5, size=(800, 5)),
    "exponential": lambda seed: np.random.default_rng(seed).exponential(size=(800, 5)),
}


@pytest.mark.parametrize("seed", [0, *long(1, 2)])
@pytest.mark.parametrize("sizes", [(3, 4, 5), (2, 3), (2, 2), (5,)])
def test_hidden_views_are_found(sizes, seed):
    X, labels, _ = make_nonredundant(700, sizes, n_noise=6, random_state=seed)
    model = NonRedundantKMeans("auto", random_state=seed).fit(X)
    assert sorted(model.n_clusters_) == sorted(sizes)
    assert labelings_confusion(labels, model.labels_per_view_).minimum > 0.95


def test_stick_figures_are_arms_and_legs():
    images, poses = make_stick_figures(450, random_state=0)
    model = NonRedundantKMeans("auto", random_state=0).fit(images)
    assert model.n_clusters_ == (3, 3)
    assert labelings_confusion(poses, model.labels_per_view_).minimum == 1


@pytest.mark.parametrize("seed", [0, *long(1)])
@pytest.mark.parametrize("name", NOTHING)
def test_nothing_is_found_where_nothing_is(name, seed):
    X = NOTHING[name](seed)
    model = NonRedundantKMeans("auto", random_state=seed).fit(X)
    assert model.n_clusters_ == ()
    assert model.n_views_ == 0
    assert model.labels_per_view_.shape == (len(X), 0)
    assert not model.labels_.any()
    assert model.transform(X).shape == (len(X), 0)
    assert model.rotation_.shape == (X.shape[1], 0)
    assert (model.predict(X[:3]) == 0).all()
    np.testing.assert_allclose(model.cluster_centers_, X.mean(axis=0)[None], atol=1e-12)
    np.testing.assert_allclose(model.inertia_, np.sum((X - X.mean(axis=0)) ** 2))


def test_views_come_in_the_order_of_what_they_explain():
    X, _, _ = make_nonredundant(700, (3, 4), n_noise=4, random_state=1)
    model = NonRedundantKMeans("auto", random_state=0).fit(X)
    assert (np.diff(model.explained_variance_ratio_) <= 0).all()
    assert model.main_view_ == 0


def test_everything_tried_is_kept_as_a_table():
    pandas = pytest.importorskip("pandas")
    X, _, _ = make_nonredundant(600, (3, 4), n_noise=4, random_state=0)
    table = pandas.DataFrame(NonRedundantKMeans("auto", random_state=0).fit(X).table_)
    assert len(table) > 3
    assert table["chosen"].sum() == 1
    assert table["gain"].is_monotonic_decreasing
    assert table.loc[table["chosen"], "redundancy"].item() <= 0.05
    assert len(NonRedundantKMeans((3, 4)).fit(X).table_) == 0


def test_a_finer_resolution_sees_smaller_views():
    X, _, _ = make_nonredundant(700, (3, 4), n_noise=0, scales=(40, 1), random_state=0)
    assert NonRedundantKMeans("auto", resolution=0.1, random_state=0).fit(X).n_clusters_ == (3,)
    finer = NonRedundantKMeans("auto", resolution=0.005, random_state=0).fit(X)
    assert sorted(finer.n_clusters_) == [3, 4]


def test_same_bits_for_any_number_of_threads():
    X, _, _ = make_nonredundant(500, (3, 4), random_state=0)
    one, two = (NonRedundantKMeans("auto", random_state=0, n_threads=n).fit(X) for n in (1, 2))
    np.testing.assert_array_equal(one.labels_per_view_, two.labels_per_view_)
    np.testing.assert_array_equal(one.rotation_, two.rotation_)
    assert one.table_.tolist() == two.table_.tolist()


def test_a_second_fit_forgets_the_first():
    X, _, _ = make_nonredundant(500, (3, 4), random_state=0)
    model = NonRedundantKMeans("auto", random_state=0)
    model.fit(gaussian(0))
    assert sorted(model.fit(X).n_clusters_) == [3, 4]
    np.testing.assert_array_equal(model.labels_, clone(model).fit(X).labels_)


@pytest.mark.parametrize("X", [np.ones((30, 3)), np.arange(6.0).reshape(3, 2), [[1.0, 2.0]]])
def test_too_little_to_see_anything(X):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = NonRedundantKMeans("auto", random_state=0).fit(X)
    assert model.n_clusters_ == ()


def test_tails_that_look_like_a_view_are_warned_about():
    rng = np.random.default_rng(0)
    around = 9 * np.array([[1, 0, 0], [-0.5, 0.87, 0], [-0.5, -0.87, 0], [0, 0, 1], [0, 0, -1]])
    centers = np.concatenate([np.zeros((1, 3)), around])
    X = centers[rng.choice(6, size=1000, p=[0.8, *[0.04] * 5])] + 0.2 * rng.normal(size=(1000, 3))
    with pytest.warns(UserWarning, match="tails"):
        model = NonRedundantKMeans("auto", random_state=0).fit(X)
    assert model.n_views_ > 0


def test_labels_to_begin_with_need_numbers_of_clusters():
    with pytest.raises(ValueError, match="Give the numbers of clusters too"):
        NonRedundantKMeans("auto", init=np.zeros((20, 1))).fit(gaussian(0)[:20])


def test_sparse_and_whitened_rows():
    import scipy.sparse as sp

    X, labels, _ = make_nonredundant(600, (3, 4), n_noise=4, random_state=1)
    dense = NonRedundantKMeans("auto", random_state=0).fit(X)
    sparse = NonRedundantKMeans("auto", random_state=0).fit(sp.csr_array(X))
    assert dense.n_clusters_ == sparse.n_clusters_
    assert labelings_confusion(dense.labels_per_view_, sparse.labels_per_view_).minimum > 0.99
    white = NonRedundantKMeans("auto", whiten=4, random_state=0).fit(X)
    assert labelings_confusion(labels, white.labels_per_view_).minimum > 0.9


# --- parts ----------------------------------------------------------------------------------------


def slow_gain(points, labels, k, n_searched, floor):
    """The definition, cluster by cluster."""
    n, m = points.shape
    total = np.atleast_2d(np.cov(points.T, bias=True))
    within = np.zeros((m, m))
    disorder = 0.0
    for c in range(k):
        part = points[labels == c]
        within += len(part) / n * np.atleast_2d(np.cov(part.T, bias=True))
        disorder -= len(part) / n * np.log(len(part) / n)
    wide = np.linalg.det((1 + WITHIN_FLOOR) * total + floor)
    narrow = np.linalg.det(within + WITHIN_FLOOR * total + floor)
    numbers = (k - 1) * (m + 1) + m * (n_searched - m)
    return n / 2 * np.log(wide / narrow) - n * disorder - np.log(n) / 2 * numbers


@pytest.mark.parametrize("m", [1, 2, 4])
def test_gain_is_its_definition(m):
    rng = np.random.default_rng(m)
    points, labels = rng.normal(size=(60, m)) + 3, rng.integers(3, size=60)
    floor = 0.1 * np.eye(m)
    found = gain(points, np.ones(60), labels, 3, 6, floor)
    np.testing.assert_allclose(found, slow_gain(points, labels, 3, 6, floor))


def test_gain_of_weights_is_that_of_repeated_rows():
    rng = np.random.default_rng(0)
    points, labels = rng.normal(size=(50, 2)), rng.integers(2, size=50)
    weights = rng.integers(1, 4, size=50)
    repeated = gain(
        np.repeat(points, weights, 0), np.ones(weights.sum()), labels.repeat(weights), 2
    )
    np.testing.assert_allclose(gain(points, weights.astype(float), labels, 2), repeated)


def test_an_elongated_cloud_gains_nothing_by_being_cut():
    X = gaussian(0)
    longest = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)[2][0]
    labels = (X @ longest > np.median(X @ longest)).astype(int)
    assert gain((X @ longest)[:, None], np.ones(len(X)), labels, 2) < 0


@pytest.mark.parametrize("m", [1, 3])
def test_joining_clusters_costs_what_the_gains_differ_by(m):
    from polymeans.kernels.merging import merge_clusters

    rng = np.random.default_rng(m)
    points, labels, k = rng.normal(size=(80, m)), np.arange(80) % 5, 5
    points += 2 * rng.normal(size=(5, m))[labels]
    total, within, shares = scatters(points, np.ones(80), labels, k)
    means = np.stack([points[labels == c].mean(axis=0) for c in range(k)])
    inverse = np.linalg.inv(within + WITHIN_FLOOR * total)
    gains, joined = np.empty(k), np.zeros((k, 2), dtype=np.int64)
    each = parameter_penalty(80, m, 2)
    merge_clusters(means, shares * 80, inverse, each, gains, joined)
    whole = gain(points, np.ones(80), labels, k)
    for left in range(k - 1, 0, -1):
        # Of all pairs, the one that was joined is the best.
        options = {}
        for a in np.unique(labels):
            for b in np.unique(labels[labels > a]):
                trial = np.unique(np.where(labels == b, a, labels), return_inverse=True)[1]
                options[a, b] = gain(points, np.ones(80), trial, left)
        best = max(options, key=options.get)
        assert tuple(joined[left - 1]) == best
        labels = np.where(labels == best[1], best[0], labels)
        np.testing.assert_allclose(whole + gains[left - 1], options[best], rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("seed", range(5))
def test_single_peak_is_the_best_of_all_peaks(seed):
    from polymeans.kernels.single_peak import single_peak

    rng = np.random.default_rng(seed)
    shares, widths = rng.dirichlet(np.ones(9)), rng.uniform(0.1, 2, size=9)
    heights = shares / widths
    best = -np.inf
    for peak in range(9):
        # Up to the peak, and down from it; each by scikit-learn.
        up = isotonic_regression(heights[: peak + 1], sample_weight=widths[: peak + 1])
        steps = np.concatenate([up, heights[peak + 1 :]])
        down = isotonic_regression(steps[peak:], sample_weight=widths[peak:], increasing=False)
        steps = np.concatenate([steps[:peak], down])
        steps /= steps @ widths
        best = max(best, shares @ np.log(steps))
    np.testing.assert_allclose(single_peak(shares, widths), best)


@pytest.mark.parametrize("contrast", CONTRASTS)
def test_independent_sources_are_taken_apart(contrast):
    rng = np.random.default_rng(0)
    sources = np.stack(
        [rng.uniform(-1, 1, 2000), np.sign(rng.normal(size=2000)) + 0.2 * rng.normal(size=2000)], 1
    )
    sources = (sources - sources.mean(0)) / sources.std(0)
    mixed = sources @ np.linalg.qr(rng.normal(size=(2, 2)))[0]
    left, _, _ = np.linalg.svd(mixed, full_matrices=False)
    white = left * np.sqrt(len(mixed))
    rotation = unmix(white, np.ones(2000), contrast, rng)
    np.testing.assert_allclose(rotation @ rotation.T, np.eye(2), atol=1e-12)
    agreement = np.abs(np.corrcoef((white @ rotation.T).T, sources.T)[:2, 2:])
    assert agreement[linear_sum_assignment(-agreement)].min() > 0.98


def test_mutual_information_of_bins():
    rng = np.random.default_rng(0)
    x = rng.normal(size=3000)
    columns = np.stack([x, x**3, rng.normal(size=3000)], axis=1)
    information = mutual_information(columns, np.ones(3000))
    np.testing.assert_allclose(information, information.T)
    np.testing.assert_allclose(information[0, 1], np.log(6), atol=0.01)
    assert information[0, 2] < 0.01


def test_cuts_of_the_tree_are_those_of_scipy():
    rng = np.random.default_rng(0)
    information = np.abs(np.corrcoef(rng.normal(size=(7, 12))))
    tree = DependenceTree(information)
    assert tree.n_leaves == 7
    apart = (information.max() - information)[np.triu_indices(7, 1)]
    for n_groups in range(1, 8):
        expected = fcluster(linkage(apart, "average"), n_groups, "maxclust")
        groups = {tree.members[node] for node in tree.cut(n_groups)}
        assert groups == {tuple(np.flatnonzero(expected == g)) for g in np.unique(expected)}
