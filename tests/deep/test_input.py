"""Containers of rows, and input that cannot be used."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import torch
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from torch.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset

from polymeans import blocks
from polymeans.deep import DKM, IDEC, KhatriRaoDKM, KhatriRaoIDEC
from tests.deep.checks import QUICK, blobs, quick_models

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def loader_of(X, **options):
    return DataLoader(TensorDataset(torch.from_numpy(X), torch.zeros(len(X))), **options)


# --- containers --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "container",
    [
        sp.csr_array,
        sp.csr_matrix,
        lambda X: pd.DataFrame(X, columns=list("abcdef")),
        lambda X: X.astype(np.float32),
        np.asfortranarray,
        lambda X: loader_of(X, batch_size=7, shuffle=True),
        lambda X: loader_of(X).dataset,
    ],
    ids=["csr_array", "csr_matrix", "frame", "float32", "fortran", "loader", "data set"],
)
@pytest.mark.parametrize("model", quick_models(), ids=lambda model: type(model).__name__)
def test_containers_give_the_labels_of_arrays(model, container):
    X = blobs().astype(np.float32).astype(np.float64)
    expected = clone(model).fit(X)
    given = container(X)
    found = clone(model).fit(given)
    np.testing.assert_array_equal(found.labels_, expected.labels_)
    np.testing.assert_array_equal(found.predict(given), expected.labels_)
    np.testing.assert_allclose(found.transform(given), expected.transform(X), atol=1e-5)
    np.testing.assert_allclose(found.score(given), expected.score(X), rtol=1e-4)


@pytest.mark.parametrize("start", ["graph", "latent"])
def test_blocks(start):
    X = blobs(300)
    source = blocks.from_sequence(X, block_rows=70)
    options = QUICK | {"distill_epochs": 30, "pretrain_epochs": 10, "init": start}
    model = KhatriRaoIDEC((2, 2), **options).fit(source)
    np.testing.assert_array_equal(model.predict(source), model.labels_)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    assert model.transform(source).shape == (300, 4)
    if start == "graph":
        in_memory = KhatriRaoIDEC((2, 2), **options).fit(X)
        assert model.start_source_ == in_memory.start_source_


@pytest.mark.parametrize("form", [tuple, list, np.asarray, torch.tensor])
def test_items_of_data_sets(form):
    """One array for each row, alone or before what belongs to it; or numbers and a collate_fn."""
    X = blobs()
    expected = IDEC(4, **QUICK).fit(X).labels_
    rows = [form(row) for row in X.tolist()]
    if form in (tuple, list):
        given = [DataLoader(rows, collate_fn=lambda items: torch.tensor(items))]
    else:
        given = [Items(rows), Items([(row, 7) for row in rows]), DataLoader(rows)]
    for one in given:
        np.testing.assert_array_equal(IDEC(4, **QUICK).fit(one).labels_, expected)


def test_a_single_feature_in_a_data_set():
    X = blobs()[:, :1]
    expected = DKM(4, **QUICK).fit(X).labels_
    single = TensorDataset(torch.from_numpy(X[:, 0]))
    np.testing.assert_array_equal(DKM(4, **QUICK).fit(single).labels_, expected)


def test_loaders_with_worker_processes():
    X = blobs().astype(np.float32)
    expected = IDEC(4, **QUICK).fit(X)
    found = IDEC(4, **QUICK).fit(loader_of(X, num_workers=1))
    np.testing.assert_array_equal(found.labels_, expected.labels_)


@pytest.mark.parametrize("model", quick_models(), ids=lambda model: type(model).__name__)
def test_in_a_pipeline_rows_of_other_units(model):
    X = blobs() * np.logspace(-3, 3, 6)
    labels = make_pipeline(StandardScaler(), model).fit_predict(X)
    assert labels.shape == (90,)


@pytest.mark.parametrize("unit", [1e-30, 1e-8, 1e8, 1e30])
def test_extreme_units_are_learned_like_any_other(unit):
    X = blobs()
    options = QUICK | {"distill_epochs": 40}
    plain = IDEC(4, **options).fit(X * 30.0)  # rows of another unit, too
    model = IDEC(4, **options).fit(unit * X)
    assert np.isfinite(model.transform(unit * X)).all()
    assert np.mean(plain.labels_ == model.labels_) > 0.95
    assert np.isfinite(model.decoded_centroids_).all()


def test_more_features_than_rows():
    X = np.random.default_rng(0).normal(size=(30, 200)) + 5
    model = KhatriRaoDKM((2, 2), **QUICK).fit(X)
    assert model.decoded_centroids_.shape == (4, 200)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    assert model._network.encoder[0].weight.shape == (16, 200)


def test_float64_networks():
    X = blobs()
    model = DKM(4, dtype="float64", **QUICK).fit(X)
    assert model.transform(X).dtype == np.float64
    assert model.cluster_centers_.dtype == np.float64


@pytest.mark.parametrize("X", [np.ones((9, 3)), np.c_[blobs(40, 3), np.ones(40)]])
def test_constant_columns_give_no_nan(X):
    for model in quick_models():
        model.fit(X)
        for values in (model.transform(X), model.reconstruct(X), model.history_["loss"]):
            assert np.isfinite(values).all()


def test_as_many_rows_as_clusters_and_batches_smaller_than_clusters():
    X = blobs(4)
    assert DKM(4, batch_size=2, **QUICK).fit(X).labels_.shape == (4,)
    assert DKM(1, **QUICK).fit(X[:1]).labels_.tolist() == [0]
    assert KhatriRaoIDEC((3, 4), **(QUICK | {"batch_size": 5})).fit(blobs(40)).n_clusters_ == 12


# --- errors ------------------------------------------------------------------------------------


def with_nan():
    X = blobs()
    X[3, 1] = np.nan
    return X


class Endless(IterableDataset):
    """Rows without numbers."""

    def __iter__(self):
        return iter([torch.zeros(3)])


class Items(Dataset):
    """A data set of given items."""

    def __init__(self, items):
        self.items = items

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


class Uncounted(Dataset):
    """A data set that does not say how long it is."""

    def __getitem__(self, i):
        return torch.zeros(3)


@pytest.mark.parametrize(
    ("X", "error", "text"),
    [
        (with_nan(), ValueError, "NaN"),
        (blobs(3), ValueError, "n_samples=3 should be >= 4"),
        (blobs()[:, :0], ValueError, "0 feature"),
        (loader_of(with_nan()), ValueError, "NaN"),
        (DataLoader(Endless()), TypeError, "IterableDataset"),
        (DataLoader([{"a": 1.0}] * 9), TypeError, "must be tensors"),
        (blobs() * 1e300, ValueError, "largest float32"),
        (Items(blobs().tolist()), TypeError, "6 single numbers.*one tensor or array for each row"),
        (Items(list(map(tuple, blobs()))), TypeError, "Rows of the Items are 6 single numbers"),
        (DataLoader(blobs().tolist()), TypeError, "Rows of the DataLoader are 6 single numbers"),
        (loader_of(with_nan()).dataset, ValueError, "in batch 0 of the TensorDataset"),
        (Items([]), ValueError, "X is a Items without rows"),
        (Items([{"a": 1.0}] * 9), TypeError, "Rows of the Items must be tensors"),
        (Endless(), TypeError, "type Endless, must not be an IterableDataset"),
        (Uncounted(), TypeError, "X is a Uncounted, .* must have __len__. Use"),
        (DataLoader(Uncounted(), batch_size=2), TypeError, "X is a DataLoader, .* Uncounted, must"),
    ],
    ids=[
        *("nan", "few rows", "no columns", "loader nan", "iterable", "no tensor", "too large"),
        *("lists", "tuples", "loader of lists", "set nan", "empty set", "set without tensors"),
        *("iterable set", "uncounted", "loader of uncounted"),
    ],
)
@pytest.mark.parametrize("model", quick_models(), ids=lambda model: type(model).__name__)
def test_rows_that_cannot_be_used(model, X, error, text):
    model = clone(model)
    with pytest.raises(error, match=text):
        model.fit(X)
    assert not hasattr(model, "labels_")
    assert not hasattr(model, "n_features_in_")


class Pair(torch.nn.Module):
    """Returns two things."""

    def forward(self, rows):
        return rows, rows


LINEAR = torch.nn.Linear


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"init": "best"}, ValueError, "init must be one of"),
        ({"init": [0, 1]}, ValueError, "init"),
        ({"init": np.full(90, 4)}, ValueError, "init must have labels from 0"),
        ({"n_init": 0}, ValueError, "n_init"),
        ({"autoencoder": "sparse"}, ValueError, "autoencoder must be one of"),
        ({"autoencoder": LINEAR(6, 2)}, TypeError, "pair of torch.nn.Module"),
        ({"autoencoder": (LINEAR(5, 2), LINEAR(2, 6))}, ValueError, "cannot take rows of n_feat"),
        ({"autoencoder": (LINEAR(6, 2), LINEAR(3, 6))}, ValueError, "cannot take n_latent=2"),
        ({"autoencoder": (LINEAR(6, 2), LINEAR(2, 5))}, ValueError, "rows have n_features=6"),
        ({"autoencoder": (Pair(), LINEAR(2, 6))}, TypeError, "must return one tensor"),
        ({"hidden_sizes": 5}, TypeError, "hidden_sizes must be"),
        ({"hidden_sizes": (5, 0)}, ValueError, r"hidden_sizes\[1\]"),
        ({"hidden_sizes": (10**12,)}, ValueError, r"hidden_sizes=\(10{12},\).* GB.*Use smaller"),
        ({"n_latent": 10**12}, ValueError, r"n_latent=10{12} .* GB.*smaller n_latent"),
        (
            {"n_latent": 10**12, "autoencoder": "convolutional", "image_shape": (2, 3)},
            ValueError,
            r"^n_latent=10{12} .* GB.*smaller n_latent",
        ),
        ({"autoencoder": "hadamard"}, ValueError, "two sizes at least"),
        ({"autoencoder": "convolutional"}, ValueError, "image_shape"),
        ({"autoencoder": "convolutional", "image_shape": (2, 2)}, ValueError, "n_features=6"),
        ({"n_latent": 0}, ValueError, "n_latent"),
        ({"activation": "sin"}, ValueError, "activation"),
        ({"n_factors": 0}, ValueError, "n_factors"),
        ({"rank": 0}, ValueError, "rank"),
        ({"alpha": 0.0}, ValueError, "alpha"),
        ({"reconstruction_weight": -1.0}, ValueError, "reconstruction_weight"),
        ({"pretrain_epochs": -1}, ValueError, "pretrain_epochs"),
        ({"max_epochs": "many"}, ValueError, "max_epochs"),
        ({"tol": 2.0}, ValueError, "tol"),
        ({"batch_size": 0}, ValueError, "batch_size"),
        ({"learning_rate": 0.0}, ValueError, "learning_rate"),
        ({"warm_start": 1}, ValueError, "warm_start"),
        ({"dtype": "float16"}, ValueError, "dtype"),
        ({"device": "abacus"}, ValueError, "device='abacus' cannot be used here"),
        ({"device": 3}, TypeError, "device must be"),
        ({"random_state": "x"}, ValueError, "random_state"),
        ({"n_threads": 0}, ValueError, "n_threads"),
        ({"verbose": -1}, ValueError, "verbose"),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
)
def test_parameters_that_cannot_be_used(options, error, text):
    model = DKM(4, **(QUICK | options))
    with pytest.raises(error, match=text):
        model.fit(blobs())
    assert not hasattr(model, "labels_")


@pytest.mark.parametrize(
    ("model", "error", "text"),
    [
        (DKM(0), ValueError, "n_clusters"),
        (KhatriRaoDKM((2, 0)), ValueError, r"n_protocentroids\[1\]"),
        (KhatriRaoDKM("ab"), TypeError, "n_protocentroids"),
        (KhatriRaoIDEC(aggregator="mean"), ValueError, "aggregator"),
    ],
    ids=str,
)
def test_sizes_that_cannot_be_used(model, error, text):
    with pytest.raises(error, match=text):
        model.fit(blobs())


def test_new_rows_and_points_are_checked():
    model = DKM(4, **QUICK).fit(blobs())
    with pytest.raises(ValueError, match="features"):
        model.predict(blobs(d=5))
    with pytest.raises(ValueError, match="NaN"):
        model.transform(with_nan())
    with pytest.raises(ValueError, match="n_latent=4"):
        model.decode(np.zeros((2, 5)))
    with pytest.raises(ValueError, match="latent"):
        model.decode(np.full((2, 4), np.nan))


def test_without_torch_the_error_names_the_extra():
    code = """
import sys

class Without:
    def find_spec(self, name, path=None, target=None):
        if name == "torch":
            raise ModuleNotFoundError("No module named 'torch'")

sys.meta_path.insert(0, Without())
import polymeans
try:
    import polymeans.deep
except ImportError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 'pip install "polymeans[deep]"' in done.stdout


def test_the_library_does_not_import_torch():
    code = "import sys, polymeans, polymeans.inspection; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
