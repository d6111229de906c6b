"""
Centroids as a product of sparse factors
========================================

To label a row it is multiplied with all numbers of all centroids. We write 64 centroids of
handwritten digits as a product of two sparse matrices, plot these, and compare the loss for several
numbers of non-zeros with that of other methods.
"""

# %%
# The factors
# -----------
# A table of 64 centroids with 64 pixels each has 4096 numbers. We allow 900. The fit begins with
# plain k-means, so the increase of inertia is known.

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

from polymeans import KMeans, L1KMeans, QuickKMeans
from polymeans.inspection import (
    plot_factors,
    plot_matched_centroids,
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
# Red is positive, blue is negative, white is not stored. An entry on the diagonal of the first
# factor copies a row of the second one, which has the few pixels in which that centroid differs.
# The columns beside it are patterns that many centroids have in common. The division of the budget
# between the two was not given.

# %%
# The centroids
# -------------
# We compare them with those of k-means, and with sparse centroids of as many non-zeros, which
# :class:`polymeans.L1KMeans` finds by projection onto an l1 ball. All three begin with the same
# k-means; corresponding centroids are in the same place. We show the first 30.

plain = KMeans(64, random_state=0).fit(X)
sparse = L1KMeans(64, n_nonzeros=900, offset="median", random_state=0).fit(X)
_, axes = plt.subplots(1, 3, figsize=(11, 4.2), layout="constrained")
plot_matched_centroids(
    [plain, model, sparse], (8, 8), clusters=range(30), limits=(0, 16), axes=axes
)

# %%
# Loss for several budgets
# ------------------------
# palm4MSA is the method of the QuicK-means paper, with a chain of six factors; it has no exact
# budget, so sparsity levels are given. With ``refit=False`` the factors of k-means' centroids are
# not changed by further iterations; the next section shows these. "means" uses the factors of the
# first curve for labels only, and exact means as centroids: the loss is then that of the labels.
# The table of means is stored in addition to the non-zeros on the axis.

BUDGETS = (500, 900, 1500)


def lost(models):
    """Non-zeros and relative loss of some models."""
    return zip(*[(m.n_nonzeros_, m.inertia_ / plain.inertia_) for m in models])


factored = [QuickKMeans(64, n_nonzeros=n, random_state=0).fit(X) for n in BUDGETS]
curves = {
    "two factors": factored,
    "k-means, then palm4MSA": [
        QuickKMeans(64, method="palm4msa", sparsity_level=s, refit=False, random_state=0).fit(X)
        for s in (2, 4)
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
# Objective and operations
# ------------------------
# On the left, the objective in each iteration. It never rises, with either method. On the right,
# operations for one label, for several numbers of clusters at sparsity level 3. Those of a full
# table are proportional to the number of clusters, those of the factors grow more slowly.

paper = QuickKMeans(64, method="palm4msa", sparsity_level=3, max_iter=6, random_state=0).fit(X)
levels = [QuickKMeans(k, sparsity_level=3, random_state=0).fit(X) for k in (16, 32, 64)]
_, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
plot_objective([factored[2], paper], names=["two factors", "palm4MSA"], relative=True, ax=left)
left.set_title(f"{factored[2].n_nonzeros_} and {paper.n_nonzeros_} non-zeros")
plot_operations({"two factors, sparsity level 3": levels}, sparsity_level=3, ax=right)
plt.show()
