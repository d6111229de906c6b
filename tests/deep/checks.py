"""Small rows, quick models and slow formulas for the tests of deep clusterings."""

import numpy as np

from polymeans.datasets import make_stick_figures
from polymeans.deep import DKM, IDEC, KhatriRaoDKM, KhatriRaoIDEC

#: Few epochs of a small network, for everything that does not depend on how well it learned.
QUICK = {
    "hidden_sizes": (16,),
    "n_latent": 4,
    "pretrain_epochs": 2,
    "distill_epochs": 2,
    "max_epochs": 2,
    "n_threads": 1,
    "random_state": 0,
}


def quick_models(**options):
    """One of each class."""
    options = QUICK | options
    return [
        DKM(4, **options),
        IDEC(4, **options),
        KhatriRaoDKM((2, 2), **options),
        KhatriRaoIDEC((2, 2), **options),
    ]


def blobs(n=90, d=6, k=4, seed=0):
    """Rows around k distant points, of about unit size."""
    rng = np.random.default_rng(seed)
    centers = rng.normal(size=(k, d)) * 2
    return centers[rng.integers(k, size=n)] + 0.1 * rng.normal(size=(n, d))


def stick_figures(n=300):
    """Images and the number of their pose."""
    images, poses = make_stick_figures(n, random_state=0)
    return images, 3 * poses[:, 0] + poses[:, 1]


def explicit_centroids(sets, aggregator):
    """All combinations, one at a time."""
    found = []
    for cell in np.ndindex(*(len(part) for part in sets)):
        members = np.array([part[i] for part, i in zip(sets, cell)])
        found.append(members.sum(axis=0) if aggregator == "sum" else members.prod(axis=0))
    return np.array(found)


def explicit_distances(latent, centroids):
    """Squared distances by differences."""
    return np.array([[np.sum((z - c) ** 2) for c in centroids] for z in latent])
