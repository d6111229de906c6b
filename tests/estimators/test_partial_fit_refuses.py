"""Batches and parameters that cannot be used, and batches that fail half-way."""

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from polymeans import KMeans
from tests.estimators.test_partial_fit import MODELS, stream
from tests.out_of_core.sources import uneven


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("KMeans", {"n_clusters": 4}),
        ("KMeans", {"metric": "cosine"}),
        ("KhatriRaoKMeans", {"n_protocentroids": (3, 2)}),
        ("KhatriRaoKMeans", {"aggregator": "product"}),
    ],
)
def test_what_centroids_are_cannot_change_between_batches(name, change):
    batches = stream(2)
    model = clone(MODELS[name]).partial_fit(batches[0]).set_params(**change)
    with pytest.raises(ValueError, match=next(iter(change))):
        model.partial_fit(batches[1])
    # Others can.
    model = clone(MODELS[name]).partial_fit(batches[0])
    model.set_params(half_life=10, n_threads=1, random_state=5).partial_fit(batches[1])
    assert model.cluster_weights_.sum() < 110


@pytest.mark.parametrize("half_life", [0, -1.0, np.nan, np.inf, "long", [3]])
def test_a_half_life_is_a_positive_number(half_life):
    for method in ("fit", "partial_fit"):
        with pytest.raises((ValueError, TypeError), match="half_life"):
            getattr(KMeans(2, half_life=half_life), method)(stream(1)[0])


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("failure", ["features", "nan", "weights", "interrupt"])
def test_a_failed_batch_changes_nothing(name, failure, monkeypatch):
    batches = stream(2)
    for model in (clone(MODELS[name]), clone(MODELS[name]).partial_fit(batches[0])):
        before = {key: (id(value), repr(value)) for key, value in vars(model).items()}
        batch, weights, error = batches[1].copy(), None, ValueError
        if failure == "features":
            if not hasattr(model, "n_features_in_"):
                continue
            batch = batch[:, :3]
        elif failure == "nan":
            batch[3, 1] = np.nan
        elif failure == "weights":
            weights = -np.ones(len(batch))
        else:
            error = KeyboardInterrupt

            def interrupt(*arguments, **options):
                raise KeyboardInterrupt

            monkeypatch.setattr("polymeans._partial.absorb", interrupt)
        with pytest.raises(error):
            model.partial_fit(batch, sample_weight=weights)
        assert {key: (id(value), repr(value)) for key, value in vars(model).items()} == before


def test_feature_names_are_checked_from_the_second_batch_on():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(stream(1)[0], columns=list("abcde"))
    model = KMeans(6, random_state=0).partial_fit(frame)
    assert list(model.feature_names_in_) == list("abcde")
    with pytest.raises(ValueError, match="feature names"):
        model.partial_fit(frame[list("edcba")])


def test_dtypes_may_differ_and_the_wider_one_stays():
    batches = stream(3)
    model = KMeans(6, random_state=0).partial_fit(batches[0].astype(np.float32))
    assert model.cluster_centers_.dtype == np.float32
    assert model.partial_fit(batches[1]).cluster_centers_.dtype == np.float64
    assert model.partial_fit(batches[2].astype(np.float32)).cluster_centers_.dtype == np.float64


def test_weights_that_overflow_together_are_refused():
    batch = stream(1)[0][:3]
    model = KMeans(2, random_state=0).partial_fit(batch, sample_weight=np.full(3, 5e307))
    with pytest.raises(ValueError, match="overflows"):
        model.partial_fit(batch, sample_weight=np.full(3, 5e307))
    assert model.n_steps_ == 1


def test_rows_without_direction_teach_nothing():
    model = KMeans(2, metric="cosine", random_state=0, half_life=5).partial_fit(np.zeros((3, 4)))
    assert not model.cluster_weights_.any()
    model.partial_fit(np.eye(4)).partial_fit(np.zeros((9, 4)))
    assert model.cluster_weights_.sum() == 4
    np.testing.assert_array_equal(model.labels_, np.zeros(9))


def test_blocks_are_refused_before_they_are_read_and_the_remedy_works():
    X = np.random.default_rng(0).normal(size=(300, 3))
    blocks = uneven(X)
    model = KMeans(2, random_state=0)
    with pytest.raises(TypeError, match=r"for block in X: model\.partial_fit"):
        model.partial_fit(blocks)
    assert not blocks.reads
    for i in range(len(blocks)):
        model.partial_fit(blocks[i])
    assert model.n_steps_ == len(blocks)
    with pytest.raises(TypeError, match="which can be read only once"):
        model.partial_fit(block for block in [X])


@pytest.mark.parametrize(
    "make",
    [
        lambda X: da.from_array(X, chunks=(100, 3)),
        lambda X: dd.from_pandas(pd.DataFrame(X, columns=list("abc")), npartitions=3),
    ],
    ids=["array", "frame"],
)
def test_dask_collections_are_refused_and_the_remedy_works(make):
    X = make(np.random.default_rng(0).normal(size=(300, 3)))
    model = KMeans(2, random_state=0)
    with pytest.raises(TypeError, match=r"X is a Dask [AD].* learns from one batch in memory"):
        model.partial_fit(X)
    for i in range(X.npartitions):
        model.partial_fit(X.partitions[i].compute())
    assert model.n_steps_ == 3
