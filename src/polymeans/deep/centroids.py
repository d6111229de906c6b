"""Estimators with free centroids, and those with grids of protocentroids."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from polymeans._validation import check_choice, check_integer
from polymeans.codebooks.aggregation import AGGREGATORS, labels_per_set
from polymeans.deep.arrangement import members_beside_the_mean
from polymeans.deep.base import DeepClustering
from polymeans.deep.codebook import LatentCodebook
from polymeans.parameters.khatri_rao import check_set_sizes, sizes_of


class FreeCentroids(DeepClustering):
    """The part of estimators with one set of centroids."""

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        init: Any = "auto",
        n_init: int = 1,
        pretrain_once: bool = True,
        autoencoder: Any = "dense",
        hidden_sizes: Any = "auto",
        n_latent: int = 10,
        activation: str = "gelu",
        n_factors: int = 2,
        rank: Any = "auto",
        image_shape: Any = None,
        alpha: float | None = None,
        reconstruction_weight: float = 1.0,
        pretrain_epochs: Any = "auto",
        distill_epochs: Any = "auto",
        max_epochs: Any = "auto",
        tol: float | None = 0.0,
        batch_size: Any = "auto",
        learning_rate: Any = "auto",
        warm_start: bool = False,
        dtype: str = "float32",
        device: str = "auto",
        random_state: Any = None,
        n_threads: int | None = 1,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.init = init
        self.n_init = n_init
        self.pretrain_once = pretrain_once
        self.autoencoder = autoencoder
        self.hidden_sizes = hidden_sizes
        self.n_latent = n_latent
        self.activation = activation
        self.n_factors = n_factors
        self.rank = rank
        self.image_shape = image_shape
        self.alpha = alpha
        self.reconstruction_weight = reconstruction_weight
        self.pretrain_epochs = pretrain_epochs
        self.distill_epochs = distill_epochs
        self.max_epochs = max_epochs
        self.tol = tol
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.warm_start = warm_start
        self.dtype = dtype
        self.device = device
        self.random_state = random_state
        self.n_threads = n_threads
        self.verbose = verbose

    def _check_sizes(self) -> tuple[tuple[int, ...], str]:
        check_integer("n_clusters", self.n_clusters, 1)
        return (int(self.n_clusters),), "sum"


class KhatriRaoCentroids(DeepClustering):
    """The part of estimators with a grid of centroids."""

    protocentroids_: list[NDArray[Any]]

    def __init__(
        self,
        n_protocentroids: Any = (2, 3),
        *,
        aggregator: str = "sum",
        init: Any = "auto",
        n_init: int = 1,
        pretrain_once: bool = True,
        autoencoder: Any = "dense",
        hidden_sizes: Any = "auto",
        n_latent: int = 10,
        activation: str = "gelu",
        n_factors: int = 2,
        rank: Any = "auto",
        image_shape: Any = None,
        alpha: float | None = None,
        reconstruction_weight: float = 1.0,
        pretrain_epochs: Any = "auto",
        distill_epochs: Any = "auto",
        max_epochs: Any = "auto",
        tol: float | None = 0.0,
        batch_size: Any = "auto",
        learning_rate: Any = "auto",
        warm_start: bool = False,
        dtype: str = "float32",
        device: str = "auto",
        random_state: Any = None,
        n_threads: int | None = 1,
        verbose: int = 0,
    ) -> None:
        self.n_protocentroids = n_protocentroids
        self.aggregator = aggregator
        self.init = init
        self.n_init = n_init
        self.pretrain_once = pretrain_once
        self.autoencoder = autoencoder
        self.hidden_sizes = hidden_sizes
        self.n_latent = n_latent
        self.activation = activation
        self.n_factors = n_factors
        self.rank = rank
        self.image_shape = image_shape
        self.alpha = alpha
        self.reconstruction_weight = reconstruction_weight
        self.pretrain_epochs = pretrain_epochs
        self.distill_epochs = distill_epochs
        self.max_epochs = max_epochs
        self.tol = tol
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.warm_start = warm_start
        self.dtype = dtype
        self.device = device
        self.random_state = random_state
        self.n_threads = n_threads
        self.verbose = verbose

    def _check_sizes(self) -> tuple[tuple[int, ...], str]:
        check_set_sizes(self.n_protocentroids)
        check_choice("aggregator", self.aggregator, AGGREGATORS)
        return sizes_of(self.n_protocentroids), self.aggregator

    def _of_codebook(self, codebook: LatentCodebook, labels: NDArray[np.int32]) -> dict[str, Any]:
        return {
            "protocentroids_": codebook.to_arrays(),
            "protolabels_": labels_per_set(labels, codebook.sizes),
        }

    def _decoded_members(self) -> list[NDArray[Any]]:
        """The protocentroids of each set as rows: with the average of the other sets, decoded."""
        members = members_beside_the_mean(self.protocentroids_, self._aggregator, self.labels_)
        return [self.decode(part) for part in members]

    @property
    def _aggregator(self) -> str:
        """How fitted protocentroids combine; the parameter may have changed since."""
        return self._codebook.aggregator

    def predict_protolabels(self, X: Any) -> NDArray[np.int32]:
        """Protocentroids of each row's nearest centroid.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features), Blocks, Dataset or DataLoader
            Rows. CSR rows and blocks are made dense batch by batch. A ``torch.utils.data.Dataset``
            has one row in each item; of a ``DataLoader`` the data set is used, its order is not.

        Returns
        -------
        protolabels : ndarray of shape (n_samples, p)
            Index into each set.
        """
        check_is_fitted(self)
        return labels_per_set(self.predict(X), self._codebook.sizes)
