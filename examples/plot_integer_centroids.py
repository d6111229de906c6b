"""
A new kind of centroids: integers
=================================

A device that has no floating point numbers needs centroids of integers. This example adds them: one
codebook and one estimator, without a change to the engine.
"""

# %%
# The codebook
# ------------
# A cluster of mass n, mean u and centroid v costs ``n |u - v|²`` more than one with centroid u. The
# features are independent of each other, so the best integers are the nearest ones to the mean, and
# rounding is the exact refit. ``frame.unit`` is 1 unless values are extreme.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from polymeans import KMeans
from polymeans.codebooks.table import TableCodebook


class IntegerCodebook(TableCodebook):
    """k centroids whose entries are integers in the user's unit."""

    def __init__(self, frame, means):
        super().__init__(frame, means.shape)
        self.show(self._nearest(means, frame.unit))

    def _nearest(self, means, unit):
        return (np.round(means * unit) / unit).astype(self.dtype)

    @property
    def n_parameters(self):
        return self.centers.size

    def refit(self, statistics):
        return self.show(self._nearest(self.means(statistics), statistics.frame.unit))

    def state(self):
        return {"centers": self.centers, "rank": self.rank}

    @classmethod
    def from_state(cls, state):
        codebook = cls.__new__(cls)
        codebook._begin(state["centers"].dtype, state["rank"], state["centers"].shape)
        codebook.show(state["centers"])
        return codebook


# %%
# The estimator
# -------------
# It draws k rows as k-means does and puts them into the new codebook. The engine does the rest.


class IntegerKMeans(KMeans):
    def _start(self, state):
        table = self._free_start(state).book.numerators
        return IntegerCodebook(state.frame, table.astype(np.float64))


# %%
# Gray values of digits
# ---------------------
X = load_digits().data
free, rounded = (kind(10, random_state=0).fit(X) for kind in (KMeans, IntegerKMeans))
print(f"inertia: free {free.inertia_:.0f}, integers {rounded.inertia_:.0f}")
assert (rounded.cluster_centers_ == np.round(rounded.cluster_centers_)).all()

_, axes = plt.subplots(2, 10, figsize=(10, 2.4), layout="constrained")
for row, model in zip(axes, (free, rounded)):
    for ax, center in zip(row, model.cluster_centers_):
        ax.imshow(center.reshape(8, 8), cmap="gray_r")
        ax.set_axis_off()
plt.show()
