"""Where PyTorch computes, with how many threads, and random numbers of one fit only."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from numpy.random import RandomState

from polymeans._validation import shown

#: Types of numbers that networks may have, by their names.
DTYPES = {"float32": torch.float32, "float64": torch.float64}


def find_device(name: Any) -> torch.device:
    """The device of this name; "auto" is a GPU where PyTorch finds one, else the CPU."""
    if isinstance(name, torch.device):
        name = str(name)
    if not isinstance(name, str):
        raise TypeError(
            f'device must be "auto" or a name that PyTorch knows, such as "cpu" or "cuda:0", got '
            f"{shown(name)}."
        )
    if name == "auto":
        if torch.cuda.is_available():
            return torch.device("cuda")
        return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        reason = str(error).splitlines()[0]
        raise ValueError(
            f'device={name!r} cannot be used here ({reason}). Use "auto" or "cpu".'
        ) from error
    return device


@contextmanager
def torch_threads(n_threads: int | None) -> Iterator[None]:
    """Let PyTorch use so many threads inside the block; None: as many as it is set to."""
    before = torch.get_num_threads()
    if n_threads is not None:
        torch.set_num_threads(n_threads)
    try:
        yield
    finally:
        if torch.get_num_threads() != before:
            torch.set_num_threads(before)


def new_generator(rng: RandomState) -> torch.Generator:
    """Random numbers of PyTorch that follow from those of numpy; the global ones stay as they are.

    They are drawn on the CPU, so that they do not depend on the device.
    """
    generator = torch.Generator()
    generator.manual_seed(int(rng.randint(2**31 - 1)))
    return generator


@contextmanager
def private_randomness(seed: int, device: torch.device) -> Iterator[None]:
    """Seed PyTorch's global random numbers inside the block and put them back afterwards.

    Only networks that users give need it: layers such as dropout draw from the global numbers.
    """
    devices = [device] if device.type == "cuda" else []
    with torch.random.fork_rng(devices=devices):
        torch.manual_seed(seed)
        yield
