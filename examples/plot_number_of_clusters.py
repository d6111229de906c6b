"""
How many clusters
=================

Several criteria are asked for the number of clusters, and for data without clusters the answer is
none.
"""

# %%
# Clusters of different sizes
# ---------------------------
# Five clusters, of which two overlap.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import adjusted_rand_score

from polymeans import choose_n_clusters, stability
from polymeans.inspection import ClusterMapDisplay, SilhouetteDisplay

rng = np.random.default_rng(0)
centers = np.array([[0, 0], [9, 1], [3, 8], [10, 9], [13, 7.5]])
labels = rng.choice(5, 900, p=[0.35, 0.25, 0.2, 0.1, 0.1])
X = centers[labels] + rng.normal(size=(900, 2))

choice = choose_n_clusters(X, 10, random_state=0)
print(choice)
choice.plot()
plt.show()

# %%
# The chosen clusters
# -------------------

model = choice.best_estimator_
fig, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
ClusterMapDisplay.from_estimator(model, X, ax=axes[0])
SilhouetteDisplay.from_estimator(model, X, ax=axes[1])
plt.show()
print(stability(model, X, 10, random_state=0))
score = adjusted_rand_score(labels, model.labels_)
print(f"agreement with the groups that were drawn (adjusted Rand index): {score:.3f}")

# %%
# Nothing
# -------
# An elongated cloud and heavy tails: k-means divides both, and both halves of the rows may be
# divided alike, but there are no valleys.

clouds = {
    "elongated": rng.normal(size=(900, 2)) * [5, 1],
    "heavy tails": rng.standard_t(3, size=(900, 2)),
}
for name, rows in clouds.items():
    found = choose_n_clusters(rows, 10, random_state=0)
    print(f"{name}: {found.best_}; {found.reason_}")
