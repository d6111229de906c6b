"""NonRedundantKMeans finds clusterings that are known, and costs no search should miss."""

import numpy as np
import pytest

from polymeans import NonRedundantKMeans
from polymeans.datasets import make_colored_letters, make_nonredundant, make_stick_figures
from polymeans.metrics import labelings_confusion
from tests.estimators.nonredundant.checks import spaces_of
from tests.marks import long


@pytest.mark.parametrize("seed", [0, *long(1, 2, 3)])
@pytest.mark.parametrize("sizes", [(2, 2), (3, 4), (3, 4, 5), (2, 3, 4, 3)])
def test_hidden_clusterings_are_found(sizes, seed):
    X, labels, _ = make_nonredundant(500, sizes, random_state=seed)
    model = NonRedundantKMeans(sizes, random_state=seed).fit(X)
    assert labelings_confusion(labels, model.labels_per_view_).minimum > 0.99
    truth = NonRedundantKMeans(sizes, init=labels).fit(X)
    assert model.inertia_ <= truth.inertia_ * (1 + 1e-6)


def test_hidden_subspaces_are_found():
    X, _, rotation = make_nonredundant(800, (3, 4), separation=10.0, random_state=1)
    model = NonRedundantKMeans((3, 4), random_state=0).fit(X)
    for hidden, V in zip((rotation[:, :2], rotation[:, 2:4]), spaces_of(model)):
        assert np.linalg.svd(hidden.T @ V)[1].min() > 0.99


@pytest.mark.parametrize("seed", [0, *long(1, 2, 3)])
def test_stick_figures_come_apart_into_arms_and_legs(seed):
    images, poses = make_stick_figures(300, random_state=seed)
    model = NonRedundantKMeans((3, 3), random_state=seed).fit(images)
    assert labelings_confusion(poses, model.labels_per_view_).minimum > 0.99


@pytest.mark.parametrize("seed", [0, *long(1, 2, 3)])
def test_colored_letters_come_apart_into_letter_color_and_corner(seed):
    images, labels = make_colored_letters(400, random_state=seed)
    sizes = tuple(len(np.unique(digit)) for digit in labels.T)
    model = NonRedundantKMeans(sizes, random_state=seed).fit(images)
    assert labelings_confusion(labels, model.labels_per_view_).minimum > 0.99


def test_more_rows_than_the_search_looks_at():
    X, labels, _ = make_nonredundant(8000, (3, 4), random_state=0)
    model = NonRedundantKMeans((3, 4), random_state=0).fit(X)
    assert labelings_confusion(labels, model.labels_per_view_).minimum > 0.99


def test_the_search_is_as_good_as_the_best_of_twenty_random_starts(blobs):
    random = NonRedundantKMeans((4, 4), init="random", n_init=20, random_state=0).fit(blobs)
    costs = [NonRedundantKMeans((4, 4), random_state=s).fit(blobs).inertia_ for s in range(3)]
    assert np.mean(costs) <= random.inertia_ * 1.002


def test_more_starts_are_never_worse(blobs):
    X = blobs[:500]
    costs = [
        NonRedundantKMeans((4, 4), init="random", n_init=n, random_state=0).fit(X).inertia_
        for n in (1, 3, 9)
    ]
    assert costs == sorted(costs, reverse=True)
