"""Twelve vectors as a codebook for the colors of a photograph (Khatri-Rao paper, Figure 9)."""

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_sample_image
from sklearn.metrics import pairwise_distances_argmin_min
from sklearn.utils import shuffle

from benchmarks.harness import Report, drawing
from polymeans import KhatriRaoKMeans

N_SAMPLES = 20  #: different samples of pixels
N_PIXELS = 1000
N_COLORS = 12
SIZES = (6, 6)


def _random(pixels: np.ndarray, seed: int) -> np.ndarray:
    return shuffle(pixels, random_state=seed, n_samples=N_COLORS)


def _free(k: int) -> Callable[[np.ndarray, int], np.ndarray]:
    def centers(pixels: np.ndarray, seed: int) -> np.ndarray:
        return KMeans(k, n_init=20, random_state=seed).fit(pixels).cluster_centers_

    return centers


def _grid(aggregator: str) -> Callable[[np.ndarray, int], np.ndarray]:
    def centers(pixels: np.ndarray, seed: int) -> np.ndarray:
        model = KhatriRaoKMeans(SIZES, aggregator=aggregator, random_state=seed).fit(pixels)
        return model.cluster_centers_

    return centers


#: Title, how to get a codebook from pixels, vectors stored, the paper's inertia.
METHODS: list[tuple[str, Callable[[np.ndarray, int], np.ndarray], int, Any]] = [
    ("random pixels", _random, N_COLORS, 4686),
    ("k-means", _free(N_COLORS), N_COLORS, 2009),
    ("Khatri-Rao product 6+6", _grid("product"), sum(SIZES), 1144),
    ("Khatri-Rao sum 6+6", _grid("sum"), sum(SIZES), "-"),
    ("k-means, all 36 free", _free(SIZES[0] * SIZES[1]), SIZES[0] * SIZES[1], "-"),
]


def run(options: Any, report: Report) -> None:
    """Codebooks learned on a few pixels, judged on all of them."""
    image = load_sample_image("china.jpg") / 255.0
    pixels = image.reshape(-1, 3)
    table, panels = [], [("original", image)]
    for title, make, n_vectors, paper in METHODS:
        if options.only not in title:
            continue
        inertias, seconds = [], []
        for seed in range(N_SAMPLES):
            sample = shuffle(pixels, random_state=seed, n_samples=N_PIXELS)
            began = time.perf_counter()
            colors = make(sample, seed)
            seconds.append(time.perf_counter() - began)
            inertia, drawn = _quantize(pixels, colors)
            inertias.append(inertia)
            if seed == 0:
                panels.append((f"{title}: {inertia:.0f}", drawn.reshape(image.shape)))
        table.append(
            {
                "": title,
                "vectors": n_vectors,
                "colors": len(colors),
                "paper": paper,
                "median": statistics.median(inertias),
                "best": min(inertias),
                "worst": max(inertias),
                "seconds": statistics.median(seconds),
            }
        )
    report.table(
        f"inertia over the {len(pixels)} pixels of china.jpg, codebooks of {N_PIXELS} of them",
        table,
        f"{N_SAMPLES} samples of pixels; the paper reports one",
    )
    _draw(panels, report)


def _quantize(pixels: np.ndarray, colors: np.ndarray) -> tuple[float, np.ndarray]:
    nearest, distances = pairwise_distances_argmin_min(pixels, colors)
    return float(np.square(distances).sum()), colors[nearest]


def _draw(panels: list[tuple[str, np.ndarray]], report: Report) -> None:
    pyplot = drawing()
    n_columns = min(3, len(panels))
    n_rows = -(-len(panels) // n_columns)
    figure, axes = pyplot.subplots(
        n_rows, n_columns, figsize=(5 * n_columns, 3.6 * n_rows), squeeze=False, layout="tight"
    )
    for ax in axes.flat:
        ax.axis("off")
    for ax, (title, image) in zip(axes.flat, panels):
        ax.imshow(np.clip(image, 0, 1))
        ax.set_title(title)
    report.figure("color_quantization", figure)
    pyplot.close(figure)
