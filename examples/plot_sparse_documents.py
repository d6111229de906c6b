"""
Clustering documents
====================

Text makes sparse rows: thousands of columns, of which a document uses a few dozen. We generate
documents with known topics, cluster them by cosine, and list the most typical words of clusters.
"""

# %%
# Documents
# ---------
# Each row is a document as tf-idf of length one. Column numbers stand for words; column 0 is the
# most common. With real text, ``TfidfVectorizer(sublinear_tf=True)`` makes such rows.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import adjusted_rand_score

from polymeans import KMeans
from polymeans.datasets import make_documents
from polymeans.inspection import plot_cluster_sizes, plot_convergence

X, topics = make_documents(10_000, 6_000, n_topics=15, random_state=0)
print(f"{X.shape[0]} documents, {X.nnz / X.shape[0]:.0f} different words in each on average")

# %%
# Clusters
# --------
# ``metric="cosine"``: only the direction of a row matters. The best of several starts is kept.

model = KMeans(15, metric="cosine", n_init=4, random_state=0).fit(X)
agreement = adjusted_rand_score(topics, model.labels_)
print(f"agreement with the topics (adjusted Rand index): {agreement:.2f}")

# %%
# Top terms
# ---------
# Centroids are directions in the space of words. Words that are common in all documents do not
# describe a cluster, so we list those in which a centroid exceeds the mean of all documents most.

words = np.array([f"word{j}" for j in range(X.shape[1])])
excess = model.cluster_centers_ - np.asarray(X.mean(axis=0)).ravel()
for j in np.argsort(-np.bincount(model.labels_))[:5]:
    top = words[np.argsort(-excess[j])[:6]]
    print(f"cluster {j:2d}, {np.sum(model.labels_ == j):4d} documents: {', '.join(top)}")

# %%
# Convergence
# -----------
# Inertia falls quickly, then few rows change cluster in each iteration. Most centroids do not move
# then, and rows are not compared with these again.

_, (left, right) = plt.subplots(1, 2, figsize=(10, 3.5), layout="constrained")
plot_convergence(model, ax=left)
left.set_title("Convergence of the best start")
plot_cluster_sizes(model, ax=right)
right.set_title("Cluster sizes")
plt.show()
