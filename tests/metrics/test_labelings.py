"""Several labelings of the same rows: against brute force, invariance, known values, errors."""

import math
from itertools import combinations, permutations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import (
    adjusted_mutual_info_score,
    adjusted_rand_score,
    normalized_mutual_info_score,
)
from sklearn.metrics.cluster import pair_confusion_matrix

from polymeans.metrics import (
    PairScores,
    average_variation_of_information,
    labelings_confusion,
    mutual_information_matrix,
    pair_f1_score,
    pair_scores,
    purity,
    unsupervised_accuracy,
    variation_of_information,
    view_redundancy,
)


def tables(n_columns, n_rows):
    """Labels of so many rows and columns."""
    row = st.lists(st.integers(0, 3), min_size=n_columns, max_size=n_columns)
    return st.lists(row, min_size=n_rows, max_size=n_rows).map(np.array)


@st.composite
def two_sides(draw):
    """One to three known labelings, one to three found ones, of up to twelve rows."""
    n_rows = draw(st.integers(1, 12))
    return tuple(draw(tables(draw(st.integers(1, 3)), n_rows)) for _ in range(2))


labelings = st.tuples(st.integers(1, 4), st.integers(1, 30)).flatmap(lambda size: tables(*size))

#: Two columns or more.
several = st.tuples(st.integers(2, 4), st.integers(1, 30)).flatmap(lambda size: tables(*size))


# --- oracles -----------------------------------------------------------------------------------


def without_constant(labels):
    varied = [j for j in range(labels.shape[1]) if len(set(labels[:, j])) > 1]
    return labels[:, varied] if varied else labels


def pairs_together(labels):
    return {
        (a, b)
        for a, b in combinations(range(len(labels)), 2)
        if any(x == y for x, y in zip(labels[a], labels[b]))
    }


def scores_by_listing(true, pred):
    true, pred = pairs_together(true), pairs_together(pred)
    if not true and not pred:
        return PairScores(1, 1, 1)
    both = len(true & pred)
    precision = both / len(pred) if pred else 0
    recall = both / len(true) if true else 0
    return PairScores(precision, recall, 2 * both / (len(true) + len(pred)))


def entropy_of(labels, weights=None):
    """Of hashable labels, by the definition."""
    weights = [1] * len(labels) if weights is None else weights
    total = sum(weights)
    shares = [
        sum(w for x, w in zip(labels, weights) if x == label) / total for label in set(labels)
    ]
    return -sum(p * math.log(p) for p in shares if p)


def variation_by_definition(a, b, weights=None):
    """``H(a|b) + H(b|a) = 2 H(a, b) - H(a) - H(b)``."""
    joint = entropy_of(list(zip(a, b)), weights)
    return 2 * joint - entropy_of(list(a), weights) - entropy_of(list(b), weights)


# --- pairs of rows -----------------------------------------------------------------------------


@given(two_sides())
def test_pairs_are_those_of_a_list(sides):
    true, pred = sides
    expected = scores_by_listing(without_constant(true), without_constant(pred))
    assert pair_scores(true, pred) == expected
    assert pair_f1_score(true, pred) == expected.f1
    assert pair_scores(true, pred, drop_constant=False) == scores_by_listing(true, pred)
    assert all(type(value) is float for value in pair_scores(true, pred))


@given(two_sides())
def test_sides_trade_precision_for_recall(sides):
    precision, recall, f1 = pair_scores(*sides)
    assert pair_scores(*sides[::-1]) == (recall, precision, f1)
    assert 0 <= min(precision, recall) <= f1 <= max(precision, recall) <= 1


@given(two_sides())
def test_one_labeling_is_counted_as_in_scikit_learn(sides):
    true, pred = sides[0][:, 0], sides[1][:, 0]
    (_, wrong), (missed, right) = pair_confusion_matrix(true, pred)
    scores = pair_scores(true, pred, drop_constant=False)
    if right + wrong and right + missed:
        assert scores.precision == right / (right + wrong)
        assert scores.recall == right / (right + missed)


