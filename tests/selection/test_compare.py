"""Comparison of structures."""

import itertools

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits, load_iris
from sklearn.metrics import adjusted_rand_score

from polymeans import compare
from polymeans.blocks import from_sequence
from polymeans.datasets import make_documents, make_stick_figures
from polymeans.selection.comparison import RECORD, Comparison, pareto
from polymeans.selection.recommendation import recommend
from polymeans.selection.structures import bytes_of


@pytest.fixture(scope="module")
def figures():
    return make_stick_figures(300, random_state=0)[0]


@pytest.fixture(scope="module")
def comparison(figures):
    return compare(figures, 9, n_runs=2, random_state=0, n_threads=1)


def test_arms_and_legs_are_recommended(comparison):
    assert comparison.best_ == "NonRedundantKMeans/k"
    assert "of the numbers of free centroids" in comparison.reason_
    assert comparison.best_estimator_.labels_per_view_.shape == (300, 2)
    sums = comparison.table_[comparison.table_["structure"] == "KhatriRaoKMeans, sum"][0]
    assert sums["inertia"] <= 1.02 * comparison.table_["inertia"][0]
    assert sums["n_parameters"] == 6 * 400
    assert comparison.table_["agreement"][0] == 1.0
    assert comparison.n_samples_ == 300


def test_all_structures_are_fitted(comparison):
    table = comparison.table_
    assert set(table["structure"]) == {
        "KMeans",
        "L1KMeans",
        "QuickKMeans",
        "TransformedKMeans",
        "NonRedundantKMeans",
        "KhatriRaoKMeans, sum",
        "KhatriRaoKMeans, product",
    }
    assert (table["inertia"] > 0).all()
    assert (table["stability"] <= 1).all()
    equal = table[table["equal"] == "parameters"]
    assert len(equal) >= 3
    assert (equal["n_parameters"] <= 1.05 * table["n_parameters"][0]).all()
    assert (equal["n_clusters"] > 9).all()


def test_figures_are_those_of_the_models(comparison, figures):
    for line, model in zip(comparison.table_, comparison.estimators_, strict=True):
        assert line["n_parameters"] >= model.n_parameters_
        assert line["n_bytes"] == bytes_of(model)
        if line["structure"] in ("KMeans", "KhatriRaoKMeans, sum", "L1KMeans", "QuickKMeans"):
            assert line["inertia"] == pytest.approx(model.inertia_)
        elif line["structure"] == "TransformedKMeans":
            centers = model.cluster_centers_[model.labels_]
            assert line["inertia"] == pytest.approx(((figures - centers) ** 2).sum())
    labels = [model.predict(figures) for model in comparison.estimators_]
    for i, j in itertools.combinations(range(len(labels)), 2):
        if not any("NonRedundant" in comparison.table_["structure"][number] for number in (i, j)):
            score = adjusted_rand_score(labels[i], labels[j])
            assert comparison.agreement_[i, j] == pytest.approx(score)


def test_results_can_be_read(comparison):
    assert isinstance(comparison, Comparison)
    text = str(comparison)
    assert text.startswith("recommended: NonRedundantKMeans/k (")
    assert text == repr(comparison)
    assert comparison._repr_html_().count("font-weight:bold") > 5
    assert len(pd.DataFrame(comparison.table_)) == len(comparison.table_)


@pytest.mark.parametrize("seed", range(5))
def test_the_pareto_front_is_not_dominated(seed):
    rng = np.random.default_rng(seed)
    numbers, inertia = rng.integers(1, 6, 12), rng.integers(1, 6, 12).astype(float)
    slow = [
        not any(
            numbers[j] <= numbers[i]
            and inertia[j] <= inertia[i]
            and (numbers[j] < numbers[i] or inertia[j] < inertia[i])
            for j in range(12)
        )
        for i in range(12)
    ]
    assert pareto(numbers, inertia).tolist() == slow


def lines(*values):
    table = np.zeros(len(values), dtype=RECORD)
    for line, (name, numbers, inertia) in zip(table, values):
        line["structure"], line["equal"] = name, "k"
        line["n_parameters"], line["inertia"] = numbers, inertia
        line["n_bytes"] = 8 * numbers
        line["stability"] = np.nan
    return table


def stable_lines(*values):
    """The same with bytes and stability."""
    table = lines(*(value[:3] for value in values))
    for line, (*_, n_bytes, stability) in zip(table, values):
        line["n_bytes"], line["stability"] = n_bytes, stability
    return table


def test_recommendations():
    assert recommend(lines(("KMeans", 100, 10.0), ("A", 50, 10.4), ("B", 40, 10.45)))[0] == 2
    assert recommend(lines(("KMeans", 100, 10.0), ("A", 70, 10.0), ("B", 100, 9.0)))[0] == 2
    assert recommend(lines(("KMeans", 100, 10.0), ("A", 70, 10.0), ("B", 100, 9.9)))[0] == 0
    assert recommend(lines(("KMeans", 100, 0.0), ("A", 50, 0.0)))[0] == 0
    assert recommend(lines())[0] is None


