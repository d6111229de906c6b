"""Pictures of the guides to tasks. Each shows what functions of the library return."""

import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator
from sklearn.datasets import load_digits, load_iris, make_blobs
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline

from drawing.style import BLUE, CLUSTERS, GRAY, INK, ORANGE, keep, marked, page, tiles
from polymeans import KMeans, choose_n_clusters, describe, nearest_samples
from polymeans.blocks import from_sequence
from polymeans.datasets import make_posts
from polymeans.neighbors import ClusterNeighbors


def draw_texts() -> None:
    """Words that tell clusters of posts apart."""
    posts, _ = make_posts(1000, n_topics=8, overlap=0.5, random_state=0)
    vectorizer = TfidfVectorizer(stop_words="english", min_df=2)
    clusters = KMeans(8, metric="cosine", n_init=5, random_state=0)
    model = make_pipeline(vectorizer, clusters).fit(posts)
    figure, axes = page(5.4, 2, 2)
    for ax, row in zip(axes.flat, list(describe(model, posts))[:4]):
        words = row.features[:4]
        lengths = [word.mean for word in words]
        ax.barh(range(len(words)), lengths, color=CLUSTERS[row.cluster], height=0.6)
        ax.set_yticks(range(len(words)), [word.name for word in words])
        ax.set(xticks=[], xlim=(0, 1.05 * max(lengths)))
        ax.invert_yaxis()
        ax.tick_params(left=False)
        ax.spines[["bottom"]].set_visible(False)
        ax.set_title(f"cluster {row.cluster}: {row.size} posts", fontsize=13)
    keep(figure, "texts")


def draw_images() -> None:
    """Centroids of digits, and the images nearest to them."""
    X = load_digits().data / 16
    model = KMeans(10, n_init=5, random_state=0).fit(X)
    indices, _ = nearest_samples(model, X, 3)
    figure, axes = page(3.6, 2, 1, height_ratios=[1, 3.3])
    parts = [
        ("centroids", model.cluster_centers_, "Blues"),
        ("the three images nearest to each", X[indices.T.ravel()], "Greys"),
    ]
    for ax, (title, part, colors) in zip(axes[:, 0], parts):
        pictures = list(part.reshape(-1, 8, 8))
        ax.imshow(tiles(pictures, 10, gap=1), cmap=colors, interpolation="nearest", vmin=0, vmax=1)
        ax.set_axis_off()
        ax.set_title(title, loc="left", fontsize=13)
    keep(figure, "images")


def draw_choosing() -> None:
    """Rows with four clusters and rows with none: what both halves of them agree on."""
    blobs, _ = make_blobs(400, centers=[[0, 0], [8, 0], [0, 8], [8, 8]], random_state=0)
    uniform = np.random.default_rng(0).random((400, 2))
    figure, axes = page(5.6, 2, 2, height_ratios=[1.2, 1])
    for (rows, curve), X in zip(axes.T, (blobs, uniform)):
        choice = choose_n_clusters(X, range(2, 9), random_state=0)
        if choice.best_ is None:
            rows.scatter(*X.T, s=14, color=GRAY, lw=0)
            rows.set(xticks=[], yticks=[])
        else:
            marked(rows, X, choice.best_estimator_.labels_, size=14)
        rows.set_title(f"best_: {choice.best_}", weight="bold")
        table = choice.table_[choice.table_["n_clusters"] > 1]
        strength = table["prediction_strength"]
        curve.plot(table["n_clusters"], strength, color=BLUE, marker="o", lw=2)
        curve.axhline(0.8, color=ORANGE, ls="--", lw=1.5)
        curve.text(8, 0.83, "0.8", ha="right", color=INK, fontsize=12)
        curve.set(ylim=(0, 1.08), yticks=[0, 0.5, 1], xlabel="number of clusters")
        curve.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes[1, 0].set_ylabel("prediction\nstrength")
    axes[1, 1].set_yticklabels([])
    keep(figure, "choosing")


