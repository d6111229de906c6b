"""Seconds an epoch: our loop beside a plain one of the same network."""

import statistics
import time
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import nn

from benchmarks.harness import Report
from polymeans.deep.autoencoder import dense_autoencoder
from polymeans.deep.codebook import LatentCodebook
from polymeans.deep.dkm_loss import DKMLoss
from polymeans.deep.idec_loss import IDECLoss
from polymeans.deep.rows import ArrayRows
from polymeans.deep.schedule import Phase
from polymeans.deep.training import Trainee

N_ROWS, N_FEATURES, BATCH = 5000, 64, 256
HIDDEN, N_LATENT = (256, 128), 10
SIZES = (10, 10)


def compare_epochs(options: Any, report: Report) -> None:
    """Epochs of DKM and IDEC with free and Khatri-Rao centroids, in turns."""
    X = np.random.default_rng(0).normal(size=(N_ROWS, N_FEATURES)).astype(np.float32)
    rows = []
    for kind in ("DKM", "IDEC"):
        contenders: dict[str, Callable[[], None]] = {
            "ours, Khatri-Rao": _ours(X, kind, SIZES),
            "ours, free": _ours(X, kind, (int(np.prod(SIZES)),)),
            "plain loop, free": _plain(X, kind),
        }
        seconds: dict[str, list[float]] = {name: [] for name in contenders}
        for _ in range(2 + max(options.repeats, 3)):
            for name, epoch in contenders.items():
                began = time.perf_counter()
                epoch()
                seconds[name].append(time.perf_counter() - began)
        middle = {name: statistics.median(times[2:]) for name, times in seconds.items()}
        ours = middle["ours, free"]
        row: dict[str, Any] = {"": kind, "seconds of ours, free": ours}
        row |= {f"{name} / ours": value / ours for name, value in middle.items()}
        rows.append(row)
    report.table(
        f"one epoch: {N_ROWS} x {N_FEATURES}, network {HIDDEN} to {N_LATENT}, batches of {BATCH}, "
        f"k = {int(np.prod(SIZES))}, one thread",
        rows,
        "above 1: slower than ours with free centroids. ClustPy is not compared: its deep "
        "module needs torchvision, which is no dependency of this benchmark",
    )
    report.table("distances of 10 000 rows to all centroids, forward and backward", _distances())


def _ours(X: np.ndarray, kind: str, sizes: tuple[int, ...]) -> Callable[[], None]:
    generator = torch.Generator().manual_seed(0)
    network = dense_autoencoder(
        N_FEATURES, HIDDEN, N_LATENT, "leaky_relu", generator, torch.float32
    )
    rng = np.random.RandomState(0)
    sets = [rng.normal(size=(h, N_LATENT)).astype(np.float32) for h in sizes]
    source = ArrayRows(X, torch.float32)
    trainee = Trainee(network, source, rng, BATCH, 1.0, LatentCodebook(sets))
    loss: Any = DKMLoss() if kind == "DKM" else IDECLoss()
    phase = Phase("self-training", 1, 1e-4, False)
    return lambda: trainee.learn(phase, lambda distances, _: loss.published(distances, None))


def _plain(X: np.ndarray, kind: str) -> Callable[[], None]:
    """The same training as anybody would write it, with a DataLoader and explicit centroids."""
    widths = [N_FEATURES, *HIDDEN, N_LATENT]

    def half(sizes: list[int]) -> nn.Sequential:
        layers: list[nn.Module] = []
        for n_in, n_out in pairwise(sizes):
            layers += [nn.Linear(n_in, n_out), nn.LeakyReLU()]
        return nn.Sequential(*layers[:-1])

    encoder, decoder = half(widths), half(widths[::-1])
    centers = nn.Parameter(torch.randn(int(np.prod(SIZES)), N_LATENT))
    optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters(), centers], lr=1e-4)
    data = torch.utils.data.TensorDataset(torch.from_numpy(X))
    loader = torch.utils.data.DataLoader(data, batch_size=BATCH, shuffle=True)

    def epoch() -> None:
        for (batch,) in loader:
            latent = encoder(batch)
            distances = (latent[:, None] - centers).pow(2).sum(2)
            if kind == "DKM":
                clustering = (distances * torch.softmax(-1000 * distances, 1)).sum(1).mean()
            else:
                q = 1 / (1 + distances)
                q = q / q.sum(1, keepdim=True)
                p = q**2 / q.sum(0)
                p = (p / p.sum(1, keepdim=True)).detach()
                clustering = (p * (p / q).log()).sum(1).mean()
            loss = clustering + nn.functional.mse_loss(decoder(latent), batch)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    return epoch


def _distances() -> list[dict[str, Any]]:
    """What products with Σh vectors save over those with Πh centroids."""
    found = []
    for n_latent, sizes in ((10, (10, 10)), (10, (32, 32)), (128, (64, 64))):
        rng = np.random.default_rng(0)
        sets = [rng.normal(size=(h, n_latent)).astype(np.float32) for h in sizes]
        latent = torch.from_numpy(rng.normal(size=(10000, n_latent)).astype(np.float32))
        grid = LatentCodebook(sets)
        free = LatentCodebook([grid.centroids().detach()])
        seconds: dict[str, list[float]] = {"Σh": [], "Πh": []}
        for _ in range(5):
            for name, codebook in (("Σh", grid), ("Πh", free)):
                given = latent.clone().requires_grad_()
                began = time.perf_counter()
                codebook(given).sum().backward()
                seconds[name].append(time.perf_counter() - began)
        ours, theirs = (min(times) for times in seconds.values())
        found.append(
            {
                "latent": n_latent,
                "sizes": "x".join(map(str, sizes)),
                "Σh ms": 1000 * ours,
                "Πh ms": 1000 * theirs,
                "Πh / Σh": theirs / ours,
            }
        )
    return found
