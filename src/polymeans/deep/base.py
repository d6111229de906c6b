"""What the deep clusterings share: fit, labels of new rows, encoding and decoding."""

import copy
import logging
import warnings
from abc import ABC, abstractmethod
from contextlib import nullcontext
from dataclasses import replace
from os import PathLike
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from polymeans._compat import HAS_CALLBACKS, CallbackSupportMixin, FitProgress, with_callbacks
from polymeans._fit_state import all_or_nothing, matrices_explained
from polymeans._validation import check_seed, errors_that_name
from polymeans.codebooks.aggregation import combine, digits_of
from polymeans.core.threads import effective_n_threads
from polymeans.deep import inference
from polymeans.deep.autoencoder import Autoencoder
from polymeans.deep.codebook import LatentCodebook
from polymeans.deep.devices import DTYPES, find_device, private_randomness, torch_threads
from polymeans.deep.fitting import Candidate, DeepFit, Plan, objective_of
from polymeans.deep.networks import NetworkPlan
from polymeans.deep.parameters import check_parameters, check_row_count, make_plan
from polymeans.deep.rows import ArrayRows, RowSource, checked_source, rows_for
from polymeans.deep.training import HISTORY
from polymeans.engine.journal import Journal

logger = logging.getLogger("polymeans")


class DeepClustering(
    CallbackSupportMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    ClusterMixin,
    BaseEstimator,
    ABC,
):
    """Base of the estimators that cluster in the latent space of an autoencoder."""

    #: Distances are between latent vectors. Inspection, which knows no networks, asks for this.
    _in_latent_space: ClassVar[bool] = True

    alpha: Any
    autoencoder: Any
    device: Any
    dtype: Any
    n_threads: Any
    random_state: Any
    reconstruction_weight: Any
    warm_start: Any
    labels_: NDArray[np.int32]
    _fitted_loss: Any
    _fitted_plan: NetworkPlan
    _fitted_weight: float
    _network: Autoencoder
    _codebook: LatentCodebook

    # --- what estimators differ in -----------------------------------------------------------

    @abstractmethod
    def _loss(self, alpha: float | None) -> Any:
        """The loss of the clusters; ``alpha=None`` as published."""

    @abstractmethod
    def _check_sizes(self) -> tuple[tuple[int, ...], str]:
        """Sizes of the sets and the aggregator, checked."""

    def _of_codebook(self, codebook: LatentCodebook, labels: NDArray[np.int32]) -> dict[str, Any]:
        """Attributes that only some of the estimators have."""
        return {}

    def _warn_of_vacancies(self, sizes: tuple[int, ...]) -> None:
        """Warn if centroids, or protocentroids, serve no row."""
        members = digits_of(self.labels_, sizes)
        unused = [h - len(np.unique(part)) for h, part in zip(sizes, members)]
        if any(unused):
            what = "protocentroids" if len(sizes) > 1 else "centroids"
            counts = ", ".join(f"{count} of {h}" for count, h in zip(unused, sizes))
            warnings.warn(
                f"Some {what} serve no row ({counts}). Possibly due to duplicate points in X or to "
                "few epochs; ask for fewer of them, or train for longer.",
                ConvergenceWarning,
                stacklevel=3 + HAS_CALLBACKS,
            )

    # --- fit ---------------------------------------------------------------------------------

    @with_callbacks
    def fit(self, X: Any, y: Any = None, checkpoint: str | PathLike[str] | None = None) -> Self:
        """Train the autoencoder and find the clusters in its latent space.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features), Blocks, Dataset or DataLoader
            Rows. CSR rows and blocks are made dense batch by batch. A ``torch.utils.data.Dataset``
            has one row in each item; of a ``DataLoader`` the data set is used, its order is not.
        y : Ignored
            Present by convention.
        checkpoint : path, default=None
            Folder where the fit is recorded every few seconds. If it was killed or interrupted, the
            same call goes on from there, to the same bits. The folder is removed when the fit is
            done.

        Returns
        -------
        self : estimator
            Fitted estimator. If the fit fails or is interrupted, the estimator is as it was.
        """
        with all_or_nothing(self):
            check_parameters(self)
            sizes, aggregator = self._check_sizes()
            device = find_device(self.device)
            rng = check_seed(self.random_state)
            journal = None if checkpoint is None else Journal(checkpoint)
            warm = self._warm(sizes, aggregator)
            rows = rows_for(self, X, DTYPES[self.dtype], reset=warm is None)
            check_row_count(rows.n_samples, int(np.prod(sizes)), type(self).__name__)
            plan = make_plan(self, rows, sizes, aggregator)
            if warm is not None:  # the network stays, whatever other parameters say by now
                network = replace(self._fitted_plan, dtype=plan.network.dtype)
                plan = replace(plan, network=network)
            if journal is not None:
                journal.begin(rng)
                journal.expect("parameters", self._identity())
                journal.expect("rows", {"shape": rows.shape, "first": _first_rows(rows)})
            progress = FitProgress(self, len(plan.starts), plan.n_epochs, {"X": X, "y": y})
            seed = int(rng.randint(2**31 - 1))
            given = plan.network.kind == "given"
            private = private_randomness(seed, device) if given else nullcontext()
            with self._threads(), private, matrices_explained(self):
                fit = DeepFit(
                    plan,
                    rows,
                    device,
                    rng,
                    progress,
                    lambda made: self._attributes(made, plan),
                    journal,
                    warm,
                )
                attributes = self._attributes(fit.run(), plan)
            for name, value in attributes.items():
                setattr(self, name, value)
            progress.end(lambda: attributes)
        if journal is not None:
            journal.remove()
        self._warn_of_vacancies(sizes)
        return self

    def _warm(
        self, sizes: tuple[int, ...], aggregator: str
    ) -> tuple[Autoencoder, LatentCodebook] | None:
        """The fitted network and centroids, if the fit is to go on from them."""
        if not self.warm_start or not hasattr(self, "_network"):
            return None
        fitted = self._codebook.sizes, self._codebook.aggregator
        if fitted != (sizes, aggregator):
            raise ValueError(
                f"warm_start=True goes on with sets of sizes {fitted[0]} and "
                f"aggregator={fitted[1]!r}, but the parameters ask for {sizes} and "
                f"{aggregator!r}. Set them back, or use warm_start=False."
            )
        return self._network, self._codebook

    def _threads(self) -> Any:
        count = None if self.n_threads is None else effective_n_threads(self.n_threads)
        return torch_threads(count)

    def _identity(self) -> dict[str, Any]:
        """What the result depends on apart from the rows."""
        parameters = self.get_params(deep=False)
        kept = {name: parameters[name] for name in parameters.keys() - {"verbose"}}
        return kept | {"class": type(self).__name__}

    def _attributes(self, candidate: Candidate, plan: Plan) -> dict[str, Any]:
        """Everything a fit leaves on the estimator."""
        network, codebook = candidate.network, candidate.codebook
        sets, outcome = codebook.to_arrays(), candidate.outcome
        n_latent, n_features = network.n_latent, self.n_features_in_
        n_parameters = network.n_parameters + sum(part.size for part in sets)
        full = plan.network.uncompressed_n_parameters(network, n_features)
        full += plan.n_clusters * n_latent
        epochs = [record for record in candidate.history if record[0] == "self-training"]
        return {
            "_network": network,
            "_codebook": codebook,
            "_fitted_loss": plan.loss,
            "_fitted_weight": plan.reconstruction_weight,
            "_fitted_plan": plan.network,
            "labels_": outcome.labels,
            "inertia_": outcome.inertia,
            "reconstruction_error_": outcome.reconstruction,
            "objective_": candidate.objective,
            "n_clusters_": plan.n_clusters,
            "n_latent_": n_latent,
            "n_parameters_": int(n_parameters),
            "compression_": full / n_parameters,
            "history_": np.array(candidate.history, dtype=HISTORY),
            "n_iter_": max(1, len(epochs)),
            "start_labels_": candidate.start_labels,
            "start_source_": candidate.source,
            "latent_maps_": candidate.maps,
            **self._of_codebook(codebook, outcome.labels),
        }

    # --- fitted models -----------------------------------------------------------------------

    @property
    def cluster_centers_(self) -> NDArray[Any]:
        """All centroids in the latent space, in C order of their protocentroids."""
        check_is_fitted(self, "_codebook")
        sets = self._codebook.to_arrays()
        wide = combine([part.astype(np.float64) for part in sets], self._codebook.aggregator)
        return wide.astype(sets[0].dtype)

    @property
    def decoded_centroids_(self) -> NDArray[Any]:
        """All centroids as rows: what the decoder makes of them."""
        return self.decode(self.cluster_centers_)

    def predict(self, X: Any) -> NDArray[np.int32]:
        """Nearest centroid of each row, in the latent space.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features), Blocks, Dataset or DataLoader
            Rows. CSR rows and blocks are made dense batch by batch. A ``torch.utils.data.Dataset``
            has one row in each item; of a ``DataLoader`` the data set is used, its order is not.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Index of the nearest centroid, the lowest among equals.
        """
        return self._label(self._encode(self._rows(X)))

    def transform(self, X: Any) -> NDArray[Any]:
        """Rows in the latent space: the encoder of the network, not distances.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features), Blocks, Dataset or DataLoader
            Rows. CSR rows and blocks are made dense batch by batch. A ``torch.utils.data.Dataset``
            has one row in each item; of a ``DataLoader`` the data set is used, its order is not.

        Returns
        -------
        latent : ndarray of shape (n_samples, n_latent)
            Latent vector of each row.
        """
        return self._encode(self._rows(X))

    def distances(self, X: Any) -> NDArray[Any]:
        """Distance of each row to each centroid, in the latent space.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features), Blocks, Dataset or DataLoader
            Rows. CSR rows and blocks are made dense batch by batch. A ``torch.utils.data.Dataset``
            has one row in each item; of a ``DataLoader`` the data set is used, its order is not.

        Returns
        -------
        distances : ndarray of shape (n_samples, n_clusters_)
            Euclidean distances. The nearest centroid is the label of a row.
        """
        latent = self._encode(self._rows(X))
        squares = self._squared_distances(latent)
        return np.sqrt(np.maximum(squares, 0.0)).astype(latent.dtype)

    def decode(self, latent: ArrayLike) -> NDArray[Any]:
        """Decode points of the latent space.

        Parameters
        ----------
        latent : array-like of shape (n_points, n_latent)
            Points of the latent space, of ``transform`` or ``cluster_centers_`` for example.

        Returns
        -------
        rows : ndarray of shape (n_points, n_features)
            What the decoder makes of them.
        """
        check_is_fitted(self)
        with errors_that_name("latent"):
            points = check_array(latent, dtype=[np.float32, np.float64], input_name="latent")
        if points.shape[1] != self.n_latent_:
            raise ValueError(
                f"latent has {points.shape[1]} columns, but {type(self).__name__} was fitted with "
                f"n_latent={self.n_latent_}. Pass what transform returns."
            )
        with self._threads():
            return inference.decode(self._placed_network(), points)

    def reconstruct(self, X: Any) -> NDArray[Any]:
        """Encode rows and decode them again.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features), Blocks, Dataset or DataLoader
            Rows. CSR rows and blocks are made dense batch by batch. A ``torch.utils.data.Dataset``
            has one row in each item; of a ``DataLoader`` the data set is used, its order is not.

        Returns
        -------
        rows : ndarray of shape (n_samples, n_features)
            Rows as the network reproduces them.
        """
        return self.decode(self._encode(self._rows(X)))

    def score(self, X: Any, y: Any = None) -> float:
        """Minus the objective: the loss of the clusters and that of the reconstructions.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features), Blocks, Dataset or DataLoader
            Rows. CSR rows and blocks are made dense batch by batch. A ``torch.utils.data.Dataset``
            has one row in each item; of a ``DataLoader`` the data set is used, its order is not.
        y : Ignored
            Present by convention.

        Returns
        -------
        score : float
            The larger, the better the model fits the rows; of the same kind as ``-objective_``.
            Latent spaces have units of their own, so scores of two networks do not compare.
        """
        rows = self._rows(X)
        with self._threads():
            outcome = inference.evaluate(self._placed_network(), self._fitted_codebook(), rows)
        return -objective_of(self._fitted_loss, outcome, self._fitted_weight)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the fitted model to a file, without pickle.

        Parameters
        ----------
        path : path
            File to write, in the format of safetensors. :func:`polymeans.deep.load` reads it.
        """
        from polymeans.deep.persistence import save

        save(self, path)

    def _rows(self, X: Any) -> RowSource:
        check_is_fitted(self)
        return rows_for(self, X, self._network.latent_mean.dtype, reset=False)

    def _encode(self, rows: RowSource) -> NDArray[Any]:
        with self._threads():
            return inference.encode(self._placed_network(), rows)

    def _squared_distances(self, latent: NDArray[Any]) -> NDArray[np.float64]:
        """Of latent vectors to all centroids."""
        with self._threads():
            return inference.squared_distances(self._fitted_codebook(), latent)

    def _label(self, latent: NDArray[Any]) -> NDArray[np.int32]:
        """Nearest centroids of latent vectors, the lowest among equals."""
        return self._squared_distances(latent).argmin(axis=1).astype(np.int32)

    def _transform(self, X: Any) -> NDArray[Any]:
        """Latent vectors of rows that have been checked."""
        return self._encode(checked_source(X, self._network.latent_mean.dtype))

    def _predict(self, X: Any) -> NDArray[np.int32]:
        """Labels of rows that have been checked."""
        return self._label(self._transform(X))

    def _fitted_codebook(self) -> LatentCodebook:
        check_is_fitted(self)
        return self._codebook

    def _placed_network(self) -> Autoencoder:
        """The network on the device that the parameters name; a copy unless that is the CPU."""
        device = find_device(self.device)
        return self._network if device.type == "cpu" else copy.deepcopy(self._network).to(device)

    @property
    def _n_features_out(self) -> int:
        return self.n_latent_

    def __sklearn_is_fitted__(self) -> bool:
        """Whether there is a network."""
        return hasattr(self, "_network")

    def __sklearn_tags__(self) -> Any:
        """Tags: sparse rows are accepted; latent vectors have the dtype of the network."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = []
        return tags


def _first_rows(rows: RowSource) -> Any:
    """Some rows, to tell one data set from another."""
    if isinstance(rows, ArrayRows):
        return rows.rows.numpy()
    return next(iter(rows.in_order())).numpy()