def draw_after_the_fit() -> None:
    """In what three clusters of flowers differ from all of them."""
    iris = load_iris(as_frame=True)
    model = KMeans(3, n_init=10, random_state=0).fit(iris.data)
    rows = list(describe(model, iris.data, n_features=4))
    names = [name.removesuffix(" (cm)") for name in iris.data.columns]
    figure, (axes,) = page(3.3, 1, 3, sharey=True)
    for ax, row in zip(axes, rows):
        found = {feature.name: feature.difference for feature in row.features}
        values = [found[name] for name in iris.data.columns]
        colors = [BLUE if value > 0 else ORANGE for value in values]
        ax.barh(range(4), values, color=colors, height=0.6)
        ax.axvline(0, color=INK, lw=1)
        ax.set(xlim=(-1.5, 1.5), xticks=[-1, 0, 1])
        ax.set_title(f"cluster {row.cluster}\n{row.size} rows", fontsize=13)
        ax.spines["left"].set_visible(False)
        ax.tick_params(left=False)
    axes[0].set_yticks(range(4), names)
    axes[0].invert_yaxis()
    axes[1].set_xlabel("standard deviations from the mean of all rows")
    keep(figure, "after_the_fit")


def draw_neighbors() -> None:
    """A query and the clusters that are searched; how many neighbors are found."""
    X, _ = make_blobs(500, centers=30, cluster_std=1.4, random_state=5)
    clusters = KMeans(8, n_init=5, random_state=0).fit(X)
    query = np.array([[0.5, -1.0]])
    index = ClusterNeighbors(n_neighbors=12, n_probe=2, clusterer=clusters).fit(X)
    nearest = index.kneighbors(query, return_distance=False)[0]
    searched = np.isin(clusters.labels_, np.argsort(clusters.transform(query)[0])[:2])
    figure, ((left, right),) = page(3.7, 1, 2)
    left.scatter(*X[~searched].T, s=12, color="#b9c0c8", lw=0)
    left.scatter(*X[searched].T, s=14, color=BLUE, lw=0)
    left.scatter(*X[nearest].T, s=46, facecolor="none", edgecolor=INK, lw=1.3)
    left.scatter(*query.T, s=190, color=ORANGE, marker="*", edgecolor=INK, zorder=4)
    left.set(xticks=[], yticks=[])
    left.set_title("2 of 8 clusters are searched", fontsize=13)

    digits = load_digits().data
    known, new = digits[:1500], digits[1500:]
    index = ClusterNeighbors(3, clusterer=KMeans(40, random_state=0).fit(known)).fit(known)
    truth = index.set_params(n_probe="exact").kneighbors(new, return_distance=False)
    numbers, shares = [1, 2, 4, 8], []
    for n_probe in numbers:
        found = index.set_params(n_probe=n_probe).kneighbors(new, return_distance=False)
        shares.append(100 * np.mean([np.isin(a, b).mean() for a, b in zip(found, truth)]))
    right.plot(numbers, shares, color=BLUE, marker="o", lw=2)
    for n_probe, share in zip(numbers, shares):
        place = (-20, 8) if n_probe == 8 else (6, -17)
        right.annotate(f"{share:.1f} %", (n_probe, share), place, textcoords="offset points")
    right.set_xscale("log", base=2)
    right.set_xticks(numbers, [str(number) for number in numbers])
    right.set(
        ylim=(60, 106), xlim=(0.8, 13), xlabel="n_probe, of 40 clusters", yticks=[60, 80, 100]
    )
    right.set_title("digits: neighbors found", fontsize=13)
    keep(figure, "neighbors_and_kernels")


def plain_inertia(X: Any, model: Any, n_parts: int) -> float:
    """Inertia by adding up float32 numbers, one part of the rows after another."""
    squares = (X - model.cluster_centers_[model.labels_]) ** 2
    totals = [np.cumsum(part.ravel())[-1] for part in np.array_split(squares, n_parts)]
    return float(np.cumsum(np.array(totals, np.float32))[-1])


