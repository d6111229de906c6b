"""
Twelve vectors for the colors of a photograph
==============================================

Color quantization paints a photograph with few colors. k-means stores each of them. Here two sets
of six vectors are stored, and the palette is all their sums, or all their products: 36 colors from
twelve vectors.
"""

# %%
# A photograph
# ------------
# Pixels are rows with three features: red, green and blue from 0 to 1. The palette is fitted to a
# thousand of them and evaluated on all.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_sample_image

from polymeans import KhatriRaoKMeans, KMeans
from polymeans.inspection import plot_protocentroids

image = load_sample_image("china.jpg") / 255.0
pixels = image.reshape(-1, 3)
rng = np.random.default_rng(0)
sample = pixels[rng.choice(len(pixels), 1000, replace=False)]

# %%
# Palettes
# --------
# A shade is a hue times a brightness, so products are a natural model of light: one set can be
# hues, the other brightnesses. Sums are about as good here.

palettes = {
    "k-means, 12 colors": KMeans(12, n_init=20, random_state=0),
    "sums, 6 + 6 vectors, 36 colors": KhatriRaoKMeans((6, 6), random_state=0),
    "products, 6 + 6 vectors, 36 colors": KhatriRaoKMeans(
        (6, 6), aggregator="product", random_state=0
    ),
    "k-means, 36 colors": KMeans(36, n_init=20, random_state=0),
}
print(f"inertia over all {len(pixels)} pixels:")
painted = {}
for name, model in palettes.items():
    labels = model.fit(sample).predict(pixels)
    painted[name] = model.cluster_centers_[labels].reshape(image.shape)
    print(f"{name:38} {np.sum((painted[name] - image) ** 2):7.1f}")

# %%
# The photograph, repainted
# -------------------------
# With twelve colors the red of the columns is missing; with three times as many, from the same
# number of vectors, it is not.

figure, axes = plt.subplots(2, 2, figsize=(10, 7), layout="constrained")
panels = {"original": image, **dict(list(painted.items())[:3])}
for ax, (name, shown) in zip(axes.flat, panels.items()):
    ax.imshow(np.clip(shown, 0, 1))
    ax.set_title(name)
    ax.set_axis_off()

# %%
# The palettes
# ------------
# Each color of the table is a combination of the vectors of its row and its column. The second set
# is drawn as a change, where gray means none. Colors above the range are white, and those without
# pixels in the sample would be dimmed.

figure, axes = plt.subplots(1, 2, figsize=(10, 5), layout="constrained")
for ax, name in zip(axes, list(palettes)[1:3]):
    plot_protocentroids(palettes[name], image_shape=(1, 1, 3), ax=ax)
    ax.set_title(name, pad=12)
plt.show()
