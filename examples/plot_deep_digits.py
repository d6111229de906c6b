"""
Digits on a grid in the latent space of a network
=================================================

Ten kinds of digits are clustered by :class:`~polymeans.deep.KhatriRaoIDEC`: an autoencoder encodes
images as ten numbers, and seven protocentroids in sets of two and five make ten centroids there.
Where the clusters are is decided by a graph of nearest neighbors; the network learns to reproduce
them, with centroids on the grid. Then it labels and decodes images without the graph.
"""

# %%
# Fit on a part, predict the rest
# -------------------------------
# The graph is made of the training images only. First we see how well the network follows it, then
# how well it finds the digits that people see, compared with k-means on the pixels. Agreement is
# measured by the adjusted Rand index: 1 is perfect, 0 is chance.

import matplotlib.pyplot as plt
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.metrics import adjusted_rand_score

from polymeans.deep import KhatriRaoIDEC, plot_decoded_centroids, plot_latent_map, plot_losses

digits = load_digits()
images = digits.data / 16
train, test = slice(0, None, 2), slice(1, None, 2)

model = KhatriRaoIDEC((2, 5), random_state=0).fit(images[train])
kmeans = KMeans(10, n_init=10, random_state=0).fit(images[train])

taught = adjusted_rand_score(model.start_labels_, model.labels_)
print(f"network and graph agree (adjusted Rand index): {taught:.3f}")
for name, part in (("training", train), ("new", test)):
    found = adjusted_rand_score(digits.target[part], model.predict(images[part]))
    plain = adjusted_rand_score(digits.target[part], kmeans.predict(images[part]))
    print(
        f"{name} images: network and digits agree by {found:.3f}, k-means and digits by {plain:.3f}"
    )

# %%
# What centroids look like
# ------------------------
# The decoder turns latent vectors into images. Down the left side and along the top are the
# protocentroids, each combined with the average of the other set. The grid is a code, not
# necessarily an explanation: any ten clusters can be put on it, and digits are no combinations of
# two factors. Neighbors in a row or column share a latent vector.

fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
plot_decoded_centroids(model, image_shape=(8, 8), limits=(0, 1), ax=ax)

# %%
# How the latent space changes
# ----------------------------
# After pretraining the latent space has no clusters to speak of. Distillation puts the clusters of
# the graph onto the grid, and self-training makes them more decided.

plot_latent_map(model)

# %%
# Losses
# ------
# Self-training has targets of its own, so its loss does not continue that of distillation.

fig, ax = plt.subplots(figsize=(7, 3.5), layout="constrained")
plot_losses(model, ax=ax)

plt.show()
