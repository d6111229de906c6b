"""The JSON schema of a report's content (draft 2020-12)."""

from typing import Any

#: Changes whenever a field changes its meaning or disappears.
VERSION = "polymeans-report/1"

_TEXT = {"type": "string"}
_COUNT = {"type": "integer", "minimum": 0}
_NUMBER = {"type": ["number", "null"]}
_SHARE = {"type": ["number", "null"], "minimum": 0, "maximum": 1}


def _list(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


def _object(description: str, fields: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "description": description,
        "properties": fields,
        "required": list(fields),
        "additionalProperties": False,
    }


def _about(kind: dict[str, Any], description: str) -> dict[str, Any]:
    return {**kind, "description": description}


_FEATURE = _object(
    "a feature that sets a cluster apart",
    {
        "name": _TEXT,
        "index": _COUNT,
        "difference": _about(_NUMBER, "mean of the cluster less that of all rows, in deviations"),
        "mean": _NUMBER,
        "overall": _NUMBER,
    },
)

_CLUSTER = _object(
    "a cluster",
    {
        "cluster": _COUNT,
        "title": _TEXT,
        "size": _COUNT,
        "weight": _NUMBER,
        "share": _SHARE,
        "spread": _about(_NUMBER, "mean distance of its rows to the centroid"),
        "separation": _about(_NUMBER, "distance to the nearest other centroid"),
        "nearest": _about({"type": "integer", "minimum": -1}, "label of that centroid, or -1"),
        "silhouette": _about(_NUMBER, "mean simplified silhouette"),
        "features": _list(_FEATURE),
        "representatives": _about(_list(_COUNT), "numbers of the nearest rows"),
        "suspects": _about(_list(_COUNT), "numbers of the farthest rows"),
    },
)

_CROSSTAB = _object(
    "rows of each cluster with each value of a column",
    {"column": _TEXT, "values": _list(_TEXT), "weights": _list(_list({"type": "number"}))},
)

_MEANS = _object(
    "mean and spread of a column of numbers in each cluster; null in clusters without a number",
    {
        "column": _TEXT,
        "means": _list(_NUMBER),
        "deviations": _list(_NUMBER),
        "missing": _about(_list({"type": "number"}), "weight of the rows without a finite number"),
        "overall_mean": _NUMBER,
        "overall_deviation": _NUMBER,
    },
)

_CLUSTERING = _object(
    "one grouping of the rows",
    {
        "name": _TEXT,
        "kind": {"enum": ["clusters", "cells", "set", "view"]},
        "n_clusters": _COUNT,
        "n_empty": _COUNT,
        "metric": {"enum": ["euclidean", "cosine"]},
        "space": _TEXT,
        "inertia": _NUMBER,
        "silhouette": _NUMBER,
        "calinski_harabasz": _NUMBER,
        "davies_bouldin": _NUMBER,
        "clusters": _list(_CLUSTER),
        "crosstabs": _list(_CROSSTAB),
        "means": _list(_MEANS),
    },
)

_MAP = _object(
    "a sample of the rows in two dimensions",
    {
        "clustering": _about(_TEXT, "name of the grouping"),
        "rows": _about(_list(_COUNT), "numbers of the rows"),
        "x": _about(_list({"type": "number"}), "from 0 to 1000, to the right"),
        "y": _about(_list({"type": "number"}), "from 0 to 700, downwards"),
        "labels": _list(_COUNT),
        "distances": _about(_list(_NUMBER), "to the own centroid"),
        "centers": _about(_list(_list({"type": "number"})), "x and y of each centroid"),
        "shown": _about(_SHARE, "share of the centroids' scatter that is seen"),
        "by_centers": _about(_COUNT, "directions along which centroids differ"),
    },
)

_PARAMETER = _object(
    "a parameter of the estimator",
    {"name": _TEXT, "value": _TEXT, "default": {"type": "boolean"}},
)

_MODEL = _object(
    "what was fitted",
    {
        "class": _TEXT,
        "steps": _about(_list(_TEXT), "classes of a Pipeline's steps; empty without one"),
        "parameters": _list(_PARAMETER),
        "n_clusters": _COUNT,
        "n_parameters": {"type": ["integer", "null"]},
        "free_parameters": _about(
            _COUNT, "of as many free centroids; of networks, with a dense network of the same sizes"
        ),
        "n_latent": {
            "type": ["integer", "null"],
            "description": "dimensions of the latent space of a network; null without one",
        },
        "inertia": _NUMBER,
        "n_iter": {"type": ["integer", "null"]},
        "seconds": _about(_NUMBER, "of the best start's iterations"),
        "seed": _TEXT,
    },
)

_STEP = _object(
    "an iteration, or an epoch of a network",
    {
        "iteration": _COUNT,
        "inertia": _about(_NUMBER, "null for networks"),
        "loss": _about(_NUMBER, "of networks"),
        "phase": {"type": ["string", "null"], "description": "of the training of a network"},
        "moved": _about(_COUNT, "rows that changed cluster"),
        "seconds": _NUMBER,
    },
)

_STABILITY = _object(
    "agreement with other fits",
    {
        "scores": _about(_list(_NUMBER), "one for each fit; 1: the same clusters"),
        "mean": _NUMBER,
        "per_cluster": {"anyOf": [_list(_NUMBER), {"type": "null"}]},
        "method": _TEXT,
    },
)

_GRID = _object(
    "sets of protocentroids and their combinations",
    {
        "kind": {"const": "grid"},
        "aggregator": {"enum": ["sum", "product"]},
        "sizes": _list(_COUNT),
        "n_empty": _about(_COUNT, "combinations without rows"),
        "compression": _NUMBER,
        "members": _list(
            _object("a set", {"set": _COUNT, "size": _COUNT, "pictures": _list(_COUNT)})
        ),
        "grids": _list(
            _object(
                "rows of each pair of members of two sets",
                {"rows": _COUNT, "columns": _COUNT, "sizes": _list(_list(_COUNT))},
            )
        ),
    },
)

_FACTORS = _object(
    "sparse factors whose product has the centroids, or sparse centroids",
    {
        "kind": {"enum": ["factors", "sparse"]},
        "factors": _list(
            _object(
                "a sparse matrix",
                {
                    "rows": _COUNT,
                    "columns": _COUNT,
                    "nonzeros": _COUNT,
                    "density": _SHARE,
                    "pattern": _about(_TEXT, "picture of the non-zeros, as a data URI"),
                },
            )
        ),
        "nonzeros": _COUNT,
        "compression": _NUMBER,
        "kmeans_inertia": _about(_NUMBER, "of free centroids"),
    },
)

_VIEWS = _object(
    "several groupings, each in a subspace",
    {
        "kind": {"const": "views"},
        "views": _list(
            _object(
                "a view",
                {
                    "n_clusters": _COUNT,
                    "n_dims": _COUNT,
                    "explained": _about(_NUMBER, "share of the scatter between its centers"),
                    "main": {"type": "boolean"},
                },
            )
        ),
        "shared": _about(_list(_list(_NUMBER)), "normalized mutual information of each pair"),
        "unexplained": _NUMBER,
        "whitened": {"type": "boolean"},
    },
)

_SPACE = _object(
    "a learned metric",
    {
        "kind": {"const": "space"},
        "n_components": _COUNT,
        "embedding": {"type": ["string", "null"]},
        "metric": {"enum": ["euclidean", "cosine"]},
        "rho": _NUMBER,
        "discarded": _NUMBER,
        "kernel": {"type": ["string", "null"]},
        "directions": _about(_list({"type": "number"}), "shares of the centroids' scatter"),
    },
)

_ATLAS = _object(
    "pictures of the same size side by side",
    {
        "png": _about(_TEXT, "a data URI"),
        "count": _COUNT,
        "columns": _COUNT,
        "rows": _COUNT,
        "height": _about(_COUNT, "pixels of a picture"),
        "width": _COUNT,
    },
)

_PICTURES = _object(
    "rows and centroids as pictures",
    {
        "atlas": {"anyOf": [_ATLAS, {"type": "null"}]},
        "centers": {
            "type": "object",
            "description": "for each grouping, the picture of each centroid",
            "additionalProperties": _list(_COUNT),
        },
        "differences": {
            "type": "object",
            "description": "for each grouping, each centroid less the mean of all rows",
            "additionalProperties": _list(_COUNT),
        },
        "rows": {
            "type": "object",
            "description": "the picture of a row, by its number",
            "additionalProperties": _COUNT,
        },
    },
)

#: What ``Report.to_dict`` returns and ``Report.json`` writes.
SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "Report of a clustering by polymeans",
    **_object(
        "content of a report",
        {
            "schema": {"const": VERSION},
            "title": _TEXT,
            "created": _about(_TEXT, "date and time, ISO 8601"),
            "model": _MODEL,
            "versions": {"type": "object", "additionalProperties": _TEXT},
            "data": _object(
                "the rows",
                {"n_samples": _COUNT, "n_features": _COUNT, "kind": _TEXT, "dtype": _TEXT},
            ),
            "convergence": _list(_STEP),
            "clusterings": _list(_CLUSTERING),
            "maps": _list(_MAP),
            "stability": {"anyOf": [_STABILITY, {"type": "null"}]},
            "structure": {"anyOf": [_GRID, _FACTORS, _VIEWS, _SPACE, {"type": "null"}]},
            "pictures": {"anyOf": [_PICTURES, {"type": "null"}]},
            "texts": {
                "type": "object",
                "description": "beginning of the text of a row, by its number",
                "additionalProperties": _TEXT,
            },
            "notes": _about(_list(_TEXT), "what could not be said, and why"),
        },
    ),
}
