"""Fits of an estimator for rising numbers of clusters, from nested starts where it takes them."""

import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from polymeans.selection.path import nested_path
from polymeans.selection.points import Points
from polymeans.selection.space import has_free_centroids, is_cosine, with_n_clusters


class Candidates:
    """Makes and fits estimators with different numbers of clusters.

    Parameters
    ----------
    estimator : estimator
        Not fitted; its other parameters count.
    n_threads : int or None
    """

    def __init__(self, estimator: Any, n_threads: int | None) -> None:
        self.estimator, self.n_threads = estimator, n_threads

    def __call__(self, rows: Any, values: Sequence[int], seed: int) -> Iterator[Any]:
        """Fit the same rows for each number of clusters; see :meth:`on`."""
        return self.on(rows, rows, values, seed)

    def on(self, rows: Any, sample: Any, values: Sequence[int], seed: int) -> Iterator[Any]:
        """Fit rows for each number of clusters, from starts that are found in a sample of them.

        Parameters
        ----------
        rows : ndarray, CSR or Blocks
        sample : ndarray or CSR
            Some of the rows, or all.
        values : sequence of int
            Numbers of clusters, rising.
        seed : int

        Yields
        ------
        fitted estimator
            One for each value, until there are not enough different rows.
        """
        starts = self._starts(sample, values, seed)
        for k, centers in zip(values, starts):
            model = with_n_clusters(self.estimator, k, seed, self.n_threads)
            if centers is not None:
                model.set_params(init=centers)
                if "n_init" in model.get_params():
                    model.set_params(n_init=1)
            with warnings.catch_warnings():
                # Numbers that are too large have clusters without rows; they are not chosen.
                warnings.simplefilter("ignore", ConvergenceWarning)
                model.fit(rows)
            yield model

    def _starts(self, sample: Any, values: Sequence[int], seed: int) -> Iterator[Any]:
        """Centroids for each number of clusters; None where the estimator has its own search."""
        if not has_free_centroids(self.estimator):
            for k in values:
                if k > sample.shape[0]:
                    return
                yield None
            return
        points = Points(sample, is_cosine(self.estimator), self.n_threads)
        dtype = sample.dtype if sp.issparse(sample) else np.asarray(sample).dtype
        for found in nested_path(points, values, seed):
            yield np.asarray(found.centers, dtype=dtype)
