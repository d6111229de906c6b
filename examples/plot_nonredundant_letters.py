"""
Three clusterings of the same images
====================================

Images of letters can be grouped by letter, by color, or by the corner that is marked. The three
groupings are independent. k-means finds one of them, or a mixture.
:class:`polymeans.NonRedundantKMeans` finds all three at once, in orthogonal subspaces.
"""

# %%
# Images
# ------
# Each row is an image of 9 by 7 pixels in red, green and blue, with some noise: 6 letters, 3 colors
# and 4 corners in all 72 combinations.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import adjusted_rand_score

from polymeans import KMeans, NonRedundantKMeans
from polymeans.datasets import make_colored_letters
from polymeans.inspection import plot_view_centroids, plot_view_information, plot_views
from polymeans.metrics import mutual_information_matrix, view_redundancy

images, known = make_colored_letters(1000, random_state=0)
names = ("letter", "color", "corner")
print(f"{len(images)} images of {images.shape[1]} numbers")

_, axes = plt.subplots(1, 10, figsize=(9, 1.4), layout="constrained")
for ax, image in zip(axes, images):
    ax.imshow(image.reshape(9, 7, 3))
    ax.set_axis_off()

# %%
# A single clustering
# -------------------
# Normalized mutual information is 0 for independent labels, and 1 for the same labels under other
# names. Three clusters of k-means are the colors. Six are not the letters, but a mixture of the
# groupings.

for n_clusters in (3, 6):
    plain = KMeans(n_clusters, n_init=10, random_state=0).fit(images)
    (scores,) = mutual_information_matrix(plain.labels_, known)
    text = ", ".join(f"{name} {score:.2f}" for name, score in zip(names, scores))
    print(f"k-means with {n_clusters} clusters: {text}")

# %%
# Three views
# -----------
# Only the numbers of clusters are given.

model = NonRedundantKMeans((6, 3, 4), random_state=0).fit(images)
scores = mutual_information_matrix(model.labels_per_view_, known)
print(f"{'':22}" + "".join(f"{name:>8}" for name in names))
for s, row in enumerate(scores):
    what = f"view {s}, {model.n_clusters_[s]} clusters"
    print(f"{what:22}" + "".join(f"{score:8.2f}" for score in row))
print(f"redundancy: {view_redundancy(model.labels_per_view_):.0%}")

shape = (6, 3, 4)
found = np.ravel_multi_index(model.labels_per_view_.T, shape)
agreement = adjusted_rand_score(np.ravel_multi_index(known.T, shape), found)
print(f"agreement with all 72 combinations (adjusted Rand index): {agreement:.2f}")

# %%
# Centers of the views
# --------------------
# Centers of a view differ from the mean of all images only in the directions of that view. So
# letters have the mean color, and colors the mean shape of all letters.

plot_view_centroids(model, (9, 7, 3))

# %%
# Rows in the subspaces
# ---------------------
# The same images, in the two directions that separate the clusters of a view best.

plot_views(model, images)

# %%
# Each cluster of view 1 has two parts, because a letter with more pixels has more color: letter and
# color are a product, not a sum as the model assumes. The difference is too small to change labels.
# Colored by letter, the smaller parts are J and V, which have the fewest pixels.

plot_views(model, images, labels=known[:, 0])

# %%
# Shared information
# ------------------
# Views share no information with each other, and all of it with one of the known labelings.

plot_view_information(model, known, names=names)
plt.show()
