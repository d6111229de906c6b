"""A slow and obvious version of what ``partial_fit`` does."""

import numpy as np

from tests.oracles import nearest


class SlowStream:
    """Decayed masses and sums of every cluster, and the best centroids for them.

    Parameters
    ----------
    vectors : list of ndarray of shape (h_q, n_features)
        Where to begin; one array: free centroids.
    aggregator : {"sum", "product"}
    half_life : float or None
    spherical : bool
    """

    def __init__(self, vectors, aggregator="sum", half_life=None, spherical=False):
        self.vectors = [np.array(part, dtype=np.float64) for part in vectors]
        self.aggregator, self.half_life, self.spherical = aggregator, half_life, spherical
        k = len(self.centers)
        self.mass, self.sums = np.zeros(k), np.zeros((k, self.vectors[0].shape[1]))

    @property
    def centers(self):
        combined = self.vectors[0]
        for part in self.vectors[1:]:
            pairs = (
                combined[:, None] + part if self.aggregator == "sum" else combined[:, None] * part
            )
            combined = pairs.reshape(-1, part.shape[1])
        return combined

    def learn(self, X, weights=None):
        """Take in one batch in which no cluster needs to be relocated."""
        weights = np.ones(len(X)) if weights is None else weights
        X = np.asarray(X, dtype=np.float64)
        if self.spherical:
            X = X / np.linalg.norm(X, axis=1)[:, None]
        labels = nearest(X, self.centers)
        decay = 1.0 if self.half_life is None else 2.0 ** (-weights.sum() / self.half_life)
        self.mass, self.sums = self.mass * decay, self.sums * decay
        np.add.at(self.mass, labels, weights)
        np.add.at(self.sums, labels, weights[:, None] * X)
        self._refit()

    def objective(self):
        """What the refit minimizes, less what does not depend on the centroids."""
        centers = self.centers
        return float(np.sum(self.mass[:, None] * centers**2) - 2 * np.sum(centers * self.sums))

    def _refit(self):
        if len(self.vectors) == 1:
            seen = self.mass > 0
            best = self.sums[seen] / self.mass[seen, None]
            if self.spherical:
                best = self.sums[seen] / np.linalg.norm(self.sums[seen], axis=1)[:, None]
            self.vectors[0][seen] = best
        elif self.aggregator == "sum":
            sizes = [len(part) for part in self.vectors]
            digits = np.unravel_index(np.arange(len(self.mass)), sizes)
            design = np.concatenate([np.eye(h)[digit] for h, digit in zip(sizes, digits)], axis=1)
            root = np.sqrt(self.mass)[:, None]
            means = self.sums / np.where(self.mass > 0, self.mass, 1.0)[:, None]
            stacked = np.linalg.lstsq(root * design, root * means, rcond=1e-12)[0]
            self.vectors = np.split(stacked, np.cumsum(sizes)[:-1])
        else:
            raise NotImplementedError("products have no closed form: compare objectives")
