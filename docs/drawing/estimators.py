"""Pictures of the guides to estimators. Each shows fits, on data that guides use, too."""

from typing import Any

import numpy as np
from sklearn.datasets import load_digits, make_blobs
from sklearn.metrics import adjusted_rand_score

from drawing.start_page import PANELS
from drawing.style import GRAY, INK, keep, marked, page, tiles
from polymeans import (
    KhatriRaoKMeans,
    KMeans,
    NonRedundantKMeans,
    QuickKMeans,
    TransformedKMeans,
)
from polymeans.datasets import make_colored_letters, make_stick_figures
from polymeans.inspection import plot_protocentroids


def draw_kmeans() -> None:
    """Rows before and after."""
    X, _ = make_blobs(300, centers=4, cluster_std=1.1, random_state=11)
    model = KMeans(4, n_init=5, random_state=0).fit(X)
    figure, ((before, after),) = page(3.2, 1, 2)
    before.scatter(*X.T, s=16, color=GRAY, lw=0)
    before.set(xticks=[], yticks=[], title="rows")
    marked(after, X, model.labels_, model.cluster_centers_)
    after.set_title("labels and centroids")
    keep(figure, "kmeans")


def draw_khatri_rao() -> None:
    """Nine figures, and the six parts that they are sums of."""
    images, _ = make_stick_figures(900, random_state=0)
    model = KhatriRaoKMeans((3, 3), random_state=0).fit(images)
    figure, ((ax,),) = page(5.6)
    plot_protocentroids(model, image_shape=(20, 20), baseline="least", ax=ax)
    keep(figure, "khatri_rao")


def draw_nonredundant() -> None:
    """Some images, and what three views have found in all of them."""
    images, _ = make_colored_letters(1000, random_state=0)
    model = NonRedundantKMeans((6, 3, 4), random_state=0).fit(images)
    figure, axes = page(5.6, 4, 1)
    parts = [("six of the images", images[:6])]
    shares = model.explained_variance_ratio_
    for view, part in enumerate(model.centroids_per_view_):
        parts.append((f"view {view}: {shares[view]:.0%} of the variance", part))
    for ax, (title, part) in zip(axes[:, 0], parts):
        pictures = list(np.clip(part.reshape(-1, 9, 7, 3), 0, 1))
        pictures += [np.ones((9, 7, 3))] * (6 - len(pictures))
        ax.imshow(tiles(pictures, 6, gap=3, fill=1.0), interpolation="nearest")
        ax.set_axis_off()
        ax.set_title(title, loc="left", fontsize=13)
    keep(figure, "nonredundant")


def draw_transformed() -> None:
    """Elongated clusters, as k-means cuts them and as they are."""
    rng = np.random.default_rng(0)
    known = np.repeat([0, 1, 2], 100)
    X = rng.normal(size=(300, 2)) * [10, 0.3] + np.column_stack([0 * known, 3 * known])
    X = X @ [[0.8, 0.6], [-0.6, 0.8]]
    figure, ((left, right),) = page(3.5, 1, 2)
    models: list[tuple[Any, Any]] = [
        (left, KMeans(3, n_init=10, random_state=0)),
        (right, TransformedKMeans(3, random_state=0)),
    ]
    for ax, model in models:
        labels = model.fit(X).labels_
        marked(ax, X, labels, size=14)
        score = adjusted_rand_score(known, labels)
        ax.set_title(f"{type(model).__name__}\nadjusted Rand index {score + 0:.2f}", fontsize=13)
    keep(figure, "transformed")


def draw_quick() -> None:
    """The table of centroids, and the two factors that replace it."""
    X = load_digits().data
    model = QuickKMeans(64, n_nonzeros=1200, random_state=0).fit(X)
    table = model.cluster_centers_
    left, right = (part.toarray() for part in model.factors_)
    figure, (axes,) = page(3.3, 1, 3, width_ratios=[64, left.shape[1], 64])
    looks = [
        (table, "centroids", table.size),
        (left, "first factor", 0),
        (right, "second factor", 0),
    ]
    for ax, (part, title, n_numbers) in zip(axes, looks):
        if n_numbers:
            ax.imshow(part, cmap="Greys", interpolation="nearest", aspect="auto")
            kind = f"{n_numbers} numbers"
        else:
            edge = np.quantile(np.abs(part[part != 0]), 0.9)
            shown = np.where(part == 0, np.nan, np.sign(part) * np.sqrt(np.abs(part) / edge))
            ax.imshow(shown, cmap="RdBu", vmin=-1, vmax=1, interpolation="nearest", aspect="auto")
            kind = f"{np.count_nonzero(part)} non-zeros"
        ax.set(xticks=[], yticks=[])
        ax.set_title(f"{title}\n{kind}", fontsize=13)
        for side in ax.spines.values():
            side.set(visible=True, color=GRAY)
    loss = model.inertia_ / model.kmeans_inertia_ - 1
    axes[1].set_xlabel(f"inertia: {loss:.1%} more than that of k-means")
    keep(figure, "quick")


def draw_deep() -> None:
    """Digits, centroids of pixels, and centroids that a network decodes."""
    from polymeans.deep import IDEC

    digits = load_digits()
    images = digits.data / 16
    model = IDEC(10, random_state=0).fit(images)
    plain = KMeans(10, n_init=10, random_state=0).fit(images)
    scores = [adjusted_rand_score(digits.target, found.labels_) for found in (plain, model)]
    figure, axes = page(3.9, 3, 1)
    parts = [
        ("ten of the images", images[:10]),
        (f"KMeans: adjusted Rand index {scores[0]:.2f}", plain.cluster_centers_),
        (f"IDEC, decoded: adjusted Rand index {scores[1]:.2f}", model.decoded_centroids_),
    ]
    for ax, (title, part) in zip(axes[:, 0], parts):
        pictures = list(np.asarray(part).reshape(10, 8, 8))
        ax.imshow(tiles(pictures, 10, gap=1), cmap="Greys", interpolation="nearest", vmin=0, vmax=1)
        ax.set_axis_off()
        ax.set_title(title, loc="left", fontsize=13)
    keep(figure, "deep")


#: What a reader has, above the panel of the estimator to begin with.
QUESTIONS = {
    "kmeans": "round groups\nKMeans",
    "khatri_rao": "parts that combine\nKhatriRaoKMeans",
    "nonredundant": "several groupings\nNonRedundantKMeans",
    "transformed": "elongated groups\nTransformedKMeans",
    "quick": "labels needed quickly\nQuickKMeans",
    "l1": "centroids to be read\nL1KMeans",
}


def draw_which_estimator() -> None:
    """Problems, and what the estimators make of them."""
    figure, axes = page(8.0, 3, 2)
    for ax, (name, text) in zip(axes.flat, QUESTIONS.items()):
        PANELS[name][1](ax)
        ax.set_title(text, fontsize=13, color=INK)
    keep(figure, "which_estimator")


GUIDES = {
    "kmeans": draw_kmeans,
    "khatri_rao": draw_khatri_rao,
    "nonredundant": draw_nonredundant,
    "transformed": draw_transformed,
    "quick": draw_quick,
    "deep": draw_deep,
    "which_estimator": draw_which_estimator,
}
