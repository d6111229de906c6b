"""Distances to combinations of protocentroids, from Σh products, against explicit ones."""

import numpy as np
import pytest
import torch

from polymeans.deep.arrangement import arrange, fix_gauge, members_beside_the_mean
from polymeans.deep.codebook import LatentCodebook
from tests.deep.checks import explicit_centroids, explicit_distances

SIZES = [(4,), (3, 5), (2, 3, 4), (1, 3), (2, 1, 2, 2)]


def make_sets(sizes, d=6, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=(h, d)) for h in sizes]


@pytest.mark.parametrize("aggregator", ["sum", "product"])
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_distances_and_centroids(sizes, aggregator):
    sets = make_sets(sizes)
    codebook = LatentCodebook(sets, aggregator)
    expected = explicit_centroids(sets, aggregator)
    np.testing.assert_allclose(codebook.centroids().detach(), expected, atol=1e-12)
    latent = np.random.default_rng(1).normal(size=(9, 6))
    found = codebook(torch.from_numpy(latent)).detach().numpy()
    np.testing.assert_allclose(found, explicit_distances(latent, expected), atol=1e-10)


@pytest.mark.parametrize("aggregator", ["sum", "product"])
def test_gradients_of_distances(aggregator):
    codebook = LatentCodebook(make_sets((2, 3), 4), aggregator)
    latent = torch.from_numpy(np.random.default_rng(2).normal(size=(3, 4))).requires_grad_()

    def distances(rows, *sets):
        named = {f"sets.{q}": part for q, part in enumerate(sets)}
        return torch.func.functional_call(codebook, named, (rows,))

    sets = [part.detach().clone().requires_grad_() for part in codebook.sets]
    assert torch.autograd.gradcheck(distances, (latent, *sets))


def test_a_row_at_a_centroid_has_distance_zero():
    sets = make_sets((3, 4), 10)
    codebook = LatentCodebook([part.astype(np.float32) for part in sets])
    found = codebook(codebook.centroids()).detach().numpy()
    assert (found >= 0).all()
    np.testing.assert_allclose(found.diagonal(), 0, atol=1e-4)
    np.testing.assert_array_equal(found.argmin(axis=1), np.arange(12))


@pytest.mark.parametrize("sizes", [(3, 5), (10, 10)], ids=str)
def test_the_arrangement_recovers_a_permuted_grid(sizes):
    sets = make_sets(sizes)
    k = int(np.prod(sizes))
    centers = explicit_centroids(sets, "sum")[np.random.default_rng(3).permutation(k)]
    labels = np.repeat(np.arange(k), 2).astype(np.int32)
    found, cells = arrange(centers[labels], labels, sizes, "sum", np.random.RandomState(0))
    missed = centers[labels] - explicit_centroids(found, "sum")[cells]
    np.testing.assert_allclose(missed, 0, atol=1e-8)


def test_the_arrangement_of_fewer_clusters_than_cells():
    centers = np.random.default_rng(0).normal(size=(4, 3))
    labels = np.array([0, 2, 3, 0, 5], dtype=np.int32)
    latent = centers[[0, 1, 2, 0, 3]]
    sets, cells = arrange(latent, labels, (2, 3), "sum", np.random.RandomState(0))
    assert [part.shape for part in sets] == [(2, 3), (3, 3)]
    assert len(set(cells.tolist())) == 4
    assert cells[0] == cells[3]


@pytest.mark.parametrize("aggregator", ["sum", "product"])
def test_the_gauge_moves_no_centroid(aggregator):
    codebook = LatentCodebook(make_sets((3, 4)), aggregator)
    before = codebook.centroids().detach().numpy().copy()
    labels = np.random.default_rng(0).integers(12, size=50).astype(np.int32)
    fix_gauge(codebook, labels)
    np.testing.assert_allclose(codebook.centroids().detach(), before, atol=1e-12)
    later = codebook.to_arrays()[1]
    if aggregator == "sum":
        masses = np.bincount(labels, minlength=12).reshape(3, 4).sum(axis=0)
        np.testing.assert_allclose(masses @ later, 0, atol=1e-10)
    else:
        np.testing.assert_allclose(np.mean(later**2, axis=0), 1, atol=1e-10)


def test_members_are_shown_beside_the_average_of_the_others():
    sets = make_sets((2, 3))
    labels = np.array([0, 0, 0, 4, 5], dtype=np.int32)  # columns weigh 3, 1, 1
    first, second = members_beside_the_mean(sets, "sum", labels)
    weights = np.array([3, 1, 1]) / 5
    np.testing.assert_allclose(first, sets[0] + weights @ sets[1], atol=1e-9)
    np.testing.assert_allclose(second, sets[1] + np.array([3, 2]) / 5 @ sets[0], atol=1e-9)
