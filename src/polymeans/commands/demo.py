"""``polymeans demo``: placeholder until the next commit."""

from typing import Any


def add(commands: Any) -> None:
    """Declare the command."""