@settings(max_examples=50, deadline=None)
@given(two_sides(), st.permutations("abcd"), st.permutations(range(4)), st.randoms())
def test_names_and_order_do_not_matter(sides, words, numbers, random):
    true, pred = sides
    columns = random.sample(range(true.shape[1]), true.shape[1])
    renamed_true = np.array(words)[true][:, columns]
    renamed_pred = np.array(numbers)[pred] / 3 - 1
    assert pair_scores(renamed_true, renamed_pred) == pair_scores(true, pred)
    assert pair_scores(renamed_true.tolist(), renamed_pred.tolist()) == pair_scores(true, pred)
    assert pair_scores(renamed_true.astype(object), pred) == pair_scores(true, pred)
    assert pair_scores(pd.DataFrame(renamed_true), pd.DataFrame(pred)) == pair_scores(true, pred)
    scores = labelings_confusion(true, pred).scores[columns]
    assert labelings_confusion(renamed_true, renamed_pred).scores == pytest.approx(scores)
    information = mutual_information_matrix(true)[np.ix_(columns, columns)]
    assert mutual_information_matrix(renamed_true) == pytest.approx(information)
    assert view_redundancy(renamed_true) == pytest.approx(view_redundancy(true), abs=1e-12)


@settings(max_examples=50, deadline=None)
@given(labelings)
def test_perfect_is_exact(labels):
    named = np.array(["d", "a", "c", "b"])[labels[:, ::-1]]
    assert pair_scores(labels, named) == (1, 1, 1)
    assert variation_of_information(labels[:, 0], named[:, -1]) == 0
    confusion = labelings_confusion(labels, named)
    assert confusion.mean == confusion.minimum == 1
    assert (np.diag(confusion.scores[:, ::-1]) == 1).all()
    assert labelings_confusion(labels, named, score="ami").minimum == pytest.approx(1)


def test_repeated_and_noisy_columns_change_nothing():
    rng = np.random.default_rng(0)
    true, pred = rng.integers(3, size=(50, 2)), rng.integers(4, size=(50, 2))
    repeated = np.column_stack([true, true[:, 0], np.full(50, 7)])
    assert pair_scores(repeated, pred) == pair_scores(true, pred)
    everything = pair_scores(repeated, pred, drop_constant=False)
    assert everything.precision == 1
    assert everything.recall < pair_scores(true, pred).recall


def test_a_side_of_constant_columns_puts_all_together():
    assert pair_scores([[1, 2]] * 4, [0, 0, 0, 1]) == (1, 0.5, 2 / 3)
    assert pair_scores([[1, 2]] * 4, [["a"]] * 4) == (1, 1, 1)


def test_nothing_to_find():
    apart = np.arange(6).reshape(3, 2)
    assert pair_scores(apart, apart) == (1, 1, 1)
    assert pair_scores(apart, [0, 0, 1]) == (0, 0, 0)
    assert pair_scores([0, 0, 1], apart) == (0, 0, 0)


def test_a_single_row():
    row = [["a", "b"]]
    assert pair_scores(row, [3]) == (1, 1, 1)
    assert average_variation_of_information(row) == 0
    assert (mutual_information_matrix(row) == 1).all()
    assert view_redundancy(row) == 0
    assert labelings_confusion(row, [3]).mean == 0.5  # the second labeling has no partner


