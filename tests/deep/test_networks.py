"""Autoencoders: Hadamard layers, folds, sizes, convolutions, and networks of the user's own."""

import numpy as np
import pytest
import torch

from polymeans.deep import DKM, KhatriRaoDKM, KhatriRaoIDEC
from polymeans.deep.autoencoder import dense_autoencoder, dense_n_parameters
from polymeans.deep.hadamard import HadamardLinear, largest_rank, rank_by_rule
from polymeans.deep.inference import encode
from polymeans.deep.preparation import find_coordinates, rows_in
from polymeans.deep.rows import ArrayRows
from tests.deep.checks import QUICK, blobs

#: Networks are hardly trained here.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def explicit_weight(layer):
    weight = np.ones((layer.n_out, layer.n_in))
    for left, right in zip(layer.left, layer.right):
        weight *= left.detach().numpy() @ right.detach().numpy()
    return weight


@pytest.mark.parametrize("n_factors", [1, 2, 3])
def test_hadamard_layers_multiply_with_their_weights(n_factors):
    layer = HadamardLinear(7, 5, 3, n_factors, generator(), torch.float64)
    rows = torch.randn(4, 7, generator=generator(1), dtype=torch.float64)
    with torch.no_grad():
        layer.bias.copy_(torch.arange(5.0))
    expected = rows.numpy() @ explicit_weight(layer).T + np.arange(5)
    np.testing.assert_allclose(layer(rows).detach(), expected, atol=1e-12)
    assert torch.autograd.gradcheck(layer, (rows.requires_grad_(),))


def test_signals_keep_their_size_in_new_hadamard_layers():
    layer = HadamardLinear(400, 300, 20, 2, generator(), torch.float64)
    variance = explicit_weight(layer).var() * 400
    assert 0.7 < variance < 2.8


@pytest.mark.parametrize("n_factors", [1, 2])
def test_a_hadamard_layer_begins_as_the_best_approximation(n_factors):
    dense = torch.nn.Linear(12, 8, dtype=torch.float64)
    layer = HadamardLinear.of_layer(dense, 8, n_factors, generator())
    # Of full rank; later factors are a tenth away from one.
    atol = 1e-10 if n_factors == 1 else 0.15
    np.testing.assert_allclose(layer.weight.detach(), dense.weight.detach(), atol=atol)
    lower = HadamardLinear.of_layer(dense, 3, 1, generator())
    values = np.linalg.svd(dense.weight.detach().numpy(), compute_uv=False)
    missed = np.sum((lower.weight.detach().numpy() - dense.weight.detach().numpy()) ** 2)
    np.testing.assert_allclose(missed, np.sum(values[3:] ** 2), rtol=1e-8)


def test_ranks_by_rule():
    assert [rank_by_rule(1024, 512), rank_by_rule(512, 256), rank_by_rule(20, 30)] == [22, 16, 10]


def test_parameters_are_counted_by_hand():
    # 6-16-4 and 4-16-6: weights, biases, and the centroids.
    network = (6 * 16 + 16) + (16 * 4 + 4) + (4 * 16 + 16) + (16 * 6 + 6)
    X = blobs()
    free = DKM(4, **QUICK).fit(X)
    assert free.n_parameters_ == network + 4 * 4 == dense_n_parameters(6, (16,), 4) + 16
    assert free.compression_ == 1.0
    grid = KhatriRaoDKM((2, 3), **QUICK).fit(X)
    assert grid.n_parameters_ == network + (2 + 3) * 4
    assert grid.compression_ == (network + 6 * 4) / (network + 5 * 4)


def test_hadamard_networks_are_smaller_and_counted_by_hand():
    options = QUICK | {"hidden_sizes": (64, 48), "autoencoder": "hadamard", "rank": 5}
    model = KhatriRaoDKM((2, 2), **options).fit(blobs())
    inner = 2 * 5 * (64 + 48)
    network = (6 * 64 + 64) + (inner + 48) + (48 * 4 + 4)
    network += (4 * 48 + 48) + (inner + 64) + (64 * 6 + 6)
    assert model.n_parameters_ == network + 4 * 4
    assert model.compression_ > 1.5
    assert "compression" in model.history_["phase"]


def test_ranks_grow_until_reconstructions_are_as_good():
    options = QUICK | {"hidden_sizes": (60, 60), "pretrain_epochs": 30, "batch_size": 30}
    X = blobs(120)
    dense = DKM(4, **options).fit(X)
    compact = DKM(4, autoencoder="hadamard", **options).fit(X)
    history = compact.history_
    last_dense = history["reconstruction"][history["phase"] == "pretraining"][-1]
    last_compact = history["reconstruction"][history["phase"] == "compression"][-1]
    smaller = compact.n_parameters_ < dense.n_parameters_
    assert smaller
    assert last_compact < 2 * last_dense


