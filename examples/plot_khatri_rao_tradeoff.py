"""
Inertia of structured and free centroids
========================================

Sums and products of protocentroids make many centroids from few vectors. Whether they have less
inertia than as many free centroids as there are vectors depends on the data. We store the same
number of vectors in three ways and compare the inertia.
"""

# %%
# Two kinds of images
# -------------------
# Single handwritten digits are not made of independent parts. Pairs of them are: the digit on the
# left is independent of the one on the right.

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

from polymeans import KhatriRaoKMeans, KMeans
from polymeans.datasets import make_double_digits
from polymeans.inspection import plot_protocentroids, plot_tradeoff

data = {
    "single digits": load_digits().data / 16.0,
    "pairs of digits": make_double_digits(1000, random_state=0)[0],
}

# %%
# The same budget, three ways
# ---------------------------
# With a budget of 2h vectors: 2h free centroids, or two sets of h that make h² of them. ``effort``
# below one makes the search quick.

BUDGETS = (6, 12, 20)
fitted = {}
for name, X in data.items():
    curves = {
        "free centroids": [KMeans(b, n_init=5, random_state=0).fit(X) for b in BUDGETS],
    }
    for aggregator in ("sum", "product"):
        curves[f"{aggregator}s of two sets"] = [
            KhatriRaoKMeans(
                (b // 2, b // 2), aggregator=aggregator, effort=0.1, random_state=0
            ).fit(X)
            for b in BUDGETS
        ]
    fitted[name] = curves
    print(f"{name + ', number of vectors:':36}" + "".join(f"{b:9d}" for b in BUDGETS))
    for kind, models in curves.items():
        inertias = "".join(f"{model.inertia_:9.0f}" for model in models)
        print(f"{'inertia of ' + kind:36}{inertias}")

# %%
# Inertia over numbers stored
# ---------------------------
# A lower curve has less inertia for the same numbers. Single digits gain little: a hundred
# centroids of a grid are not much better than twenty free ones. For pairs the gain grows with every
# vector, until two sets of ten make a centroid for each of the hundred pairs.

_, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
for ax, (name, curves) in zip(axes, fitted.items()):
    plot_tradeoff(curves, ax=ax)
    ax.set_title(name)

# %%
# The sets
# --------
# One set describes the left half, the other the right half; this was found from the rows alone. The
# second set has mean zero, so it is drawn as differences: red adds ink, blue removes it.

model = fitted["pairs of digits"]["sums of two sets"][-1]
_, ax = plt.subplots(figsize=(10, 5.5), layout="constrained")
plot_protocentroids(model, image_shape=(8, 16), ax=ax)
plt.show()
