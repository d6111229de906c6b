"""Rows with several clusterings: each is there, where it is said to be, and nowhere else."""

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from polymeans.datasets import make_colored_letters, make_nonredundant
from tests.marks import long


def agreement(X, truth):
    """How well plain k-means finds a clustering again."""
    n_clusters = len(np.unique(truth))
    labels = KMeans(n_clusters, n_init=4, random_state=0).fit_predict(X)
    return adjusted_rand_score(truth, labels)


def views(X, rotation, dims):
    """Coordinates of each view, and those of the noise."""
    return np.split(X @ rotation, np.cumsum(dims), axis=1)


def centers_of(view, labels):
    return np.array([view[labels == cluster].mean(axis=0) for cluster in np.unique(labels)])


def smallest_distance(centers):
    distances = np.linalg.norm(centers[:, np.newaxis] - centers, axis=2)
    return distances[np.triu_indices(len(centers), 1)].min()


# --- views -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n_clusters", "n_dims", "dims"),
    [
        ((3, 4, 5), None, (2, 2, 2)),
        ((1, 2, 3, 7), None, (1, 1, 2, 2)),
        ((3, 2), 4, (4, 4)),
        ([2, 6], [3, 1], (3, 1)),
        (np.array([2, 6]), np.array([3, 1]), (3, 1)),
        (4, None, (2,)),
        (4, 3, (3,)),
        (2, None, (1,)),
        (2, (5,), (5,)),
    ],
)
@pytest.mark.parametrize("n_noise", [0, 3])
@pytest.mark.parametrize("rotate", [True, False])
def test_shapes_are_those_asked_for(n_clusters, n_dims, dims, n_noise, rotate):
    X, labels, rotation = make_nonredundant(
        50, n_clusters, n_dims=n_dims, n_noise=n_noise, rotate=rotate, random_state=0
    )
    d = sum(dims) + n_noise
    counts = np.atleast_1d(n_clusters)
    assert X.shape == (50, d)
    assert X.dtype == rotation.dtype == np.float64
    assert X.flags.c_contiguous
    assert np.isfinite(X).all()
    assert labels.shape == (50, len(counts))
    assert labels.dtype == np.int64
    assert rotation.shape == (d, d)
    for view, k in zip(labels.T, counts):
        sizes = np.bincount(view, minlength=k)
        assert len(sizes) == k
        assert np.ptp(sizes) <= 1


def test_more_clusters_than_rows():
    X, labels, _ = make_nonredundant(5, (9, 1), random_state=0)
    assert X.shape == (5, 11)
    assert len(np.unique(labels[:, 0])) == 5


@pytest.mark.parametrize("seed", [0, *long(1, 2, 3)])
@pytest.mark.parametrize("options", [{}, {"scales": (10, 1, 0.1)}, {"separation": 8, "n_dims": 3}])
def test_each_view_is_found_in_its_own_subspace_only(seed, options):
    X, labels, rotation = make_nonredundant(600, random_state=seed, **options)
    dims = np.full(3, options.get("n_dims", 2))
    *parts, noise = views(X, rotation, dims)
    assert noise.shape == (600, 8)
    for i, part in enumerate(parts):
        for j, truth in enumerate(labels.T):
            if i == j:
                assert agreement(part, truth) > 0.99
            else:
                assert abs(agreement(part, truth)) < 0.05


def test_rotation_is_orthogonal_and_uniform():
    _, _, rotation = make_nonredundant(10, n_noise=60, random_state=0)
    np.testing.assert_allclose(rotation.T @ rotation, np.eye(66), rtol=0, atol=1e-12)
    # In the plane: reflections half of the time, and all angles alike.
    turns = np.array(
        [make_nonredundant(2, 2, n_noise=1, random_state=seed)[2] for seed in range(400)]
    )
    assert np.mean(np.linalg.det(turns) > 0) == pytest.approx(0.5, abs=0.1)
    for corner in turns[:, 0, 0], turns[:, 1, 1]:
        assert np.mean(corner > 0) == pytest.approx(0.5, abs=0.1)
        assert np.mean(corner**2) == pytest.approx(0.5, abs=0.1)