def test_layers_stay_dense_where_factors_are_no_smaller():
    options = QUICK | {"hidden_sizes": (32, 32), "autoencoder": "hadamard"}
    X = blobs(90, d=8)
    model = DKM(4, **options).fit(X)  # 2 * 10 * (32 + 32) = 1280 numbers instead of 1024
    assert model.compression_ == 1.0
    assert model.n_parameters_ == dense_n_parameters(8, (32, 32), 4) + 16
    assert "compression" not in model.history_["phase"]
    text = r"rank=40 and n_factors=2.*32 x 32: 1024 numbers, 5120 in factors, up to rank 7"
    with pytest.warns(UserWarning, match=text) as caught:
        assert DKM(4, rank=40, **options).fit(X).compression_ == 1.0
    assert caught[0].filename == __file__
    assert DKM(4, rank=7, **options).fit(X).compression_ > 1.0
    # Of two layers the larger one is compressed.
    mixed = DKM(4, **(options | {"hidden_sizes": (60, 60, 8)})).fit(X)
    inner = 60 * 60 - 2 * mixed._network.encoder[2].rank * 120
    assert mixed.n_parameters_ == dense_n_parameters(8, (60, 60, 8), 4) + 16 - 2 * inner
    assert mixed.compression_ > 1.0


def test_the_largest_rank_is_smaller_than_the_matrix_and_the_next_is_not():
    for n_in, n_out, n_factors in [(32, 32, 2), (20, 12, 1), (7, 5, 3), (1, 1, 2), (1024, 512, 2)]:
        most = largest_rank(n_in, n_out, n_factors)
        assert n_factors * most * (n_in + n_out) < n_in * n_out
        assert n_factors * (most + 1) * (n_in + n_out) >= n_in * n_out


def test_a_fold_leaves_reconstructions_unchanged():
    network = dense_autoencoder(5, (8,), 3, "gelu", generator(), torch.float64)
    rows = torch.randn(40, 5, generator=generator(1), dtype=torch.float64)
    before = network.decode(network.encode(rows)).detach().numpy()
    latent = network.encode(rows).detach()
    network.fold(latent.mean(dim=0), latent.std(dim=0, correction=0))
    folded = network.encode(rows).detach().numpy()
    np.testing.assert_allclose(folded.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(folded.std(axis=0), 1, atol=1e-12)
    np.testing.assert_allclose(network.decode(network.encode(rows)).detach(), before, atol=1e-12)
    assert network.n_parameters == dense_n_parameters(5, (8,), 3)


def test_a_fold_of_a_network_that_ends_in_anything():
    encoder = torch.nn.Sequential(torch.nn.Linear(5, 3), torch.nn.Tanh())
    model = DKM(4, autoencoder=(encoder, torch.nn.Linear(3, 5)), **QUICK).fit(blobs(d=5))
    assert model.n_latent_ == 3
    own = (5 * 3 + 3) + (3 * 5 + 5) + 2 * 3  # and the affine map between them
    assert model.n_parameters_ == own + 4 * 3
    assert isinstance(encoder[1], torch.nn.Tanh)


@pytest.mark.parametrize("unit", [1.0, 1e-6, 1e6])
@pytest.mark.parametrize("shape", [(20, 60), (60, 20)], ids=str)
def test_coordinates_lose_nothing_and_fold_into_the_network(shape, unit):
    X = unit * (3 + np.random.default_rng(0).normal(size=shape))
    rows = ArrayRows(X, torch.float64)
    coordinates = find_coordinates(rows)
    if coordinates is None:
        assert shape == (60, 20)
        assert unit == 1.0
        return
    moved = rows_in(coordinates, rows)
    assert moved.n_features == min(19, 20) if shape[0] < shape[1] else 20
    size = np.sqrt(np.mean(moved.rows.numpy() ** 2)) * np.sqrt(moved.n_features / shape[1])
    assert 0.05 < size < 20
    network = dense_autoencoder(moved.n_features, (8,), 3, "gelu", generator(), torch.float64)
    latent = encode(network, moved)
    error = np.mean((network.decode(torch.from_numpy(latent)) - moved.rows).detach().numpy() ** 2)
    coordinates.fold_into(network)
    np.testing.assert_allclose(encode(network, rows), latent, rtol=1e-6, atol=1e-9)
    back = network.decode(torch.from_numpy(latent)).detach().numpy()
    assert back.shape == shape
    scale = coordinates.scale**2 * shape[1] / moved.n_features
    np.testing.assert_allclose(scale * np.mean((back - X) ** 2), error, rtol=1e-6)


@pytest.mark.parametrize("shape", [(6, 8), (2, 5, 7), (1, 3, 3)], ids=str)
def test_convolutions(shape):
    X = np.random.default_rng(0).random((40, int(np.prod(shape))))
    options = QUICK | {"autoencoder": "convolutional", "image_shape": shape}
    model = KhatriRaoIDEC((2, 2), **options).fit(X)
    assert model.reconstruct(X).shape == X.shape
    assert model.transform(X).shape == (40, 4)
    # The fold went into the linear layers in the middle.
    assert float(model._network.latent_std.max()) == 1.0


def test_a_given_network_is_not_changed():
    encoder, decoder = torch.nn.Linear(6, 2), torch.nn.Linear(2, 6)
    before = encoder.weight.detach().clone()
    model = DKM(4, autoencoder=(encoder, decoder), **QUICK).fit(blobs())
    assert torch.equal(encoder.weight, before)
    assert model.n_latent_ == 2
