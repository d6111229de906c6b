"""Generated data: what it promises, and that what it hides can be found again."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.metrics import adjusted_rand_score

from polymeans import KMeans
from polymeans.datasets import (
    documents,
    make_documents,
    make_double_digits,
    make_khatri_rao,
    make_stick_figures,
)
from polymeans.metrics import unsupervised_accuracy

# --- documents ---------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(1, 1), (1, 50), (40, 1), (300, 700), (50, 3)])
def test_unit_rows_of_the_shape_asked_for(shape):
    X, topics = make_documents(*shape, n_topics=4, random_state=0)
    assert X.shape == shape
    assert X.dtype == np.float64
    assert X.has_sorted_indices
    assert X.indices.dtype == X.indptr.dtype == np.int32
    assert (X.data > 0).all()
    np.testing.assert_allclose(sp.linalg.norm(X, axis=1), 1.0)
    assert topics.shape == shape[:1]
    assert set(topics) <= set(range(4))


def test_same_seed_same_documents():
    X, topics = make_documents(200, 300, 5, random_state=1)
    again, topics_again = make_documents(200, 300, 5, random_state=1)
    np.testing.assert_array_equal(X.indptr, again.indptr)
    np.testing.assert_array_equal(X.indices, again.indices)
    np.testing.assert_array_equal(X.data, again.data)
    np.testing.assert_array_equal(topics, topics_again)
    other, _ = make_documents(200, 300, 5, random_state=2)
    assert abs(X - other).max() > 0


def test_values_are_tf_idf():
    counts = np.random.default_rng(0).integers(0, 4, (30, 12))
    counts[:, 0] += 1  # no document is empty
    owners, words = np.nonzero(counts)
    times = counts[owners, words]
    ours = documents._tf_idf(np.repeat(owners, times), np.repeat(words, times), counts.shape)
    theirs = TfidfTransformer(sublinear_tf=True).fit_transform(counts)
    np.testing.assert_allclose(ours.toarray(), theirs.toarray())


def test_words_follow_zipf():
    X, _ = make_documents(3000, 500, 5, length=20, overlap=1.0, random_state=0)
    shares = X.count_nonzero(axis=0) / X.shape[0]
    # Of rare words nearly every use is in another document, so shares fall like 1 / rank.
    assert (np.diff(shares[[0, 3, 10, 30, 100, 300]]) < 0).all()
    assert shares[50:100].mean() / shares[200:400].mean() == pytest.approx(4, rel=0.1)


@pytest.mark.parametrize("length", [1, 50])
def test_length_is_the_mean_number_of_words(length, monkeypatch):
    monkeypatch.setattr(documents, "_tf_idf", lambda document, word, shape: np.bincount(document))
    words, _ = make_documents(4000, 100, 3, length=length, random_state=0)
    assert len(words) == 4000
    assert words.min() >= 1  # which is why very short ones are a little longer on average
    assert words.mean() == pytest.approx(length, rel=0.05, abs=0.5)
    assert words.max() > 3 * length


def test_topics_can_be_found_again():
    X, topics = make_documents(1200, 1500, 6, random_state=0)
    model = KMeans(6, metric="cosine", n_init=5, random_state=0).fit(X)
    assert adjusted_rand_score(topics, model.labels_) > 0.8


def test_overlap_hides_the_topics():
    scores = []
    for overlap in (0.3, 0.9, 1.0):
        X, topics = make_documents(1200, 1500, 6, overlap=overlap, random_state=0)
        labels = KMeans(6, metric="cosine", n_init=5, random_state=0).fit_predict(X)
        scores.append(adjusted_rand_score(topics, labels))
    assert scores[0] > scores[1] + 0.1
    assert scores[1] > scores[2] + 0.1
    assert abs(scores[2]) < 0.02


def test_many_documents_take_no_table_of_rows_and_words():
    X, _ = make_documents(20_000, 10_000, 50, random_state=0)
    assert X.shape == (20_000, 10_000)
    assert X.nnz < 0.05 * X.shape[0] * X.shape[1]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_samples": 0}, "n_samples must be an integer of at least 1, got 0"),
        ({"n_features": 2.5}, "n_features"),
        ({"n_topics": 0}, "n_topics"),
        ({"length": 0}, "length must be a finite number of at least 1, got 0"),
        ({"length": float("inf")}, "length"),
        ({"length": "long"}, "length"),
        ({"overlap": -0.1}, "overlap must be a number between 0 and 1, got -0.1"),
        ({"overlap": 1.1}, "overlap"),
        ({"overlap": float("nan")}, "overlap"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises((ValueError, TypeError), match=message):
        make_documents(**parameters)


# --- Khatri-Rao --------------------------------------------------------------------------------


def cell_means(X, protolabels, grid):
    """Mean row of each combination, as an array of shape ``(*grid, n_features)``."""
    cells = np.ravel_multi_index(protolabels.T, grid)
    means = [X[cells == cell].mean(axis=0) for cell in range(np.prod(grid))]
    return np.reshape(means, (*grid, X.shape[1]))


def interaction_share(centroids):
    """Share of the variance that a least-squares fit of summed protocentroids leaves."""
    grid = centroids.shape[:-1]
    cells = np.indices(grid).reshape(len(grid), -1)
    design = np.hstack([np.eye(h)[which] for h, which in zip(grid, cells)])
    flat = centroids.reshape(cells.shape[1], -1)
    left = flat - design @ np.linalg.lstsq(design, flat)[0]
    return (left**2).sum() / ((flat - flat.mean(axis=0)) ** 2).sum()


GRIDS = [(3, 3), (2, 5), (2, 3, 4), (4, 1, 2), (2, 2, 2, 2)]


@pytest.mark.parametrize("aggregator", ["sum", "product"])
@pytest.mark.parametrize("grid", [(1,), (5,), *GRIDS])
def test_rows_are_combinations_of_protocentroids(grid, aggregator):
    X, protolabels, protocentroids = make_khatri_rao(
        100, grid, 7, aggregator=aggregator, noise=0, random_state=0
    )
    assert X.shape == (100, 7)
    assert X.dtype == np.float64
    assert protolabels.shape == (100, len(grid))
    assert protolabels.dtype == np.int64
    assert [part.shape for part in protocentroids] == [(h, 7) for h in grid]
    combine = np.sum if aggregator == "sum" else np.prod
    for row, which in zip(X, protolabels):
        parts = [part[h] for part, h in zip(protocentroids, which)]
        np.testing.assert_allclose(row, combine(parts, axis=0), rtol=1e-12)
    if aggregator == "product":
        assert X.min() > 0


@pytest.mark.parametrize("aggregator", ["sum", "product"])
@pytest.mark.parametrize("grid", GRIDS)
@pytest.mark.parametrize("share", [0.0, 0.2, 1.0])
def test_interaction_is_the_share_that_has_no_structure(grid, aggregator, share):
    n = 2 * np.prod(grid)
    X, protolabels, protocentroids = make_khatri_rao(
        n, grid, 6, aggregator=aggregator, interaction=share, noise=0, random_state=3
    )
    if aggregator == "product":
        assert X.min() > 0
        X, protocentroids = np.log(X), [np.log(part) for part in protocentroids]
    centroids = cell_means(X, protolabels, grid)
    assert interaction_share(centroids) == pytest.approx(share, abs=1e-12)
    # What is returned is the best fit: nothing of the rest is left in the mean over other sets.
    cells = np.indices(grid)
    structured = sum(part[which] for part, which in zip(protocentroids, cells))
    for axis in range(len(grid)):
        others = tuple(other for other in range(len(grid)) if other != axis)
        left = (centroids - structured).mean(axis=others)
        np.testing.assert_allclose(left, 0, atol=1e-12)


def test_interaction_keeps_the_variance_of_the_centroids():
    def total(share):
        X, labels, _ = make_khatri_rao(60, (3, 4), 5, interaction=share, noise=0, random_state=0)
        return cell_means(X, labels, (3, 4)).reshape(12, -1).var(axis=0).sum()

    assert total(0.4) == pytest.approx(total(0.0))
    assert total(1.0) == pytest.approx(total(0.0))


def test_independent_centroids_have_the_interaction_the_docstring_says():
    rng = np.random.default_rng(0)
    for grid in [(3, 3), (2, 3, 4)]:
        free = 1 - sum(h - 1 for h in grid) / (np.prod(grid) - 1)
        found = interaction_share(rng.normal(size=(*grid, 3000)))
        assert found == pytest.approx(free, abs=0.02)


@pytest.mark.parametrize("aggregator", ["sum", "product"])
def test_noise_and_spread_are_standard_deviations(aggregator):
    common = {"n_features": 200, "aggregator": aggregator, "random_state": 0}
    exact, labels, parts = make_khatri_rao(900, (6, 6), noise=0, spread=0.7, **common)
    noisy, labels_again, _ = make_khatri_rao(900, (6, 6), noise=0.3, spread=0.7, **common)
    np.testing.assert_array_equal(labels, labels_again)
    assert (noisy - exact).std() == pytest.approx(0.3, rel=0.02)
    assert abs((noisy - exact).mean()) < 0.01
    entries = np.concatenate(parts)
    if aggregator == "product":
        entries = np.log(entries)
    assert entries.std() == pytest.approx(0.7, rel=0.05)


@pytest.mark.parametrize("n", [1, 5, 9, 100])
def test_combinations_are_balanced(n):
    _, protolabels, _ = make_khatri_rao(n, (3, 3), random_state=0)
    sizes = np.bincount(np.ravel_multi_index(protolabels.T, (3, 3)), minlength=9)
    assert sizes.max() - sizes.min() <= 1


def test_weights_say_how_often():
    weights = np.array([[1, 0, 2], [3, 4, 0]])
    _, protolabels, _ = make_khatri_rao(20_000, (2, 3), weights=weights, random_state=0)
    sizes = np.bincount(np.ravel_multi_index(protolabels.T, (2, 3)), minlength=6)
    np.testing.assert_allclose(sizes.reshape(2, 3) / 20_000, weights / 10, atol=0.01)
    assert (sizes.reshape(2, 3)[weights == 0] == 0).all()


def test_more_combinations_than_memory_has_room_for():
    X, protolabels, _ = make_khatri_rao(50, (1000,) * 5, 500, random_state=0)
    assert X.shape == (50, 500)
    assert (protolabels.min(axis=0) < 200).all()
    assert (protolabels.max(axis=0) > 800).all()


def test_khatri_rao_rows_can_be_found_again():
    X, protolabels, _ = make_khatri_rao(600, (3, 4), 10, random_state=0)
    labels = KMeans(12, n_init=5, random_state=0).fit_predict(X)
    truth = np.ravel_multi_index(protolabels.T, (3, 4))
    assert unsupervised_accuracy(truth, labels) > 0.99


# --- images ------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [16, 20, 21, 64])
def test_poses_are_sums_of_an_upper_and_a_lower_body(size):
    images, poses = make_stick_figures(18, size=size, noise=0, random_state=0)
    assert images.shape == (18, size * size)
    assert images.min() == 0
    assert images.max() == 1
    figures = cell_means(images, poses, (3, 3)).reshape(3, 3, size, size)
    assert interaction_share(figures.reshape(3, 3, -1)) < 1e-12
    # Arms change only upper pixels, legs only lower ones, and all nine figures differ.
    by_arms, by_legs = np.ptp(figures, axis=0).max(axis=0), np.ptp(figures, axis=1).max(axis=0)
    assert not (by_arms * by_legs).any()
    assert np.flatnonzero(by_arms.any(axis=1)).max() < np.flatnonzero(by_legs.any(axis=1)).min()
    assert len(np.unique(figures.reshape(9, -1), axis=0)) == 9


def test_figures_stand_upright_about_a_column_of_full_ink():
    for size in (20, 21):
        images, poses = make_stick_figures(9, size=size, noise=0, random_state=0)
        figures = images.reshape(-1, size, size)
        axis = size // 2
        np.testing.assert_allclose(figures[:, size // 2, axis], 1)
        symmetric = figures[poses[:, 1] < 2]  # all but the kicking ones
        left, right = symmetric[:, :, axis - 9 : axis], symmetric[:, :, axis + 1 : axis + 10]
        np.testing.assert_allclose(left, right[:, :, ::-1], atol=1e-12)


def test_poses_are_balanced_and_can_be_found_again():
    images, poses = make_stick_figures(450, random_state=0)
    assert images.min() >= 0
    assert images.max() <= 1
    truth = 3 * poses[:, 0] + poses[:, 1]
    assert (np.bincount(truth) == 50).all()
    labels = KMeans(9, n_init=10, random_state=0).fit_predict(images)
    assert unsupervised_accuracy(truth, labels) == 1


def test_double_digits_are_two_digits_side_by_side():
    X, digits = make_double_digits(300, random_state=0)
    assert X.shape == (300, 128)
    assert X.min() == 0
    assert X.max() == 1
    assert digits.dtype == np.int64
    values, names = load_digits(return_X_y=True)
    known = {image.tobytes(): name for image, name in zip(values, names)}
    halves = 16 * X.reshape(300, 8, 16)
    for side, columns in enumerate((slice(0, 8), slice(8, 16))):
        found = [known[np.ascontiguousarray(half[:, columns]).tobytes()] for half in halves]
        np.testing.assert_array_equal(found, digits[:, side])
    # Drawn independently: all digits on both sides, most of the hundred pairs.
    assert set(digits[:, 0]) == set(digits[:, 1]) == set(range(10))
    assert len(np.unique(digits, axis=0)) > 80


# --- all of these ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make",
    [
        make_khatri_rao,
        lambda **k: make_khatri_rao(interaction=0.3, weights=np.ones((3, 3)), **k),
        make_stick_figures,
        make_double_digits,
    ],
)
def test_same_seed_same_rows(make):
    X, labels, *_ = make(random_state=1)
    again, labels_again, *_ = make(random_state=np.random.RandomState(1))
    np.testing.assert_array_equal(X, again)
    np.testing.assert_array_equal(labels, labels_again)
    other, *_ = make(random_state=2)
    assert (other != X).any()


@pytest.mark.parametrize(
    ("make", "parameters", "message"),
    [
        (make_khatri_rao, {"n_samples": 0}, "n_samples must be an integer of at least 1, got 0"),
        (make_khatri_rao, {"n_features": 0}, "n_features"),
        (make_khatri_rao, {"n_protocentroids": 9}, "n_protocentroids must be a sequence.*got 9"),
        (make_khatri_rao, {"n_protocentroids": "33"}, "n_protocentroids must be a sequence"),
        (make_khatri_rao, {"n_protocentroids": ()}, "at least one set"),
        (
            make_khatri_rao,
            {"n_protocentroids": (3, 0)},
            r"n_protocentroids\[1\] must be an integer",
        ),
        (make_khatri_rao, {"aggregator": "mean"}, "aggregator must be one of 'sum', 'product'"),
        (make_khatri_rao, {"interaction": 1.5}, "interaction must be a number between 0 and 1"),
        (
            make_khatri_rao,
            {"interaction": 0.1, "n_protocentroids": (1, 4)},
            r"interaction must be 0 for n_protocentroids=\(1, 4\)",
        ),
        (make_khatri_rao, {"noise": -1}, "noise must be a finite number of at least 0, got -1"),
        (make_khatri_rao, {"spread": float("nan")}, "spread"),
        (make_khatri_rao, {"weights": [1, 2]}, r"weights must have shape \(3, 3\), got \(2,\)"),
        (make_khatri_rao, {"weights": -np.eye(3)}, "weights must be finite, not negative"),
        (make_khatri_rao, {"weights": np.zeros((3, 3))}, "not all zero"),
        (make_stick_figures, {"n_samples": -1}, "n_samples"),
        (make_stick_figures, {"size": 8}, "size must be an integer of at least 16, got 8. Small"),
        (make_stick_figures, {"noise": "low"}, "noise"),
        (make_double_digits, {"n_samples": 1.5}, "n_samples"),
    ],
)
def test_bad_parameters_of_structured_rows(make, parameters, message):
    with pytest.raises((ValueError, TypeError), match=message):
        make(**parameters)
