"""
Centroids as a product of sparse factors
========================================

Labelling a row means multiplying it with all numbers of all centroids. We write 64 centroids of
handwritten digits as a product of two sparse matrices, look at these, and see what is lost for
which number of non-zeros; beside other ways to spend as many.
"""

# %%
# The factors
# -----------
# A table of 64 centroids with 64 pixels each has 4096 numbers. We allow 900. The fit begins with
# plain k-means, so we know what the rest costs.

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

from polymeans import KMeans, L1KMeans, QuickKMeans
from polymeans.inspection import (
    plot_centroid_images,
    plot_factors,
    plot_objective,
    plot_operations,
)

X = load_digits().data
model = QuickKMeans(64, n_nonzeros=900, random_state=0).fit(X)
print(f"{model.n_nonzeros_} non-zeros, {model.compression_:.1f} times fewer than a full table")
print(f"inertia: {model.inertia_ / model.kmeans_inertia_:.3f} of that of k-means")

_, ax = plt.subplots(figsize=(9, 4.5), layout="constrained")
plot_factors(model, ax=ax)

# %%
# Red is positive, blue is negative, white is not stored. The diagonal of the first factor copies:
# each of its centroids has a row of its own in the second one, where it says in which few pixels it
# differs. The columns beside it are patterns that many centroids have in common. How much of the
# budget goes where was not given.

# %%
# The centroids
# -------------
# Beside k-means', and beside sparse centroids with as many non-zeros, which
# :class:`polymeans.L1KMeans` finds by projection onto an l1 ball. All three begin with the same
# k-means; corresponding centroids stand in the same place. We show the first 30.

plain = KMeans(64, random_state=0).fit(X)
sparse = L1KMeans(64, n_nonzeros=900, offset="median", random_state=0).fit(X)
_, axes = plt.subplots(1, 3, figsize=(11, 4.2), layout="constrained")
plot_centroid_images([plain, model, sparse], (8, 8), clusters=range(30), limits=(0, 16), axes=axes)

# %%
# What is lost for which budget
# -----------------------------
# The same for several budgets. palm4MSA is how the QuicK-means paper finds its chain of six
# factors; it has no exact budget, so it comes with sparsity levels. With ``refit=False`` the
# factors of k-means' centroids stay as they are; what the iterations after that are worth is shown
# below. "means" uses the factors of the first curve for labels only, and exact means for
# centroids: the loss is then that of the labels. That table is stored, too, so the non-zeros on
# the axis are what a label takes there, not all that is kept.

BUDGETS = (500, 900, 1300, 1800)


def lost(models):
    """Non-zeros and relative loss of some models."""
    return zip(*[(m.n_nonzeros_, m.inertia_ / plain.inertia_) for m in models])


factored = [QuickKMeans(64, n_nonzeros=n, random_state=0).fit(X) for n in BUDGETS]
curves = {
    "two factors": factored,
    "k-means, then palm4MSA": [
        QuickKMeans(64, method="palm4msa", sparsity_level=s, refit=False, random_state=0).fit(X)
        for s in (2, 3, 4)
    ],
    "sparse centroids": [
        L1KMeans(64, n_nonzeros=n, offset="median", random_state=0).fit(X) for n in BUDGETS
    ],
    "two factors, means": [
        QuickKMeans(64, n_nonzeros=n, centers="means", random_state=0).fit(X) for n in BUDGETS[:2]
    ],
}
_, ax = plt.subplots(figsize=(7, 4.5), layout="constrained")
for (name, models), marker in zip(curves.items(), "os^D"):
    ax.plot(*lost(models), marker=marker, label=name)
    line = ", ".join(f"{loss:.3f} with {n}" for n, loss in zip(*lost(models)))
    print(f"{name + ':':24} {line}")
ax.axhline(1, color="0.45", ls=":", label="k-means, 4096 numbers")
ax.set_ylim(0.9, 3)
ax.set_xlabel("non-zeros")
ax.set_ylabel("inertia over that of k-means")
ax.legend(frameon=False)

# %%
# The objective, and the operations
# ---------------------------------
# On the left, the objective in the course of the fit. It never rises, with either method. On the
# right, operations that a label takes, for more and more clusters at sparsity level 3. Those of a
# full table grow with the number of clusters; those of the factors slower, and the larger the
# table, the more there is to save.

paper = QuickKMeans(64, method="palm4msa", sparsity_level=3, max_iter=6, random_state=0).fit(X)
levels = [QuickKMeans(k, sparsity_level=3, random_state=0).fit(X) for k in (16, 32, 64)]
_, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
plot_objective([factored[2], paper], names=["two factors", "palm4MSA"], relative=True, ax=left)
left.set_title(f"{factored[2].n_nonzeros_} and {paper.n_nonzeros_} non-zeros")
plot_operations({"two factors, sparsity level 3": levels}, sparsity_level=3, ax=right)
plt.show()
