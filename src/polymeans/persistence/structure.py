"""The structure of a fitted estimator: its attributes, and conditions between them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from polymeans.persistence.errors import ModelFileError
from polymeans.persistence.schema import Agreed, Kind


def _nothing(state: dict[str, Any], parameters: dict[str, Any], agreed: Agreed) -> None:
    """No conditions beyond those of single attributes."""


def _all(state: dict[str, Any]) -> dict[str, Any]:
    return state


@dataclass(frozen=True)
class Structure:
    """What a fitted estimator consists of.

    Parameters
    ----------
    attributes : dict of str to Kind
        In the order in which they are checked.
    optional : tuple of str
        Those that a fitted estimator may lack.
    finish : callable
        Conditions between checked attributes, ``finish(attributes, parameters, agreed)``; may add
        attributes that follow from others.
    shrink : callable
        Attributes to write, ``shrink(attributes)``: without those that ``finish`` adds, or an error
        where something cannot be written.
    """

    attributes: dict[str, Kind]
    optional: tuple[str, ...] = ()
    finish: Callable[[dict[str, Any], dict[str, Any], Agreed], None] = _nothing
    shrink: Callable[[dict[str, Any]], dict[str, Any]] = _all

    def taken_from(self, state: dict[str, Any]) -> dict[str, Any]:
        """The attributes to write, of the state of an estimator."""
        return self.shrink({name: state[name] for name in self.attributes if name in state})

    def checked(self, found: Any, parameters: dict[str, Any]) -> dict[str, Any]:
        """Attributes of a file, or an error if they are not what they have to be."""
        if not isinstance(found, dict):
            raise ModelFileError("The attributes of the model are missing.")
        unknown = found.keys() - self.attributes.keys()
        if unknown:
            raise ModelFileError(f"The attribute {min(unknown)!r:.80} is not known.")
        missing = self.attributes.keys() - found.keys() - set(self.optional)
        if missing:
            raise ModelFileError(f"The attribute {min(missing)!r} is missing.")
        agreed = Agreed()
        state = {
            name: kind.check(found[name], name, agreed)
            for name, kind in self.attributes.items()
            if name in found
        }
        self.finish(state, parameters, agreed)
        return state