def test_counts_of_many_rows_are_exact():
    m = 100_000
    rows = np.arange(9 * m)
    true = np.column_stack([rows % 3, rows // 3 % 3])
    in_one, in_both = 3 * math.comb(3 * m, 2), 9 * math.comb(m, 2)
    scores = pair_scores(true, true[:, :1])
    assert scores.precision == 1
    assert scores.recall == in_one / (2 * in_one - in_both)


def test_sets_that_agree_in_no_pair_are_not_refined():
    # Steps of different slopes modulo a prime: no two columns put the same pair together, so 16 of
    # the 2^16 sets matter, and 120 more are looked at.
    prime = 211
    columns = np.outer(np.arange(prime), np.arange(1, 17)) % prime // 2
    true, pred = columns[:, :8], columns[:, 8:]
    scores = pair_scores(true, pred)
    assert scores == scores_by_listing(true, pred) == (0, 0, 0)


# --- distances and redundancy ------------------------------------------------------------------


@given(several)
def test_variation_is_its_definition(labels):
    expected = variation_by_definition(labels[:, 0], labels[:, 1])
    distance = variation_of_information(labels[:, 0], labels[:, 1])
    assert distance == pytest.approx(expected, abs=1e-12)
    assert type(distance) is float
    assert 0 <= distance <= math.log(len(labels)) + 1e-12
    assert variation_of_information(labels[:, 1], labels[:, 0]) == pytest.approx(distance)
    expected = np.mean([variation_by_definition(a, b) for a, b in combinations(labels.T, 2)])
    assert average_variation_of_information(labels) == pytest.approx(expected, abs=1e-12)


@given(st.integers(1, 30).flatmap(lambda n: tables(3, n)))
def test_variation_is_a_distance(labels):
    a, b, c = labels.T
    detour = variation_of_information(a, b) + variation_of_information(b, c)
    assert variation_of_information(a, c) <= detour + 1e-12


@settings(max_examples=50, deadline=None)
@given(several, st.data())
def test_a_weight_is_a_repetition(labels, data):
    size = len(labels)
    weights = np.array(
        data.draw(st.lists(st.integers(0, 3), min_size=size, max_size=size).filter(any))
    )
    repeated = np.repeat(labels, weights, axis=0)
    for scale in (1, 7):
        given_weights = {"sample_weight": weights / scale}
        assert variation_of_information(*labels.T[:2], **given_weights) == pytest.approx(
            variation_of_information(*repeated.T[:2]), abs=1e-12
        )
        assert average_variation_of_information(labels, **given_weights) == pytest.approx(
            average_variation_of_information(repeated), abs=1e-12
        )
        for other in (None, labels[:, :1]):
            expected = mutual_information_matrix(
                repeated, None if other is None else repeated[:, :1]
            )
            matrix = mutual_information_matrix(labels, other, **given_weights)
            assert matrix == pytest.approx(expected, abs=1e-7)


@settings(max_examples=50, deadline=None)
@given(two_sides())
def test_information_is_that_of_scikit_learn(sides):
    labels, other = sides
    expected = [[normalized_mutual_info_score(a, b) for b in other.T] for a in labels.T]
    matrix = mutual_information_matrix(labels, other)
    assert matrix == pytest.approx(np.array(expected), abs=1e-9)
    assert mutual_information_matrix(other, labels) == pytest.approx(matrix.T, abs=1e-12)
    itself = mutual_information_matrix(labels)
    assert (np.diag(itself) == 1).all()
    assert (itself == itself.T).all()
    assert itself == pytest.approx(mutual_information_matrix(labels, labels))


@given(labelings)
def test_redundancy_is_its_definition(labels):
    alone = sum(entropy_of(list(column)) for column in labels.T)
    together = entropy_of([tuple(row) for row in labels])
    expected = 1 - together / alone if alone else 0
    redundancy = view_redundancy(labels, correct_bias=False)
    assert redundancy == pytest.approx(expected, abs=1e-12)
    most = 1 - 1 / labels.shape[1]
    assert 0 <= redundancy <= most
    assert 0 <= view_redundancy(labels) <= most
    assert type(view_redundancy(labels)) is float


def test_independent_labels():
    grid = np.array([(a, b) for a in range(3) for b in range(3)])
    assert average_variation_of_information(grid) == pytest.approx(2 * math.log(3))
    assert (mutual_information_matrix(grid) == np.eye(2)).all()
    assert view_redundancy(grid) == 0
    assert view_redundancy(grid, correct_bias=False) == pytest.approx(0, abs=1e-15)


def test_equal_labels():
    labels = np.tile(np.array([0, 0, 1, 2, 2, 2])[:, None], 4)
    assert average_variation_of_information(labels) == 0
    assert (mutual_information_matrix(labels) == 1).all()
    assert view_redundancy(labels) == pytest.approx(0.75)
    assert view_redundancy(labels[:, 0]) == 0
    assert view_redundancy(np.zeros((5, 3))) == 0


def test_a_constant_labeling_tells_nothing():
    labels = np.column_stack([np.zeros(6), np.arange(6) % 3])
    assert (mutual_information_matrix(labels) == np.eye(2)).all()
    assert variation_of_information(*labels.T) == pytest.approx(math.log(3))
    assert view_redundancy(labels) == pytest.approx(0, abs=1e-15)


def test_the_correction_removes_most_of_the_bias():
    rng = np.random.default_rng(0)
    samples = [rng.integers(5, size=(200, 2)) for _ in range(20)]
    biased = np.mean([view_redundancy(labels, correct_bias=False) for labels in samples])
    corrected = np.mean([view_redundancy(labels) for labels in samples])
    assert corrected < biased / 3


# --- labeling by labeling ----------------------------------------------------------------------


@given(two_sides(), st.sampled_from(["nmi", "ari", "accuracy"]))
def test_the_matching_is_the_best_of_all(sides, score):
    confusion = labelings_confusion(*sides, score=score)
    scores = confusion.scores
    assert scores.shape == (sides[0].shape[1], sides[1].shape[1])
    wide = scores if scores.shape[0] <= scores.shape[1] else scores.T
    rows = range(wide.shape[0])
    best = max(wide[rows, order].sum() for order in permutations(range(wide.shape[1]), len(rows)))
    assert confusion.matched.sum() == pytest.approx(best)
    n_true = len(confusion.scores)
    assert confusion.mean == pytest.approx(best / n_true)
    assert confusion.minimum == min([0.0] * (n_true > len(rows)) + [*confusion.matched])
    assert len(set(confusion.pred_columns)) == len(set(confusion.true_columns)) == len(rows)


@pytest.mark.parametrize(
    ("score", "function"),
    [
        ("nmi", normalized_mutual_info_score),
        ("ami", adjusted_mutual_info_score),
        ("ari", adjusted_rand_score),
        ("accuracy", unsupervised_accuracy),
        (purity, purity),
        (lambda a, b: -variation_of_information(a, b), lambda a, b: -variation_by_definition(a, b)),
    ],
)
def test_scores(score, function):
    rng = np.random.default_rng(1)
    true, pred = rng.integers(3, size=(60, 2)), rng.integers(4, size=(60, 3))
    pred[:40, 2] = true[:40, 0]
    expected = np.array([[function(a, b) for b in pred.T] for a in true.T])
    confusion = labelings_confusion(true, pred, score=score)
    assert confusion.scores == pytest.approx(expected)
    assert confusion.pred_columns[0] == 2


def test_a_callable_sees_the_labels():
    def same_word(a, b):
        return float(np.mean(a == b))

    true = [["x", 1], ["y", 2], ["x", 2]]
    confusion = labelings_confusion(true, ["x", "y", "y"], score=same_word)
    assert confusion.scores == pytest.approx(np.array([[2 / 3], [0]]))


# --- errors ------------------------------------------------------------------------------------

BAD_LABELS = [
    ([], "must have at least one label"),
    (3, r"must have one column for each labeling, got shape \(\)"),
    (np.zeros((2, 0)), r"one column for each labeling, got shape \(2, 0\)"),
    (np.zeros((2, 2, 2)), r"one column for each labeling, got shape \(2, 2, 2\)"),
    ([[0.0, math.nan], [1.0, 2.0]], "must not have missing labels, got 1 NaN"),
    ([["a", math.nan], ["b", "c"]], "must not have missing labels, got 1 NaN"),
    (np.array([[0, math.nan], [1, 2]], dtype=object), "must not have missing labels, got 1 NaN"),
    ([["a", None], ["b", "c"]], "labels that can be sorted, got a mixture of NoneType, str"),
    ([[0, 1], [2]], "equally many labels in each row"),
]


@pytest.mark.parametrize(("labels", "message"), BAD_LABELS)
def test_bad_labels(labels, message):
    for score in (pair_scores, pair_f1_score, labelings_confusion):
        with pytest.raises((ValueError, TypeError), match=f"labels_true .*{message}"):
            score(labels, [0, 1])
        with pytest.raises((ValueError, TypeError), match=f"labels_pred .*{message}"):
            score([0, 1], labels)
    for score in (average_variation_of_information, mutual_information_matrix, view_redundancy):
        with pytest.raises((ValueError, TypeError), match=f"labels .*{message}"):
            score(labels)
    with pytest.raises((ValueError, TypeError), match=f"other .*{message}"):
        mutual_information_matrix([0, 1], labels)


def test_a_distance_is_between_single_labelings():
    with pytest.raises(ValueError, match=r"labels_b must have one dimension, got shape \(2, 2\)"):
        variation_of_information([0, 1], [[0, 1], [1, 0]])
    with pytest.raises(ValueError, match="labels_a must not have missing labels, got 1 NaN"):
        variation_of_information(["a", math.nan], [0, 1])
    with pytest.raises(ValueError, match="at least two columns, got 1"):
        average_variation_of_information([0, 1, 1])


@pytest.mark.parametrize(
    ("score", "names"),
    [
        (pair_scores, "labels_true and labels_pred"),
        (labelings_confusion, "labels_true and labels_pred"),
        (variation_of_information, "labels_a and labels_b"),
        (mutual_information_matrix, "labels and other"),
    ],
)
def test_different_rows(score, names):
    with pytest.raises(ValueError, match=f"{names} must have .*got 3 and 2 labels"):
        score([0, 1, 1], [0, 1])


def test_bad_weights():
    for weights in ([1.0], [1.0, -1.0], [0.0, 0.0]):
        with pytest.raises(ValueError, match=r"(?i)sample.?weight"):
            variation_of_information([0, 1], [0, 1], sample_weight=weights)
        for score in (average_variation_of_information, mutual_information_matrix):
            with pytest.raises(ValueError, match=r"(?i)sample.?weight"):
                score([[0, 1], [1, 0]], sample_weight=weights)


def test_too_many_columns():
    labels = np.random.default_rng(0).integers(2, size=(20, 9))
    with pytest.raises(ValueError, match="at most 16 columns together, got 9 and 8"):
        pair_scores(labels, labels[:, :8])
    # Columns that are left out do not count.
    constant = np.zeros((20, 30))
    assert pair_scores(constant, constant).f1 == 1


def test_bad_scores():
    with pytest.raises(ValueError, match=r"score must be one of 'nmi', .* got 'vi'"):
        labelings_confusion([0, 1], [0, 1], score="vi")
    with pytest.raises(TypeError, match="score must be one of"):
        labelings_confusion([0, 1], [0, 1], score=None)
    with pytest.raises(ValueError, match="score must return finite numbers, got nan"):
        labelings_confusion([0, 1], [0, 1], score=lambda a, b: math.nan)


def test_a_confusion_prints_as_a_table():
    known = [["red", "disk"], ["red", "ring"], ["blue", "disk"], ["blue", "ring"]]
    found = [[0, 1, 0], [1, 1, 0], [0, 2, 0], [1, 2, 0]]
    lines = str(labelings_confusion(known, found)).splitlines()
    assert lines[0].split() == ["found", "0", "found", "1", "found", "2"]
    assert lines[1].split() == ["known", "0", "0.000", "1.000*", "0.000"]
    assert lines[2].split() == ["known", "1", "1.000*", "0.000", "0.000"]
    assert lines[3] == "mean 1.000, lowest 1.000 (* matched)"
