"""Pictures of guides in which data move: boxes and arrows, and figures of benchmarks.

Sizes and counts come from a run that the function makes, times and memory from ``docs/figures``,
which ``python -m benchmarks`` writes.
"""

import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits

import polymeans
from drawing.style import BLUE, DARKER, FIGURES, GREEN, INK, ORANGE, arrow, box, canvas, keep, page
from polymeans import KhatriRaoKMeans, KMeans
from polymeans.federated import simulate


def tables(name: str) -> list[Any]:
    """The tables of a benchmark, those of later runs last."""
    stored = json.loads((FIGURES / f"{name}.json").read_text(encoding="utf-8"))
    return [table for run in stored["runs"] for table in run["tables"]]


def draw_larger_than_memory() -> None:
    """Sizes of rows in files, and the memory that fits of them have added."""
    names, sizes, peaks = [], [], []
    for table in tables("out-of-core"):
        if "whole fits" in table["title"]:
            kind, size, _ = table["title"].split(", ", 2)
            names.append({"csr": "CSR in npz"}.get(kind, kind))
            sizes.append(float(size.removesuffix(" MB")))
            peaks.append(table["rows"][0]["added peak [MB]"])
    figure, ((ax,),) = page(3.9)
    places = np.arange(len(names))
    for shift, values, color, name in (
        (-0.19, sizes, "#8a949e", "rows in files"),
        (0.19, peaks, BLUE, "memory that the fit adds, at its peak"),
    ):
        ax.barh(places + shift, values, height=0.34, color=color, label=name)
        for place, value in zip(places, values):
            ax.text(value + 40, place + shift, f"{value:.0f} MB", va="center", fontsize=12)
    ax.set_yticks(places, names)
    ax.set(xticks=[], xlim=(0, 1.22 * max(sizes)))
    ax.invert_yaxis()
    ax.tick_params(left=False)
    ax.spines["bottom"].set_visible(False)
    ax.legend(frameon=False, loc="lower left", bbox_to_anchor=(0, 1.0))
    keep(figure, "larger_than_memory")


def draw_on_a_cluster() -> None:
    """A fit on two workers of Dask."""
    import dask.array as da
    from distributed import Client

    rng = np.random.default_rng(0)
    rows = rng.normal(size=(6000, 8)) + 5 * rng.integers(0, 3, size=(6000, 1))
    rows = rows.astype(np.float32)
    with Client(processes=False, n_workers=2, threads_per_worker=1, dashboard_address=":0"):
        model = KMeans(3, random_state=0).fit(da.from_array(rows, chunks=(1000, 8)))
    same = model.inertia_ == KMeans(3, init="k-means||", random_state=0).fit(rows).inertia_
    figure, ax = canvas(4.4)
    box(ax, 12, 33, 40, 9, f"your process: KMeans(3).fit(X)\n{model.n_iter_} iterations", ORANGE)
    for x, name in ((2, "worker 1"), (34, "worker 2")):
        box(ax, x, 6.5, 28, 13, f"{name}\n3 chunks of 1000 x 8\n3000 labels")
    for down, up in ((16, 22), (42, 48)):
        arrow(ax, (down, 33), (down, 19.5), color=ORANGE)
        arrow(ax, (up, 19.5), (up, 33), color=BLUE)
        words = (down - 5.4, "centroids", DARKER[ORANGE]), (up + 3.6, "sums", BLUE)
        for x, text, color in words:
            ax.text(x, 26.3, text, ha="center", va="center", color=color, fontsize=12.5)
    answer = "the same as" if same else "another than"
    ax.text(32, 2.6, f"inertia {model.inertia_:.6f}: {answer} in memory", ha="center", va="center")
    keep(figure, "on_a_cluster")


