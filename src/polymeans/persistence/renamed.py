"""Names that parameters and attributes had in earlier files, and what they are called now.

Files keep the names of the library that wrote them. A name that has changed since is translated
here, once, before anything is checked; the rest of the library knows the present names only.
"""

from collections.abc import Mapping
from typing import Any

#: Of each class: earlier names of attributes, and the present ones.
_ATTRIBUTES: dict[str, dict[str, str]] = {
    "TransformedKMeans": {"embedding_kind_": "embedding_"},
}


def with_present_names(
    name: str, parameters: Mapping[str, Any], attributes: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Parameters and attributes of a file under their present names.

    Parameters
    ----------
    name : str
        Of the class.
    parameters : dict
    attributes : dict

    Returns
    -------
    parameters : dict
    attributes : dict
    """
    now = _ATTRIBUTES.get(name, {})
    # A file with both names is not one that was ever written: the check of attributes refuses it.
    found = {
        key if now.get(key, key) in attributes else now.get(key, key): value
        for key, value in attributes.items()
    }
    return dict(parameters), found
