"""An autoencoder for images: two strided convolutions on each side of the latent space."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from polymeans.deep.autoencoder import ACTIVATIONS, Autoencoder, new_linear, reinitialize

#: Channels after each convolution.
CHANNELS = (16, 32)


class Unflattened(nn.Module):
    """Rows of numbers as images, or as whatever shape they have.

    Parameters
    ----------
    shape : sequence of int
    """

    def __init__(self, shape: Sequence[int]) -> None:
        super().__init__()
        self.shape = tuple(shape)

    def forward(self, rows: Tensor) -> Tensor:
        """Reshape each row."""
        return rows.reshape(len(rows), *self.shape)


def convolutional_autoencoder(
    image_shape: tuple[int, int, int],
    n_latent: int,
    activation: str,
    generator: torch.Generator,
    dtype: torch.dtype,
) -> Autoencoder:
    """An autoencoder for rows that are images.

    Parameters
    ----------
    image_shape : tuple of int
        Channels, height, width.
    n_latent : int
    activation : str
    generator : torch.Generator
    dtype : torch.dtype
    """
    layers: list[nn.Module] = [Unflattened(image_shape)]
    shapes = [image_shape]
    for n_channels in CHANNELS:
        before = shapes[-1]
        convolution = nn.utils.skip_init(
            nn.Conv2d, before[0], n_channels, 3, stride=2, padding=1, dtype=dtype
        )
        reinitialize(convolution, 9 * before[0], generator)
        layers += [convolution, ACTIVATIONS[activation]()]
        shapes.append((n_channels, -(-before[1] // 2), -(-before[2] // 2)))
    n_flat = shapes[-1][0] * shapes[-1][1] * shapes[-1][2]
    layers += [nn.Flatten(), new_linear(n_flat, n_latent, generator, dtype)]

    back: list[nn.Module] = [new_linear(n_latent, n_flat, generator, dtype)]
    back += [ACTIVATIONS[activation](), Unflattened(shapes[-1])]
    for after, before in zip(shapes[-2::-1], shapes[:0:-1]):
        # A strided convolution halves sizes and rounds up, so one of two sizes may be meant.
        odd = tuple(after[side] - (2 * before[side] - 1) for side in (1, 2))
        convolution = nn.utils.skip_init(
            nn.ConvTranspose2d,
            before[0],
            after[0],
            3,
            stride=2,
            padding=1,
            output_padding=odd,
            dtype=dtype,
        )
        reinitialize(convolution, 9 * before[0], generator)
        back += [convolution, ACTIVATIONS[activation]()]
    back[-1] = nn.Flatten()
    return Autoencoder(nn.Sequential(*layers), nn.Sequential(*back), n_latent, dtype)
