"""Estimators with free centroids, and those with grids of protocentroids."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from polymeans._validation import check_choice, check_integer
from polymeans.codebooks.aggregation import AGGREGATORS, labels_per_set
from polymeans.deep.base import DeepClustering
from polymeans.deep.codebook import LatentCodebook
from polymeans.parameters.khatri_rao import check_set_sizes, sizes_of


class FreeCentroids(DeepClustering):
    """The part of estimators with one set of centroids."""

    n_clusters: Any

    def _check_sizes(self) -> tuple[tuple[int, ...], str]:
        check_integer("n_clusters", self.n_clusters, 1)
        return (int(self.n_clusters),), "sum"


class KhatriRaoCentroids(DeepClustering):
    """The part of estimators with a grid of centroids."""

    n_protocentroids: Any
    aggregator: Any

    def _check_sizes(self) -> tuple[tuple[int, ...], str]:
        check_set_sizes(self.n_protocentroids)
        check_choice("aggregator", self.aggregator, AGGREGATORS)
        return sizes_of(self.n_protocentroids), self.aggregator

    def _of_codebook(self, codebook: LatentCodebook, labels: NDArray[np.int32]) -> dict[str, Any]:
        return {
            "protocentroids_": codebook.to_arrays(),
            "protolabels_": labels_per_set(labels, codebook.sizes),
        }

    @property
    def _aggregator(self) -> str:
        """How fitted protocentroids combine; the parameter may have changed since."""
        return self._codebook.aggregator

    def predict_protolabels(self, X: Any) -> NDArray[np.int32]:
        """Protocentroids of each row's nearest centroid.

        Parameters
        ----------
        X : {array-like, CSR matrix or array} of shape (n_samples, n_features), Blocks or DataLoader
            Rows. CSR rows and blocks are made dense batch by batch. Of a
            ``torch.utils.data.DataLoader`` the data set is used, its order is not.

        Returns
        -------
        protolabels : ndarray of shape (n_samples, p)
            Index into each set.
        """
        check_is_fitted(self)
        return labels_per_set(self.predict(X), self._codebook.sizes)