def draw_reproducibility() -> None:
    """Inertia of the same clusters, from rows in one to eight parts."""
    X = np.random.default_rng(0).normal(size=(5000, 8)).astype(np.float32)
    model = KMeans(10, init="k-means||", random_state=0)
    numbers = [1, 2, 3, 4, 6, 8]
    ours = [
        model.fit(from_sequence(X, block_rows=-(-len(X) // number))).inertia_ for number in numbers
    ]
    model.fit(X)
    plain = [plain_inertia(X, model, number) for number in numbers]
    figure, ((ax,),) = page(3.6)
    for values, color, mark, name in (
        (plain, ORANGE, "s", "float32 numbers, added one by one"),
        (ours, BLUE, "o", "polymeans"),
    ):
        change = [1e6 * (value / values[0] - 1) for value in values]
        ax.plot(numbers, change, color=color, marker=mark, ms=9, lw=2, label=name)
    ax.set(xticks=numbers, xlabel="parts that the rows are read in")
    ax.set_ylabel("change of inertia,\nin millionths")
    ax.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=1)
    keep(figure, "reproducibility")


#: The commands of the picture of a terminal.
SESSION = [
    "polymeans fit flowers.csv -k 3 --scale --model m.safetensors --labels labels.txt",
    "sort labels.txt | uniq -c",
    "polymeans predict new.csv --model m.safetensors",
]


def run_session(folder: Path) -> list[tuple[str, str]]:
    """Commands, and what they print."""
    flowers = load_iris(as_frame=True).data
    flowers.columns = ["sepal_l", "sepal_w", "petal_l", "petal_w"]
    flowers.to_csv(folder / "flowers.csv", index=False)
    flowers.iloc[[0, 60, 120]].to_csv(folder / "new.csv", index=False)
    found = []
    for command in SESSION:
        real = command.replace("polymeans", f"{sys.executable} -m polymeans", 1)
        done = subprocess.run(real, shell=True, cwd=folder, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(done.stderr)
        found.append((command, done.stderr + done.stdout))
    return found


def draw_command_line() -> None:
    """A terminal: a fit, how many rows each cluster has, and labels of new rows."""
    lines: list[tuple[str, str]] = []
    with tempfile.TemporaryDirectory() as folder:
        for command, printed in run_session(Path(folder)):
            lines += wrapped(f"$ {command}", "#7ee2b8")
            for line in printed.splitlines():
                # the last words are seconds, which differ each time
                lines += wrapped(
                    line.rpartition(",")[0] if line.endswith(" s") else line, "#f0f3f6"
                )
            lines.append(("", INK))
    lines.pop()
    figure, ((ax,),) = page(0.42 + 0.265 * len(lines))
    ax.set_axis_off()
    figure.get_layout_engine().set(w_pad=0, h_pad=0)
    ax.set(xlim=(0, 1), ylim=(len(lines) + 0.4, -0.9))
    ax.add_patch(Rectangle((0, -0.9), 1, len(lines) + 1.3, facecolor="#1b2128", lw=0))
    for number, (line, color) in enumerate(lines):
        ax.text(0.03, number, line, family="monospace", fontsize=12.5, color=color, va="center")
    keep(figure, "command_line")


def wrapped(line: str, color: str, width: int = 53) -> list[tuple[str, str]]:
    """The parts of a long line, as a narrow terminal shows them."""
    marks = " \\" if line.startswith("$") else ""
    parts = textwrap.wrap(line, width - 2, subsequent_indent="    ", drop_whitespace=True) or [""]
    if line.startswith(" "):
        parts = [line]
    return [(part + marks if part is not parts[-1] else part, color) for part in parts]


GUIDES = {
    "texts": draw_texts,
    "images": draw_images,
    "choosing": draw_choosing,
    "after_the_fit": draw_after_the_fit,
    "neighbors_and_kernels": draw_neighbors,
    "reproducibility": draw_reproducibility,
    "command_line": draw_command_line,
}
