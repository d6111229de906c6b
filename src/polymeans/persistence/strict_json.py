"""JSON as the standard has it: no duplicate keys, no NaN, no text that is not Unicode."""

import json
from typing import Any, NoReturn

from polymeans.persistence.errors import ModelFileError


def parse(text: bytes | str, what: str) -> Any:
    """The value that a JSON text stands for.

    Parameters
    ----------
    text : bytes or str
    what : str
        Of which this is the text, for errors.

    Returns
    -------
    value : None, bool, int, float, str, list or dict
    """
    try:
        decoded = text.decode("utf-8") if isinstance(text, bytes) else text
        return json.loads(decoded, object_pairs_hook=_unique, parse_constant=_refuse)
    except ModelFileError as error:
        raise ModelFileError(f"{what} cannot be read: {error}") from None
    except RecursionError:
        raise ModelFileError(f"{what} cannot be read: it is nested too deeply.") from None
    except ValueError as error:  # also for bytes that are not UTF-8, and numbers that are too long
        raise ModelFileError(f"{what} cannot be read: {error}") from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ModelFileError("a key occurs twice.")
    return found


def _refuse(constant: str) -> NoReturn:
    raise ModelFileError(f"{constant} is no number of JSON.")
