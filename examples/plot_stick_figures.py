"""
Nine poses from six images
==========================

A figure's arms are up, out or down; its legs are together, apart, or one of them kicks. That makes
nine poses from six parts. :class:`polymeans.KhatriRaoKMeans` finds the six: its centroids are sums
of one vector from each of two sets.
"""

# %%
# Figures
# -------
# Each row is an image of 20 by 20 pixels with some noise. The model is fitted to the images alone.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import adjusted_rand_score

from polymeans import KhatriRaoKMeans, KMeans
from polymeans.datasets import make_stick_figures
from polymeans.inspection import plot_protocentroids
from polymeans.metrics import unsupervised_accuracy

images, poses = make_stick_figures(900, random_state=0)
arms, legs = poses.T
print(
    f"{len(images)} images of {images.shape[1]} pixels in {len(np.unique(3 * arms + legs))} poses"
)

_, axes = plt.subplots(1, 9, figsize=(9, 1.3), layout="constrained")
for ax, image in zip(axes, images):
    ax.imshow(image.reshape(20, 20), cmap="gray_r")
    ax.set_axis_off()

# %%
# Two sets of three
# -----------------
# A label is a pair: a member of the first set and one of the second. The pairs are the poses, and
# each set corresponds to one half of the body.

model = KhatriRaoKMeans((3, 3), random_state=0).fit(images)
agreement = adjusted_rand_score(3 * arms + legs, model.labels_)
print(f"agreement with the poses (adjusted Rand index): {agreement:.2f}")
for q, members in enumerate(model.protolabels_.T):
    right = [unsupervised_accuracy(truth, members) for truth in (arms, legs)]
    print(f"set {q}: accuracy for arms {right[0]:.0%}, for legs {right[1]:.0%} (chance: 33%)")

# %%
# The inertia is that of nine free centroids, with two thirds of the numbers. Six free centroids,
# which have as many numbers as the two sets, merge poses.

nine = KMeans(9, n_init=10, random_state=0).fit(images)
six = KMeans(6, n_init=10, random_state=0).fit(images)
for name, fitted, n_vectors in (
    ("nine free centroids", nine, 9),
    ("six free centroids", six, 6),
    ("three plus three", model, 6),
):
    print(f"{name:20} {n_vectors} vectors, inertia {fitted.inertia_:6.0f}")
print(f"compression: {model.compression_:.1f}")

# %%
# The protocentroids
# ------------------
# One set is the rows of the table, the other its columns. The sets are only determined up to a
# vector that is added to one of them and subtracted from the other: on the left as they are stored,
# the second set with mean zero; on the right with minimum zero, as non-negative parts.

_, (left, right) = plt.subplots(1, 2, figsize=(10, 5), layout="constrained")
plot_protocentroids(model, image_shape=(20, 20), ax=left)
left.set_title("protocentroids_, as fitted", pad=12)
plot_protocentroids(model, image_shape=(20, 20), baseline="least", ax=right)
right.set_title('the same with baseline="least"', pad=12)
plt.show()