def test_without_rotation_columns_are_the_dimensions():
    X, labels, rotation = make_nonredundant(random_state=0)
    plain, labels_again, identity = make_nonredundant(rotate=False, random_state=0)
    np.testing.assert_array_equal(identity, np.eye(14))
    np.testing.assert_array_equal(labels, labels_again)
    np.testing.assert_allclose(X @ rotation, plain, atol=1e-12)


def test_scatter_and_noise_have_the_standard_deviations_given():
    X, labels, rotation = make_nonredundant(
        6000, scales=(3, 1, 0.5), noise_scale=1.0, random_state=0
    )
    *parts, noise = views(X, rotation, (2, 2, 2))
    np.testing.assert_allclose(noise.std(axis=0), 1, atol=0.05)
    np.testing.assert_allclose(noise.mean(axis=0), 0, atol=0.05)
    for part, truth, scale in zip(parts, labels.T, (3, 1, 0.5)):
        scatter = part - centers_of(part, truth)[truth]
        np.testing.assert_allclose(scatter.std(axis=0), scale, rtol=0.05)
    # Neither are dimensions correlated once the clusters are known.
    correlations = np.corrcoef(np.hstack([scatter, noise]).T)
    assert abs(correlations - np.eye(10)).max() < 0.06
    wide = make_nonredundant(6000, noise_scale=2.5, rotate=False, random_state=0)[0]
    np.testing.assert_allclose(wide[:, 6:].std(axis=0), 2.5, rtol=0.05)


@pytest.mark.parametrize(("k", "m", "separation"), [(5, 2, 6), (20, 1, 6), (30, 2, 10), (2, 1, 40)])
def test_centers_keep_their_distance(k, m, separation):
    X, labels, _ = make_nonredundant(
        40_000, k, n_dims=m, n_noise=0, separation=separation, rotate=False, random_state=1
    )
    # Means of so many rows are the centers, but for an error of about 0.1.
    assert smallest_distance(centers_of(X, labels[:, 0])) > separation - 0.2


def test_centers_fall_where_they_may_without_separation():
    def distances(**options):
        rows = [
            make_nonredundant(2000, 6, n_noise=0, random_state=seed, rotate=False, **options)
            for seed in range(10)
        ]
        return np.array([smallest_distance(centers_of(X, labels[:, 0])) for X, labels, _ in rows])

    assert distances().min() > 5.5
    assert np.median(distances(separation=None)) < 4
    np.testing.assert_array_equal(distances(separation=None), distances(separation=0))
    np.testing.assert_allclose(distances(separation=0, center_scale=0), 0, atol=0.5)


def test_center_scale_is_a_standard_deviation():
    X, _, _ = make_nonredundant(
        400, 400, n_dims=5, separation=None, center_scale=20, rotate=False, random_state=0
    )
    assert X[:, :5].std() == pytest.approx(20, rel=0.05)


def test_views_are_independent():
    _, labels, _ = make_nonredundant(5000, random_state=0)
    for i, j in ((0, 1), (0, 2), (1, 2)):
        assert normalized_mutual_info_score(labels[:, i], labels[:, j]) < 0.01


