"""Names that parameters and attributes had in earlier files, and what they are called now.

Files keep the names of the library that wrote them. A name that has changed since is translated
here, once, before anything is checked; the rest of the library knows the present names only.
"""

from collections.abc import Mapping
from typing import Any

#: Of each class: earlier names of parameters and attributes, and the present ones.
_NAMES: dict[str, dict[str, str]] = {
    "L1KMeans": {"sparse_centers_": "sparse_centroids_"},
    "NonRedundantKMeans": {
        "candidates_": "_candidates",
        "centers_per_view_": "centroids_per_view_",
    },
    "TransformedKMeans": {
        "centers_in_space_": "centroids_in_space_",
        "embedding_kind_": "embedding_",
        "spherical": "metric",
        "spherical_": "metric_",
    },
}

#: What values that have changed with their name are now; others are as they were.
_VALUES: dict[tuple[str, bool], str] = {
    ("spherical", True): "cosine",
    ("spherical", False): "euclidean",
    ("spherical_", True): "cosine",
    ("spherical_", False): "euclidean",
}


def with_present_names(name: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters or attributes of a file under their present names.

    Parameters
    ----------
    name : str
        Of the class.
    values : dict

    Returns
    -------
    dict
    """
    names = _NAMES.get(name, {})
    found = {}
    for key, value in values.items():
        now = names.get(key, key)
        if now != key and now in values:
            # No library has written both names: what checks the values refuses the earlier one.
            found[key] = value
        else:
            changed = isinstance(value, bool) and (key, value) in _VALUES
            found[now] = _VALUES[key, value] if changed else value
    return found