@pytest.mark.parametrize(
    ("line", "chosen"),
    [
        (("A", 100, 9.0, 800, 0.9), 1),
        (("A", 100, 9.0, 1371, 0.9), 0),  # more bytes
        (("A", 100, 7.0, 1371, 0.9), 0),  # three quarters more bytes for a third less inertia
        (("A", 100, 4.0, 1371, 0.9), 1),
        (("A", 100, 9.0, 800, 0.7), 0),  # less stable
        (("A", 100, 7.9, 800, 0.7), 1),
        (("A", 50, 10.2, 800, 0.7), 0),
        (("A", 50, 10.2, 900, 0.9), 0),
        (("A", 50, 10.2, 800, 0.85), 1),
        (("A", 50, 10.2, 800, np.nan), 1),  # not known
    ],
)
def test_large_and_unstable_structures_are_passed_over(line, chosen):
    at, reason = recommend(stable_lines(("KMeans", 100, 10.0, 800, 0.9), line))
    assert at == chosen
    assert ("without more bytes or clearly less stable" in reason) == (chosen == 0)
    assert "no structure is stable" not in reason


def test_when_nothing_is_stable_it_is_said():
    table = stable_lines(("KMeans", 100, 10.0, 800, 0.03), ("A", 50, 10.0, 400, 0.4))
    at, reason = recommend(table)
    assert at == 1
    assert "no structure is stable" in reason
    assert "0.40 at most" in reason
    assert "choose_n_clusters" in reason
    table["stability"] = [0.03, 0.76]
    assert recommend(table)[1].endswith("at +0.0% inertia")
    table["stability"] = [0.76, 0.70]
    assert recommend(table)[1].endswith("with other seeds its clusters differ, stability 0.70")
    table["stability"] = np.nan
    assert "stable" not in recommend(table)[1]


def test_noise_is_not_taken_for_structure():
    X = np.random.default_rng(0).normal(size=(400, 10))
    result = compare(X, 20, n_runs=2, random_state=0, n_threads=1)
    assert result.table_["stability"][0] < 0.5
    assert "no structure is stable" in str(result)
    assert "choose_n_clusters" in result._repr_html_()


def test_flowers_are_not_stored_in_more_bytes():
    result = compare(load_iris().data, 3, random_state=0, n_threads=1)
    chosen = result.table_[
        [f"{a}/{b}" for a, b in result.table_[["structure", "equal"]].tolist()].index(result.best_)
    ]
    assert chosen["n_bytes"] <= result.table_["n_bytes"][0]
    assert chosen["stability"] >= result.table_["stability"][0] - 0.1


def test_what_there_is_no_time_for_is_left_out():
    result = compare(load_digits().data, 16, budget=1e-3, random_state=0)
    assert result.table_["structure"].tolist() == ["KMeans"]
    assert result.n_samples_ < result.n_given_ == 1797
    for text in (str(result), result._repr_html_()):
        assert f", on {result.n_samples_} of 1797 rows" in text
    assert len(result.skipped_) >= 8
    assert set(result.skipped_.values()) == {"no time left"}
    assert "not compared:" in str(result)
    assert result.best_ == "KMeans/k"


def test_a_long_budget_changes_nothing_but_the_effort(figures):
    result = compare(figures[:150], 4, budget=1e6, n_runs=1, random_state=0)
    assert not result.skipped_
    assert result.n_samples_ == result.n_given_ == 150
    assert "of 150 rows" not in str(result)


def test_a_sample_of_many_rows_is_named(figures, monkeypatch):
    from polymeans.selection import comparing

    monkeypatch.setattr(comparing, "_SAMPLE", 60)
    for X in (figures[:90], from_sequence(figures[:90])):
        result = compare(X, 3, budget=1e-3, n_runs=1, random_state=0, n_threads=1)
        assert "on 60 of 90 rows" in str(result)


def test_kinds_of_rows(figures):
    documents, _ = make_documents(60, 80, n_topics=3, random_state=0)
    for X in (documents, figures.astype(np.float32)[:60], from_sequence(figures[:60])):
        result = compare(X, 4, n_runs=1, random_state=0, n_threads=1)
        assert len(result.table_) >= 4
    assert sp.issparse(documents)


def test_rows_with_negative_values_have_no_products():
    X = np.random.default_rng(0).normal(size=(80, 4))
    result = compare(X, 4, n_runs=1, random_state=0, n_threads=1)
    assert "KhatriRaoKMeans, product" not in result.table_["structure"]


def test_progress_is_reported(figures):
    seen = []
    compare(figures[:80], 4, n_runs=1, random_state=0, progress=lambda *step: seen.append(step))
    assert [step[0] for step in seen] == list(range(1, len(seen) + 1))
    assert seen[-1][0] == seen[-1][1]


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"n_clusters": 1}, "n_clusters must be an integer of at least 2"),
        ({"n_clusters": 500}, "n_samples=300 should be >= n_clusters=500"),
        ({"budget": 0}, "budget must be a finite number larger than 0"),
        ({"n_runs": 0}, "n_runs must be an integer of at least 1"),
    ],
)
def test_errors_name_the_parameter(figures, given, text):
    with pytest.raises(ValueError, match=text):
        compare(figures, **given)