def test_dependence_ties_later_views_to_the_first():
    def shared(dependence):
        _, labels, _ = make_nonredundant(
            1200, (4, 4, 2), dependence=dependence, separation=None, random_state=0
        )
        for view in labels.T:
            assert np.ptp(np.bincount(view)) == 0  # sizes stay equal
        return [adjusted_rand_score(labels[:, 0], labels[:, view]) for view in (1, 2)], labels

    scores, _ = zip(*(shared(share) for share in (0, 0.3, 0.6, 1)))
    assert (np.diff(scores, axis=0) > 0.02).all()
    (same, _), labels = shared(1)
    assert same == 1
    np.testing.assert_array_equal(labels[:, 0] // 2, labels[:, 2])


def test_dependence_where_numbers_of_clusters_do_not_divide():
    _, labels, _ = make_nonredundant(1200, (3, 4, 5), dependence=1, random_state=0)
    for view, k in ((1, 4), (2, 5)):
        assert (np.bincount(labels[:, view]) == 1200 // k).all()
        assert 0.6 < normalized_mutual_info_score(labels[:, 0], labels[:, view]) < 1


# --- draws -------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [make_nonredundant, make_colored_letters])
def test_same_seed_same_bits(make):
    given = make(random_state=1)
    again = make(random_state=np.random.RandomState(1))
    for one, other in zip(given, again):
        np.testing.assert_array_equal(one, other)
    assert (make(random_state=2)[0] != given[0]).any()


def test_options_leave_other_draws_as_they_are():
    def plain(n_clusters=(3, 4), **options):
        rows, labels, _ = make_nonredundant(
            100, n_clusters, rotate=False, random_state=0, **options
        )
        return rows, labels

    X, labels = plain()
    # Other centers are not another scatter, and no other noise.
    apart, labels_apart = plain(separation=30)
    np.testing.assert_array_equal(labels, labels_apart)
    np.testing.assert_array_equal(X[:, 4:], apart[:, 4:])
    for view, columns in enumerate((slice(0, 2), slice(2, 4))):
        shift = apart[:, columns] - X[:, columns]
        means = centers_of(shift, labels[:, view])
        np.testing.assert_allclose(shift, means[labels[:, view]], atol=1e-12)
    scaled, _ = plain(scales=(1, 3), noise_scale=2)
    np.testing.assert_allclose(scaled, X * np.repeat([1, 3, 2], [2, 2, 8]), atol=1e-12)
    # What is added comes last.
    np.testing.assert_array_equal(plain(n_noise=9)[0][:, :12], X)
    more, labels_more = plain(n_clusters=(3, 4, 5))
    np.testing.assert_array_equal(more[:, :4], X[:, :4])
    np.testing.assert_array_equal(more[:, 6:], X[:, 4:])
    np.testing.assert_array_equal(labels_more[:, :2], labels)
    # The first view is the one others depend on.
    tied, labels_tied = plain(dependence=0.5)
    np.testing.assert_array_equal(tied[:, :2], X[:, :2])
    assert 0.3 < np.mean(labels_tied[:, 1] != labels[:, 1]) < 0.5


# --- letters -----------------------------------------------------------------------------------


def test_letters_can_be_shown():
    images, labels = make_colored_letters(144, noise=0, random_state=0)
    assert images.shape == (144, 189)
    assert images.dtype == np.float64
    assert labels.shape == (144, 3)
    assert labels.dtype == np.int64
    assert (np.bincount(np.ravel_multi_index(labels.T, (6, 3, 4))) == 2).all()
    pictures = images.reshape(-1, 9, 7, 3)
    letters = pictures[:, 2:7, 1:6]
    ink = letters.any(axis=3)
    shapes = [np.unique(ink[labels[:, 0] == letter], axis=0) for letter in range(6)]
    assert [len(shape) for shape in shapes] == [1] * 6
    shapes = np.concatenate(shapes).reshape(6, 25)
    assert (shapes[:, np.newaxis] != shapes).sum(axis=2)[np.triu_indices(6, 1)].min() >= 10
    # One of three channels is dark throughout a letter, which makes cyan, magenta, yellow.
    for picture, pixels, color in zip(letters, ink, labels[:, 1]):
        expected = np.ones(3)
        expected[color] = 0
        np.testing.assert_array_equal(picture[pixels], np.tile(expected, (pixels.sum(), 1)))


def test_the_mark_is_white_and_in_the_corner_of_its_label():
    images, labels = make_colored_letters(72, noise=0, random_state=0)
    pictures = images.reshape(-1, 9, 7, 3)
    corners = pictures[:, [0, 0, 8, 8], [0, 6, 0, 6]]
    np.testing.assert_array_equal(corners, np.repeat(np.eye(4)[labels[:, 2], :, None], 3, axis=2))
    pictures[:, 2:7, 1:6] = 0
    assert (pictures.sum(axis=(1, 2, 3)) == 6).all()  # two white pixels and nothing else


def test_each_labeling_of_letters_can_be_found_again():
    images, labels = make_colored_letters(random_state=0)
    assert images.min() == 0
    assert images.max() == 1
    corners = images.reshape(-1, 9, 7, 3)[:, [0, 0, 8, 8], [0, 6, 0, 6]].reshape(-1, 12)
    assert agreement(corners, labels[:, 2]) == 1
    energies = []
    for truth in labels.T:
        centers = centers_of(images, truth)
        centers -= centers.mean(axis=0)
        # The plane of the centers is where this labeling lives, if a method only knew it.
        plane = np.linalg.svd(centers, full_matrices=False)[2][: len(centers) - 1]
        assert agreement(images @ plane.T, truth) > 0.99
        energies.append((centers**2).sum(axis=1).mean())
    # None of the three drowns the others.
    assert max(energies) < 2 * min(energies)


def test_noise_keeps_the_letters():
    _, labels = make_colored_letters(200, noise=0, random_state=3)
    noisy, labels_again = make_colored_letters(200, noise=0.3, random_state=3)
    np.testing.assert_array_equal(labels, labels_again)
    assert noisy.min() == 0
    assert noisy.max() == 1


# --- bad input ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_samples": 0}, "n_samples must be an integer of at least 1, got 0"),
        ({"n_clusters": 0}, "n_clusters must be an integer of at least 1, got 0. Give the number"),
        ({"n_clusters": 2.5}, "n_clusters must be an integer"),
        ({"n_clusters": (3, 0)}, r"n_clusters\[1\] must be an integer of at least 1, got 0"),
        ({"n_clusters": (3, "4")}, r"n_clusters\[1\]"),
        ({"n_clusters": "34"}, "n_clusters must be an integer or a sequence.*got '34'"),
        ({"n_clusters": None}, "n_clusters must be an integer or a sequence.*got None"),
        ({"n_clusters": ()}, "n_clusters must have at least one view"),
        ({"n_dims": (2, 2)}, r"n_dims must have 3 entries.*got 2: \(2, 2\). Give one"),
        ({"n_dims": 0}, "n_dims must be an integer of at least 1, got 0"),
        ({"n_dims": (1, 2, 1.5)}, r"n_dims\[2\] must be an integer"),
        ({"n_dims": "auto"}, "n_dims must be a number or a sequence.*got 'auto'"),
        ({"n_noise": -1}, "n_noise must be an integer of at least 0, got -1"),
        ({"separation": -1}, "separation must be a finite number.*got -1. None leaves"),
        ({"separation": "far"}, "separation"),
        ({"center_scale": -1}, "center_scale must be a finite number of at least 0, got -1"),
        ({"center_scale": 0}, "center_scale must be above 0 for separation=6.0, got 0"),
        ({"scales": (1, 2)}, r"scales must have 3 entries.*got 2: \(1, 2\)"),
        ({"scales": (1, 2, 0)}, r"scales\[2\] must be above 0, got 0"),
        ({"scales": -1}, "scales must be a finite number of at least 0, got -1"),
        ({"scales": None}, "scales must be a number or a sequence.*got None"),
        ({"noise_scale": float("nan")}, "noise_scale"),
        ({"dependence": 1.5}, "dependence must be a number between 0 and 1, got 1.5"),
        ({"dependence": -0.1}, "dependence"),
        ({"dependence": "high"}, "dependence"),
    ],
)
def test_bad_parameters_of_views(parameters, message):
    with pytest.raises((ValueError, TypeError), match=message):
        make_nonredundant(**parameters)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_samples": 0}, "n_samples must be an integer of at least 1, got 0"),
        ({"noise": -0.1}, "noise must be a finite number of at least 0, got -0.1"),
    ],
)
def test_bad_parameters_of_letters(parameters, message):
    with pytest.raises((ValueError, TypeError), match=message):
        make_colored_letters(**parameters)
