"""
Digits that stay with their writers
===================================

Ten writers have some digits each and keep them. A server sends centroids, or protocentroids, of
which all sums are centroids, and gets sums back. What does a fit cost in bytes, and how good is it?
This is the comparison of Figure 10 of the Khatri-Rao paper, on smaller images.
"""

# %%
# Ten sites
# ---------
# The data set is sorted by writers, roughly: consecutive images are those of one of them.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from polymeans import KhatriRaoKMeans, KMeans
from polymeans.federated import simulate

X = load_digits().data.astype(np.float32)
sites = np.array_split(X, 10)

# %%
# Methods
# -------
# FkM makes local steps and clusters their outcomes, and KR-FkM does so with protocentroids, both as
# published; the exact method returns the bits of a fit of all digits in one place. At equal numbers
# of vectors all of them send the same number of bytes to a site in each round.

ROUNDS = 8


def free(n_vectors):
    return KMeans(n_vectors, random_state=0)


def grid(n_vectors):
    return KhatriRaoKMeans((n_vectors // 2, n_vectors // 2), random_state=0, effort=0.1)


methods = {
    "FkM, published": (free, {"method": "local", "as_published": True}),
    "KR-FkM, published": (grid, {"method": "local", "as_published": True}),
    "exact, free centroids": (free, {"method": "exact"}),
    "exact, sums of protocentroids": (grid, {"method": "exact"}),
}
curves = {}
for name, (make, how) in methods.items():
    runs = [simulate(make(n), sites, rounds=ROUNDS, random_state=0, **how) for n in (6, 12)]
    curves[name] = [(run.bytes_down / 1e3, -run.model.score(X)) for run in runs]
    print(f"{name:30}", *(f"{inertia:9.0f}" for _, inertia in curves[name]))

# %%
# Inertia against bytes
# ---------------------
# The exact method is below the published one throughout: it forgets nothing from round to round.

figure, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
for name, points in curves.items():
    style = "--" if "published" in name else "-"
    ax.plot(*zip(*sorted(points)), style, marker="o" if "FkM," in name else "s", label=name)
ax.set_xlabel("kilobytes from the server to all sites")
ax.set_ylabel("inertia")
ax.set_xscale("log")
ax.legend()
plt.show()

# %%
# Who was there
# -------------
# Sites fail. Rounds go on with those present, and the history says who they were.

run = simulate(grid(12), sites, dropout=0.2, min_sites=5, rounds=ROUNDS, random_state=0)
steps = run.history[run.history.kind == "step"]
print("sites in each round:", *steps.n_sites)
print(f"inertia {-run.model.score(X):.0f}, with all sites {curves[name][1][1]:.0f}")
