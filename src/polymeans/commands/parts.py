"""Functions of the library that commands call by name."""

from collections.abc import Callable
from typing import Any

from polymeans.commands.errors import CommandError


def part(name: str) -> Callable[..., Any]:
    """A public function of polymeans, imported now."""
    import polymeans

    try:
        return getattr(polymeans, name)
    except ImportError as error:
        raise CommandError(
            f"{name} cannot be used here: {error}", "install what is missing"
        ) from None
    except AttributeError:
        raise CommandError(
            f"polymeans {polymeans.__version__} has no {name}", "upgrade polymeans"
        ) from None
