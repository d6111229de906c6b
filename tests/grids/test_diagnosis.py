"""Verdicts of the diagnosis on data whose structure is known."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from polymeans.datasets import make_khatri_rao
from polymeans.grids import (
    diagnose_centroids,
    diagnose_structure,
)
from polymeans.grids.diagnosis import StructureReport
from tests.marks import long

VERDICTS = {"sum": "additive", "product": "multiplicative"}


@pytest.mark.parametrize("seed", [0, *long(1)])
@pytest.mark.parametrize("aggregator", ["sum", "product"])
def test_structure_of_rows_is_recognized(aggregator, seed):
    X, *_ = make_khatri_rao(
        600, (3, 4), 8, aggregator=aggregator, spread=0.7, noise=0.05, random_state=seed
    )
    report = diagnose_structure(X, 12, random_state=seed)
    assert report.verdict == VERDICTS[aggregator]
    assert report.n_protocentroids == (3, 4)
    evidence = getattr(report, report.verdict)
    assert evidence.share > 0.98
    assert report.strength == evidence.adjusted > 0.8


@pytest.mark.parametrize("seed", [0, *long(1)])
@pytest.mark.parametrize("aggregator", ["sum", "product"])
def test_interaction_alone_is_no_structure(aggregator, seed):
    X, *_ = make_khatri_rao(
        600, (3, 4), 8, aggregator=aggregator, interaction=1, spread=0.7, random_state=seed
    )
    report = diagnose_structure(X, (3, 4), random_state=seed)
    assert report.verdict == "none"
    assert report.strength == 0


def test_centroids_drawn_independently_have_no_structure():
    rng = np.random.default_rng(0)
    verdicts = [
        diagnose_centroids(rng.normal(size=(8, 3)), (2, 4), random_state=seed).verdict
        for seed in range(2)
    ]
    assert verdicts == ["none"] * 2


@pytest.mark.parametrize("interaction", [0.0, 0.3])
@pytest.mark.parametrize("aggregator", ["sum", "product"])
def test_known_protolabels_show_weak_structure_too(aggregator, interaction):
    X, protolabels, _ = make_khatri_rao(
        900, (4, 5), 10, aggregator=aggregator, interaction=interaction, spread=0.5, random_state=3
    )
    options = {"protolabels": protolabels, "random_state": 0}
    report = diagnose_structure(X, (4, 5), **options)
    assert report.verdict == VERDICTS[aggregator]
    if interaction and aggregator == "sum":
        assert report.additive.share == pytest.approx(0.7, abs=0.03)
    sparse = diagnose_structure(csr_array(X), (4, 5), **options)
    assert getattr(sparse, report.verdict).share == pytest.approx(report_share(report))


def report_share(report):
    return getattr(report, report.verdict).share


def test_weights_are_repetitions_and_empty_cells_are_left_out():
    X, protolabels, _ = make_khatri_rao(200, (3, 4), 5, interaction=0.2, random_state=0)
    keep = (protolabels != [0, 1]).any(axis=1)
    X, protolabels = X[keep], protolabels[keep]
    weight = np.random.default_rng(0).integers(0, 3, size=len(X))
    weighted = diagnose_structure(
        X, (3, 4), protolabels=protolabels, sample_weight=weight, random_state=0
    )
    repeated = diagnose_structure(
        np.repeat(X, weight, axis=0),
        (3, 4),
        protolabels=np.repeat(protolabels, weight, axis=0),
        random_state=0,
    )
    assert weighted.additive.share == pytest.approx(repeated.additive.share)
    assert weighted.multiplicative.share == pytest.approx(repeated.multiplicative.share)


def test_what_chance_explains_as_well_is_no_evidence():
    centers = np.random.default_rng(0).normal(size=(5, 3))
    for odd, sizes in ((centers, (5,)), (np.zeros((4, 3)), (2, 2)), (centers[:1], (1, 1))):
        report = diagnose_centroids(odd, sizes, n_null=19, random_state=0)
        assert report.verdict == "none"
        assert report.additive.adjusted == 0


def test_report_can_be_read():
    report = diagnose_centroids(np.eye(4), (2, 2), n_null=3, random_state=0)
    first, head, *rows, advice = str(report).splitlines()
    assert first == "structure on a 2 x 2 grid: none"
    assert head.split() == ["share", "chance", "adjusted", "p-value"]
    assert [row.split()[0] for row in rows] == ["additive", "multiplicative"]
    assert advice.startswith("Next: KMeans(4). ")
    evidence = report.additive
    found = StructureReport("additive", 0.9, (3, 3), evidence, evidence)
    assert 'KhatriRaoKMeans((3, 3), aggregator="sum"), 6 vectors for 9 clusters' in str(found)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"protolabels": np.zeros((4, 3), int)}, r"protolabels must have shape .*\(4, 2\)"),
        ({"protolabels": np.full((4, 2), 2)}, "protolabels must be from 0 to 1 in column 0"),
        ({"n_null": 0}, "n_null must be"),
        ({"n_protocentroids": (0, 2)}, "n_protocentroids must be"),
    ],
)
def test_errors_of_the_diagnosis_name_the_parameter(change, message):
    arguments = {"X": np.eye(4), "n_protocentroids": (2, 2)} | change
    with pytest.raises(ValueError, match=message):
        diagnose_structure(**arguments)