def draw_federated() -> None:
    """What travels in a step of a federated fit, and what does not."""
    X = load_digits().data.astype(np.float32)
    sites = [X[:100], X[100:450], X[450:500], X[500:1300], X[1300:]]
    run = simulate(KhatriRaoKMeans((5, 5), random_state=0), sites, random_state=0)
    step = run.history[run.history.kind == "step"][0]
    figure, ax = canvas(4.3)
    box(ax, 14, 32.5, 36, 8.5, "server\ncentroids; sees no rows", ORANGE)
    for number, rows in enumerate(sites):
        x = 1.5 + 12.4 * number
        box(ax, x, 6, 11.2, 9.5, f"site {number}\n{len(rows)} rows")
        goal = 17.5 + 7.2 * number
        arrow(ax, (goal - 1, 32.5), (x + 4.4, 15.5), color=ORANGE)
        arrow(ax, (x + 6.8, 15.5), (goal + 1, 32.5), color=BLUE)
    white = {"facecolor": "white", "edgecolor": "none", "pad": 2}
    down, up = step.bytes_down / len(sites), step.bytes_up / len(sites)
    ax.text(
        32,
        26.6,
        f"centroids: {down / 1000:.1f} kB to each site",
        ha="center",
        va="center",
        color=DARKER[ORANGE],
        bbox=white,
    )
    ax.text(
        32,
        22,
        f"sums: {up / 1000:.1f} kB from each site",
        ha="center",
        va="center",
        color=BLUE,
        bbox=white,
    )
    ax.text(32, 2.4, "rows and labels stay at their sites", ha="center", va="center")
    keep(figure, "federated")


def draw_model_files() -> None:
    """Where a fitted model can go."""
    X = load_digits().data.astype(np.float32)
    model = KMeans(10, random_state=0).fit(X)
    with tempfile.TemporaryDirectory() as folder:
        own, graph = Path(folder, "model.safetensors"), Path(folder, "model.onnx")
        polymeans.save(model, own)
        polymeans.export_onnx(model, graph)
        sizes = [path.stat().st_size for path in (own, graph)]
    figure, ax = canvas(4.6)
    box(ax, 1.5, 14, 14, 18, "model\nKMeans(10)\n1797 digits", ORANGE)
    rows = [
        (33, "save", f"model.safetensors\n{sizes[0] / 1000:.1f} kB", "load\nPython", GREEN),
        (
            18,
            "export_onnx",
            f"model.onnx\n{sizes[1] / 1000:.1f} kB",
            "onnxruntime\nany language",
            GREEN,
        ),
        (3, "to_sklearn", "sklearn KMeans\nno file", "predict\nscikit-learn", GREEN),
    ]
    for y, name, file, reader, color in rows:
        box(ax, 22.5, y, 21, 9.5, file)
        box(ax, 48.5, y, 14.5, 9.5, reader, color)
        arrow(ax, (15.5, 23 + (y - 18) / 4), (22.5, y + 4.75))
        arrow(ax, (43.5, y + 4.75), (48.5, y + 4.75))
        ax.text(33, y + 11.2, name, ha="center", va="center", family="monospace", color=INK)
    keep(figure, "model_files")


def draw_serving() -> None:
    """How long a new process takes for each step until it labels rows."""
    table = next(table for table in tables("serving") if "new processes" in table["title"])
    rows = {row[""].partition(":")[0]: row for row in table["rows"] if "polymeans" in row[""]}
    steps = {
        "import": "import ms",
        "load the model": "load ms",
        "label the first row": "first row ms",
        "label another row": "1 row ms",
    }
    figure, ((ax,),) = page(4.2)
    places = np.arange(len(steps))
    looks = ((-0.19, "KMeans", "#8a949e"), (0.19, "QuickKMeans", BLUE))
    for shift, name, color in looks:
        values = [rows[name][key] for key in steps.values()]
        ax.barh(places + shift, values, height=0.34, color=color, label=name)
        for place, value in zip(places, values):
            text = f"{value:.0f} ms" if value > 1 else f"{value:.3f} ms"
            ax.text(value * 1.2, place + shift, text, va="center", fontsize=12)
    ax.set_xscale("log")
    ax.set_xlim(1e-3, 4e4)
    ax.set_xticks([1e-3, 1e-1, 10, 1000], ["0.001", "0.1", "10", "1000"])
    ax.minorticks_off()
    ax.set_xlabel("milliseconds (logarithmic)")
    ax.set_yticks(places, list(steps))
    ax.invert_yaxis()
    ax.tick_params(left=False)
    ax.legend(frameon=False, loc="lower left", bbox_to_anchor=(0, 1.0), ncols=2)
    keep(figure, "serving")


GUIDES = {
    "larger_than_memory": draw_larger_than_memory,
    "on_a_cluster": draw_on_a_cluster,
    "federated": draw_federated,
    "model_files": draw_model_files,
    "serving": draw_serving,
}
