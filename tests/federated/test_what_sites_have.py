"""Rows of sites that do not belong together, or that no site can have."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

from polymeans import KhatriRaoKMeans, KMeans, NonRedundantKMeans, TransformedKMeans
from polymeans.federated import (
    Coordinator,
    Privacy,
    Site,
    TooFewSitesError,
    run_federated,
    simulate,
)
from polymeans.federated.simulation import InProcess
from tests.federated.test_exact import rows_of

NAMES = list("abcd")


@pytest.fixture
def parts():
    return np.split(rows_of(np.float64, n=300, d=4), 3)


def frames(parts):
    return [pd.DataFrame(part, columns=NAMES) for part in parts]


@pytest.mark.parametrize(
    "options",
    [{}, {"method": "local"}, {"secure": True}, {"privacy": Privacy(50.0, rho=5.0, rounds=3)}],
    ids=["exact", "local", "secure", "privacy"],
)
def test_names_of_columns_become_those_of_the_model(parts, options):
    expected = simulate(KMeans(3, random_state=0), parts, random_state=0, **options).model
    model = simulate(KMeans(3, random_state=0), frames(parts), random_state=0, **options).model
    assert list(model.feature_names_in_) == NAMES
    assert not hasattr(expected, "feature_names_in_")
    np.testing.assert_array_equal(model.cluster_centers_, expected.cluster_centers_)
    assert model.predict(frames(parts)[0]).shape == (100,)


@pytest.mark.parametrize(
    "estimator", [KMeans(3, random_state=0), KhatriRaoKMeans((2, 2), random_state=0)]
)
def test_columns_in_another_order_are_refused(parts, estimator):
    """Their sums would be added to those of other features."""
    north, south, west = frames(parts)
    sites = [Site("north", north, seed=0), Site("west", west, seed=2)]
    turned = Site("south", south[NAMES[::-1]], seed=1)
    alone = simulate(estimator, sites, random_state=0)
    run = simulate(estimator, [*sites, turned], random_state=0)
    assert "its column 0 is 'd', that of others 'a'" in run.rounds[0].refused["south"]
    assert run.model.inertia_ == alone.model.inertia_


@pytest.mark.parametrize("first", [pd.DataFrame, pa.Table.from_pandas, pl.from_pandas])
@pytest.mark.parametrize("second", [pa.Table.from_pandas, pl.from_pandas])
def test_names_of_all_libraries_are_compared(first, second, parts):
    north, south, _ = frames(parts)
    start = KMeans(3, init=parts[0][:3])
    run = simulate(start, [first(north), second(south)])
    assert not run.rounds[0].refused
    assert list(run.model.feature_names_in_) == NAMES
    run = simulate(start, [first(north), second(south[NAMES[::-1]])])
    assert "its column 0 is 'd', that of others 'a'" in run.rounds[0].refused["site-1"]


def test_batches_of_pyarrow_have_names(parts):
    north, south, _ = frames(parts)
    batch = pa.Table.from_pandas(south[NAMES[::-1]]).to_batches()[0]
    assert simulate(KMeans(3, init=parts[0][:3]), [north, batch]).rounds[0].refused


def test_numbers_of_columns_are_compared(parts):
    """Frames without names have numbers; they may stand beside frames with names, as before."""
    plain = [pd.DataFrame(part) for part in parts]
    start = KMeans(3, init=parts[0][:3])
    turned = plain[1][[2, 0, 1, 3]]
    run = simulate(start, [plain[0], turned, plain[2]])
    assert "its column 0 is '2', that of others '0'" in run.rounds[0].refused["site-1"]
    assert not hasattr(run.model, "feature_names_in_")
    run = simulate(start, [plain[0], frames(parts)[1], parts[2]])
    assert not run.rounds[0].refused
    assert not hasattr(run.model, "feature_names_in_")


def test_too_few_sites_say_what_was_refused(parts):
    north, south, west = frames(parts)
    turned = south.rename(columns={"a": "x" * 5000})
    with pytest.raises(TooFewSitesError, match=r"2 sites take.*site-1.*column 0 is 'xxx") as caught:
        simulate(KMeans(3, random_state=0), [north, turned, west], min_sites=3)
    assert len(str(caught.value)) < 600
    with pytest.raises(TooFewSitesError, match=r"No site.*site-0.*fewer rows than min_count=500"):
        simulate(KMeans(3, random_state=0), [north, south], min_count=500)


def test_sites_without_names_take_part(parts):
    run = simulate(KMeans(3, random_state=0), [*frames(parts)[:2], parts[2]], random_state=0)
    assert not run.rounds[0].refused
    assert not hasattr(run.model, "feature_names_in_")


@pytest.mark.parametrize("columns", [["a"], "abcd", 4, [1, 2, 3, 4]], ids=str)
def test_names_that_cannot_be_true_are_refused(parts, columns):
    class Lying(InProcess):
        def exchange(self, requests):
            replies = super().exchange(requests)
            return [(n, r | {"columns": columns} if n == "bad" else r) for n, r in replies]

    sites = [Site("a", parts[0], seed=0), Site("bad", parts[1], seed=1)]
    coordinator = Coordinator(Lying(sites))
    run_federated(KMeans(2, random_state=0), coordinator)
    assert "names" in coordinator.rounds[0].refused["bad"]


def test_other_estimators_are_refused_by_name(parts):
    for estimator in (NonRedundantKMeans((2, 2)), TransformedKMeans(3), "KMeans"):
        for method in ("exact", "local"):
            with pytest.raises(TypeError, match=r"^estimator must be KMeans, .* got "):
                simulate(estimator, parts, method)


def test_errors_name_the_site(parts):
    with pytest.raises(ValueError, match=r"no rows of site-1. Leave the site out"):
        simulate(KMeans(3), [parts[0], parts[1][:0]])
    with pytest.raises(ValueError, match=r"rows of site-1 .*NaN"):
        simulate(KMeans(3), [parts[0], np.full((2, 4), np.nan)])
    with pytest.raises(ValueError, match=r"^rows of site-0 .*could not convert"):
        simulate(KMeans(3), [np.array([["x"]]), parts[1]])
    with pytest.raises(ValueError, match=r"^rows of site-0 .*2D array"):
        simulate(KMeans(3), parts[0])


def test_errors_about_columns_and_weights_name_the_site(parts):
    gaps = frames(parts)[1]
    gaps.loc[3, "c"] = np.nan
    with pytest.raises(ValueError, match=r"rows of site-1 .*NaN.* column 'c' of rows of site-1"):
        simulate(KMeans(3), [parts[0], gaps])
    days = gaps.assign(c=pd.Timestamp("2020-01-01"))
    with pytest.raises(TypeError, match=r"column 'c' of rows of site-1 are no numbers"):
        simulate(KMeans(3), [parts[0], days])
    for weights in ([-1.0] * 100, [1.0] * 7, ["a"] * 100):
        with pytest.raises(ValueError, match=r"^weights of site-1 .*"):
            simulate(KMeans(3), [parts[0], (parts[1], weights)])


@pytest.mark.parametrize(
    "made",
    [pd.DataFrame, pl.DataFrame, lambda X: pa.Table.from_pandas(pd.DataFrame(X)), sp.csr_array],
)
def test_a_single_frame_is_refused_with_the_remedy(made, parts):
    with pytest.raises(TypeError, match=r"sites must be a sequence.*got a single .*\[rows\]"):
        simulate(KMeans(3), made(parts[0]))


def test_a_mapping_is_refused_with_the_remedy(parts):
    with pytest.raises(TypeError, match=r"sites must be a sequence.*sites.values\(\)"):
        simulate(KMeans(3), {"north": parts[0], "south": parts[1]})
