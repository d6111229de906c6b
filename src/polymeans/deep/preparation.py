"""Rows in other coordinates while a network is trained, folded into its layers afterwards."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from polymeans.deep.autoencoder import Autoencoder, first_linear, last_linear
from polymeans.deep.rows import ArrayRows, RowSource

#: Root mean squares of the centered rows between which they are taken as they are. Beyond, they
#: are divided: the steps of the optimizer are made for numbers of about one.
_SMALLEST, _LARGEST = 0.05, 20.0

_ROWS_AT_A_TIME = 4096


@dataclass(frozen=True)
class Coordinates:
    """``(x - mean) axes · scale``, a map that loses nothing of the rows it was made for.

    Parameters
    ----------
    mean : ndarray of shape (n_features,)
    axes : ndarray of shape (n_features, r) or None
        Orthonormal columns; None: the coordinates stay.
    scale : float
    """

    mean: NDArray[np.float64]
    axes: NDArray[np.float64] | None
    scale: float

    def of(self, X: NDArray[Any]) -> NDArray[np.float64]:
        """Rows in these coordinates."""
        centered = X - self.mean
        return self.scale * (centered if self.axes is None else centered @ self.axes)

    def fold_into(self, network: Autoencoder) -> None:
        """Let a network that was trained in these coordinates take and return rows as they are."""
        first, last = first_linear(network.encoder), last_linear(network.decoder)
        assert first is not None
        assert last is not None
        device = first.weight.device
        with torch.no_grad():
            weight = _float64(first.weight)
            taken = self.scale * (weight if self.axes is None else weight @ self.axes.T)
            bias = _float64(first.bias) - taken @ self.mean
            _replace(first, taken, bias, device)
            weight, bias = _float64(last.weight), _float64(last.bias)
            if self.axes is not None:
                weight, bias = self.axes @ weight, self.axes @ bias
            _replace(last, weight / self.scale, bias / self.scale + self.mean, device)


def find_coordinates(rows: RowSource) -> Coordinates | None:
    """Coordinates in which training is quicker, or possible at all; None: the rows as they are.

    With more features than rows, these are their principal axes: all differences between rows are
    kept. A factor keeps the meaning of a mean squared error. Rows of an extreme unit are divided
    by their size.
    """
    if not isinstance(rows, ArrayRows):
        return None
    X = rows.rows.numpy()
    mean = X.mean(axis=0, dtype=np.float64)
    n, m = X.shape
    # In parts, because differences from a float64 mean take twice the memory of float32 rows.
    parts = range(0, n, _ROWS_AT_A_TIME)
    largest = max(float(np.abs(X[lo : lo + _ROWS_AT_A_TIME] - mean).max()) for lo in parts) or 1.0
    squares = [np.square((X[lo : lo + _ROWS_AT_A_TIME] - mean) / largest).sum() for lo in parts]
    size = largest * float(np.sqrt(np.sum(squares) / X.size)) or 1.0
    unit = 1.0 if _SMALLEST <= size <= _LARGEST else size
    if m <= n or n < 2:
        return None if unit == 1.0 else Coordinates(mean, None, 1.0 / unit)
    # The n - 1 axes come from the small matrix of inner products.
    centered = (X - mean) / unit
    values, vectors = np.linalg.eigh(centered @ centered.T)
    kept = values > max(float(values[-1]), np.finfo(np.float64).tiny) * 1e-10
    if not kept.any():
        return None if unit == 1.0 else Coordinates(mean, None, 1.0 / unit)
    axes = centered.T @ vectors[:, kept][:, ::-1] / np.sqrt(values[kept][::-1])
    return Coordinates(mean, axes, np.sqrt(axes.shape[1] / m) / unit)


def rows_in(coordinates: Coordinates, rows: ArrayRows) -> ArrayRows:
    """The same rows in other coordinates."""
    return ArrayRows(coordinates.of(rows.rows.numpy()), rows.dtype)


def _float64(values: Tensor) -> NDArray[np.float64]:
    return values.detach().cpu().numpy().astype(np.float64)


def _replace(layer: Any, weight: Any, bias: Any, device: torch.device) -> None:
    dtype = layer.weight.dtype
    layer.out_features, layer.in_features = weight.shape
    layer.weight = torch.nn.Parameter(torch.from_numpy(weight).to(device=device, dtype=dtype))
    layer.bias = torch.nn.Parameter(torch.from_numpy(bias).to(device=device, dtype=dtype))
