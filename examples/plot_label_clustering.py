"""
Clustering the labels of a multi-label problem
==============================================

Classifiers for very many labels group similar labels first: a tree of label clusters, or one small
model for each. A label has no features, but the instances that carry it have, and
:func:`polymeans.label_features` adds them up.
"""

# %%
# A problem with 300 labels
# -------------------------
# Instances are documents. Every topic has 20 labels; a document carries three of those of its
# topic, and one label in ten is wrong. Clusters of labels should be the topics.

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse as sp
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.cluster import contingency_matrix

from polymeans import KMeans, label_features
from polymeans.datasets import make_documents

N_TOPICS, LABELS_PER_TOPIC, LABELS_PER_INSTANCE = 15, 20, 3
n_labels = N_TOPICS * LABELS_PER_TOPIC

rng = np.random.default_rng(0)
Z, topics = make_documents(6_000, 5_000, n_topics=N_TOPICS, random_state=0)
shape = (Z.shape[0], LABELS_PER_INSTANCE)
carried = topics[:, None] * LABELS_PER_TOPIC + rng.integers(LABELS_PER_TOPIC, size=shape)
carried = np.where(rng.random(shape) < 0.1, rng.integers(n_labels, size=shape), carried)
instances = np.repeat(np.arange(Z.shape[0]), LABELS_PER_INSTANCE)
Y = sp.csr_array(
    (np.ones(carried.size), (instances, carried.ravel())), shape=(Z.shape[0], n_labels)
)
Y.data[:] = 1.0  # a label drawn twice is still one label

# %%
# Rows for labels
# ---------------
# The row of a label is the sum of its instances' rows, brought to length one.

X = label_features(Y, Z)
print(f"{X.shape[0]} labels, {X.nnz / X.shape[0]:.0f} features in each on average")

# %%
# Clusters of labels
# ------------------
# The labels of a topic share most of their words, although any two of them seldom occur in the same
# instance.

model = KMeans(N_TOPICS, n_init=10, random_state=0).fit(X)
groups = np.repeat(np.arange(N_TOPICS), LABELS_PER_TOPIC)
agreement = adjusted_rand_score(groups, model.labels_)
print(f"agreement with the groups (adjusted Rand index): {agreement:.2f}")

table = contingency_matrix(groups, model.labels_)
table = table[:, np.argsort(table.argmax(axis=0), kind="stable")]  # clusters in order of groups
_, ax = plt.subplots(figsize=(5, 4.2), layout="constrained")
image = ax.imshow(table, cmap="Blues")
ax.set_xlabel("cluster")
ax.set_ylabel("true group of labels")
ax.set_title("Labels of each group in each cluster")
plt.colorbar(image, ax=ax, label="labels")
plt.show()
