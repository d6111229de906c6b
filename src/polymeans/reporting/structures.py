"""What is particular to a structure, as plain data: grid, factors, views, learned space."""

from itertools import combinations
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from polymeans.inspection._models import in_latent_space
from polymeans.inspection.cluster_table import ClusterTable
from polymeans.metrics._contingency import normalized_information
from polymeans.reporting.facts import finite
from polymeans.reporting.pictures import Atlas, data_uri

#: Sides of the picture of a factor, at most; several entries share a pixel beyond.
_PATTERN = (96, 192)

#: Members of a set above which a grid is too large to be read.
_MOST_MEMBERS = 40

#: Directions of a learned space that are listed.
_MOST_DIRECTIONS = 12


def structure_of(
    model: Any,
    table: ClusterTable,
    joint: dict[tuple[int, int], NDArray[np.float64]],
    atlas: Atlas | None,
    means: dict[str, list[int]] | None = None,
) -> dict[str, Any] | None:
    """The panel of a structure; None for free centroids.

    Parameters
    ----------
    model : estimator
        Fitted; the last step.
    table : ClusterTable
    joint : dict
        Weight of the rows with each pair of labels, for each pair of views.
    atlas : Atlas or None
        Takes pictures of vectors, where rows are images.
    means : dict, default=None
        Numbers of pictures of means of rows, by the name of their grouping: shown in place of
        protocentroids which are in other units than the rows.

    Returns
    -------
    dict or None
    """
    if len(getattr(model, "protocentroids_", ())) > 1:
        return _grid(model, table, atlas, means)
    if hasattr(model, "factors_"):
        return _factors(model, list(model.factors_), "factors")
    if hasattr(model, "sparse_centroids_"):
        return _factors(model, [model.sparse_centroids_], "sparse")
    if hasattr(model, "centroids_per_view_"):
        return _views(model, joint)
    if hasattr(model, "centroids_in_space_"):
        return _space(model, table)
    return None


def _grid(
    model: Any, table: ClusterTable, atlas: Atlas | None, means: dict[str, list[int]] | None
) -> dict[str, Any]:
    sets = model.protocentroids_
    sizes = [len(part) for part in sets]
    cells = np.array([row.size for row in table.of("cells")]).reshape(sizes)
    members = []
    latent = in_latent_space(model)
    drawn = atlas is not None and means is None
    for q, part in enumerate(model._decoded_members() if latent and drawn else sets):
        pictures = [] if means is None else means.get(f"set {q}", [])
        if drawn and len(part) <= _MOST_MEMBERS:
            # Later sets of sums are deviations from the first; decoded ones are whole rows.
            signed = model._aggregator == "sum" and q > 0 and not latent
            assert atlas is not None
            pictures = atlas.add(part, signed)
        members.append({"set": q, "size": len(part), "pictures": pictures})
    grids = []
    for a, b in combinations(range(len(sizes)), 2):
        if max(sizes[a], sizes[b]) <= _MOST_MEMBERS:
            others = tuple(q for q in range(len(sizes)) if q not in (a, b))
            grids.append({"rows": a, "columns": b, "sizes": cells.sum(axis=others).tolist()})
    return {
        "kind": "grid",
        "aggregator": model._aggregator,
        "sizes": sizes,
        "n_empty": int(np.count_nonzero(cells == 0)),
        "compression": finite(model.compression_),
        "members": members,
        "grids": grids,
    }


def _factors(model: Any, factors: list[Any], kind: str) -> dict[str, Any]:
    described = []
    for factor in factors:
        described.append(
            {
                "rows": int(factor.shape[0]),
                "columns": int(factor.shape[1]),
                "nonzeros": int(factor.nnz),
                "density": factor.nnz / (factor.shape[0] * factor.shape[1]),
                "pattern": data_uri(_pattern(factor)),
            }
        )
    return {
        "kind": kind,
        "factors": described,
        "nonzeros": int(model.n_nonzeros_),
        "compression": finite(model.compression_),
        "kmeans_inertia": finite(getattr(model, "kmeans_inertia_", None)),
    }


def _pattern(factor: Any) -> NDArray[np.uint8]:
    """Where non-zeros are: white for none, dark for many."""
    entries = sp.coo_array(factor)
    height, width = (min(a, b) for a, b in zip(factor.shape, _PATTERN))
    rows = entries.row * height // factor.shape[0]
    columns = entries.col * width // factor.shape[1]
    counts = np.bincount(rows * width + columns, minlength=height * width).reshape(height, width)
    most = max(1, int(counts.max(initial=0)))
    shade = 255 - 215 * np.sqrt(counts / most)
    return np.where(counts > 0, shade, 255).astype(np.uint8)


def _views(model: Any, joint: dict[tuple[int, int], NDArray[np.float64]]) -> dict[str, Any]:
    n_views = int(model.n_views_)
    shared = np.eye(n_views)
    for (a, b), table in joint.items():
        used = sp.csc_array(table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0])
        shared[a, b] = shared[b, a] = normalized_information(used)
    return {
        "kind": "views",
        "views": [
            {
                "n_clusters": int(model.n_clusters_[s]),
                "n_dims": int(model.n_dims_[s]),
                "explained": finite(model.explained_variance_ratio_[s]),
                "main": s == model.main_view_,
            }
            for s in range(n_views)
        ],
        "shared": shared.tolist(),
        "unexplained": finite(max(0.0, 1 - float(np.sum(model.explained_variance_ratio_)))),
        "whitened": model.whitening_ is not None,
    }


def _space(model: Any, table: ClusterTable) -> dict[str, Any]:
    directions: list[float] = []
    centers = model.centroids_in_space_
    if centers is not None:
        weights = np.array([row.share for row in table.of(table.clusterings[0].name)])
        away = np.asarray(centers, dtype=np.float64) - weights @ centers
        squares = np.linalg.svd(away * np.sqrt(weights)[:, None], compute_uv=False) ** 2
        total = squares.sum()
        if total > 0:
            directions = [float(value / total) for value in squares[:_MOST_DIRECTIONS]]
    kernel = getattr(model, "kernel", None)
    name = kernel if kernel is None or isinstance(kernel, str) else "a function"
    return {
        "kind": "space",
        "n_components": int(model.n_components_),
        "embedding": model.embedding_,
        "metric": model.metric_,
        "rho": finite(model.rho_),
        "discarded": finite(model.discarded_),
        "kernel": name,
        "directions": directions,
    }
