"""
After the fit: a table and a report
===================================

A clustering of handwritten digits is described: what is in each cluster, which rows are typical,
which hardly belong. Then all of it is written to one HTML file.
"""

# %%
# A fit
# -----
# Images of eight by eight pixels, without their labels.

import matplotlib.pyplot as plt
import numpy as np
from sklearn import datasets

from polymeans import KMeans, describe, nearest_samples, relabel, report

digits = datasets.load_digits()
X = digits.data
model = relabel(KMeans(10, n_init=5, random_state=0).fit(X))  # cluster 0 is the largest
print(f"inertia: {model.inertia_:.0f}")

# %%
# A table
# -------
# One pass over the rows gives a row for each cluster. The digits that people see in the images are
# compared with the clusters.

names = [f"pixel {i // 8},{i % 8}" for i in range(64)]
table = describe(model, X, names, y=digits.target)
print(table)
crosstab = table.crosstabs[0].weights
found = crosstab.argmax(axis=1)
for row in table:
    share = crosstab[row.cluster].max() / row.size
    print(f"cluster {row.cluster}: {share:.0%} are the digit {found[row.cluster]}")

# %%
# Typical rows
# ------------
# The five images nearest to each centroid. Cluster by cluster, they are the same digit.

indices, _ = nearest_samples(model, X, 5)
figure, axes = plt.subplots(5, 10, figsize=(8, 4.4), layout="constrained")
for c, numbers in enumerate(indices):
    for place, number in enumerate(numbers):
        axes[place, c].imshow(X[number].reshape(8, 8), cmap="gray")
        axes[place, c].set_axis_off()
    axes[0, c].set_title(f"{c}", fontsize=10)
figure.suptitle("Rows nearest to the centroids")
plt.show()

# %%
# A report
# --------
# One file with a map, the table, quality, convergence and parameters. ``images`` shows rows as
# pictures.

written = report(model, X, names, y=digits.target, image_shape=(8, 8)).save("digits.html")
print(f"{written.name}: {written.stat().st_size / 1e3:.0f} kB")
print(f"rows of the largest cluster: {np.sum(model.labels_ == 0)}")
