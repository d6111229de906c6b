"""Everything a report says, as plain data that JSON can hold; ``schema.py`` describes it."""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from polymeans._validation import check_integer
from polymeans.codebooks.aggregation import digits_of
from polymeans.inspection._accounts import Sample
from polymeans.inspection._models import in_latent_space
from polymeans.inspection._named_column import take_column
from polymeans.inspection._row_parts import RowParts
from polymeans.inspection.cluster_table import ClusterTable
from polymeans.inspection.description import Findings, look
from polymeans.reporting.facts import convergence, finite, model_facts, versions
from polymeans.reporting.numbers import clipped
from polymeans.reporting.pictures import Atlas, image_shape, pixel_names
from polymeans.reporting.projection import project
from polymeans.reporting.schema import VERSION
from polymeans.reporting.stability import stability_facts
from polymeans.reporting.structures import structure_of

#: Pictures of rows in a report, at most.
_MOST_PICTURES = 900

#: Pictures of rows of the map among them.
_MAP_PICTURES = 400

#: Members of a set, at most, for them to have pictures.
_MOST_MEMBERS = 40

#: Characters of a text, at most.
_LONGEST_TEXT = 280

#: Width and height of a map, at most.
_MAP = (1000.0, 700.0)


def summarize(
    model: Any,
    X: Any,
    feature_names: Sequence[Any] | None,
    y: Any,
    *,
    images: Sequence[int] | None,
    texts: Sequence[Any] | None,
    stability: Any,
    title: str | None,
    max_points: int,
    n_features: int,
    n_rows: int,
    sample_weight: Any,
) -> dict[str, Any]:
    """The content of a report; see :func:`polymeans.report` for the parameters.

    Returns
    -------
    dict
        As ``polymeans.reporting.SCHEMA`` describes it.
    """
    check_integer("max_points", max_points, 1)
    check_integer("n_features", n_features, 0)
    check_integer("n_rows", n_rows, 0)
    X, y = take_column(model, X, y)
    parts = RowParts(model, X, feature_names, sample_weight)
    atlas = None
    if images is not None:
        shape = image_shape(images, parts.n_described)
        atlas = Atlas(shape)
        if not parts.named:
            parts.names = pixel_names(shape)
    texts = _texts(texts, X, parts.n_samples)
    sample = Sample(parts.n_samples, int(max_points))
    findings = look(parts, y, n_features, n_rows, sample)
    table = findings.table
    facts = model_facts(model, parts.last)
    pictures = _pictures(parts, findings, atlas)
    means = pictures.get("centers") if parts.in_other_units else None
    structure = structure_of(parts.last, table, findings.joint, atlas, means)
    shown = _rows_shown(table, sample)
    return {
        "schema": VERSION,
        "title": title or _title(table, facts),
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "model": facts,
        "versions": versions(parts.last),
        "data": {
            "n_samples": parts.n_samples,
            "n_features": int(parts.last.n_features_in_),
            "kind": _kind(parts),
            "dtype": str(parts.dtype),
        },
        "convergence": convergence(parts.last),
        "clusterings": [_clustering(table, part.name) for part in table.clusterings],
        "maps": _maps(findings, sample),
        "stability": stability_facts(stability, model, X),
        "structure": structure,
        "pictures": None if atlas is None else {"atlas": atlas.to_dict(), **pictures},
        "texts": {} if texts is None else {str(i): _shortened(texts[i]) for i in shown},
        "notes": list(table.notes),
    }


def _title(table: ClusterTable, facts: dict[str, Any]) -> str:
    n = facts["n_clusters"]
    what = "cluster" + "s" * (n != 1)
    views = sum(part.kind == "view" for part in table.clusterings)
    where = f" in {views} view{'s' * (views != 1)}" if views else ""
    return f"{facts['class']} with {n} {what}{where}"


def _kind(parts: RowParts) -> str:
    kind = "sparse (CSR)" if parts.is_sparse else "dense"
    return f"{kind}, in blocks" if parts.in_blocks else kind


def _clustering(table: ClusterTable, name: str) -> dict[str, Any]:
    """One grouping: its figures, clusters and crosstabs."""
    (summary,) = (part for part in table.clusterings if part.name == name)
    clusters = []
    for row in table.of(name):
        content = asdict(row)
        del content["clustering"]
        for key in ("weight", "share", "spread", "separation", "silhouette"):
            content[key] = finite(content[key])
        content["features"] = [
            {**feature, **{key: finite(feature[key]) for key in ("difference", "mean", "overall")}}
            for feature in content["features"]
        ]
        content["representatives"] = list(row.representatives)
        content["suspects"] = list(row.suspects)
        clusters.append(content)
    crosstabs = [
        {
            "column": part.column,
            "values": list(part.values),
            "weights": part.weights.tolist(),
        }
        for part in table.crosstabs
        if part.clustering == name
    ]
    means = [asdict(part) for part in table.means if part.clustering == name]
    for content in means:
        del content["clustering"]
        for key in ("means", "deviations", "missing"):
            content[key] = list(content[key])
    figures = asdict(summary)
    for key in ("inertia", "silhouette", "calinski_harabasz", "davies_bouldin"):
        figures[key] = finite(figures[key])
    return {**figures, "clusters": clusters, "crosstabs": crosstabs, "means": means}


def _maps(findings: Findings, sample: Sample) -> list[dict[str, Any]]:
    """Places of the sample and of the centroids of each clustering that has a space."""
    maps = []
    for number, part in enumerate(findings.clusterings):
        weights = np.array([row.weight for row in findings.table.of(part.name)])
        seen = project(sample.places(number), part.centers, weights, part.metric)
        points, centers = _on_the_map(seen.points, seen.centers)
        maps.append(
            {
                "clustering": part.name,
                "rows": sample.numbers.tolist(),
                "x": points[:, 0].tolist(),
                "y": points[:, 1].tolist(),
                "labels": sample.labels(number).tolist(),
                "distances": [finite(value) for value in sample.own(number)],
                "centers": centers.tolist(),
                "shown": seen.shown,
                "by_centers": seen.by_centers,
            }
        )
    return maps


def _on_the_map(
    points: NDArray[np.float64], centers: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Coordinates on the map, one unit for both axes; far outliers are at the edge."""
    everything = np.nan_to_num(np.concatenate([points, centers]))
    low, high = np.percentile(everything, [0.2, 99.8], axis=0)
    low, high = np.minimum(low, centers.min(axis=0)), np.maximum(high, centers.max(axis=0))
    middle, widths, size = (low + high) / 2, high - low, np.array(_MAP)
    scales = np.divide(0.94 * size, widths, out=np.full(2, np.inf), where=widths > 0)
    scale = float(scales.min()) if np.isfinite(scales.min()) else 0.0

    def place(values: NDArray[np.float64]) -> NDArray[np.float64]:
        inside = (np.nan_to_num(values) - middle) * scale * [1.0, -1.0] + size / 2
        return np.clip(inside, 8, size - 8).round(1)

    return place(points), place(centers)


def _pictures(parts: RowParts, findings: Findings, atlas: Atlas | None) -> dict[str, Any]:
    """Numbers of the pictures of centroids and of rows."""
    if atlas is None or findings.sample is None:
        return {}
    centers: dict[str, list[int]] = {}
    differences: dict[str, list[int]] = {}
    for number, part in enumerate(findings.clusterings):
        vectors = _center_vectors(parts, findings, number)[: _MOST_PICTURES // 4]
        centers[part.name] = atlas.add(vectors)
        differences[part.name] = atlas.add(vectors - findings.sums.mean, signed=True)
        sizes = [len(each) for each in getattr(parts.last, "protocentroids_", [])]
        if part.kind != "cells" or len(sizes) < 2 or max(sizes) > _MOST_MEMBERS:
            continue
        # Members of a set: means of the rows of all their cells.
        for q, merged in enumerate(digits_of(np.arange(part.n_clusters), sizes)):
            vectors = findings.sums.cluster_means(number, merged.astype(np.int64))
            centers[f"set {q}"] = atlas.add(vectors)
            differences[f"set {q}"] = atlas.add(vectors - findings.sums.mean, signed=True)
    numbers = _rows_to_picture(findings, _MOST_PICTURES - len(atlas))
    rows: dict[str, int] = {}
    if numbers:
        values = parts.take(np.array(numbers, dtype=np.int64))
        values = values.toarray() if sp.issparse(values) else values
        rows = {str(i): at for i, at in zip(numbers, atlas.add(values))}
    return {"centers": centers, "differences": differences, "rows": rows}


def _center_vectors(parts: RowParts, findings: Findings, number: int) -> NDArray[np.float64]:
    """Centroids, decoded if latent, in the described features; else means of their rows."""
    part, model = findings.clusterings[number], parts.last
    if part.kind == "view":
        centers = model.centroids_per_view_[number]
    else:
        centers = model.cluster_centers_
    if centers is None or parts.in_other_units or part.metric == "cosine":
        return findings.sums.cluster_means(number)
    if in_latent_space(model):
        centers = model.decoded_centroids_
    return np.asarray(centers, dtype=np.float64)


def _rows_to_picture(findings: Findings, room: int) -> list[int]:
    """Typical rows and suspects of all clusters, the nearest first, then rows of the map."""
    names = {part.name for part in findings.clusterings}
    listed = [row for row in findings.table if row.clustering in names]
    wanted: dict[int, None] = {}
    for place in range(max((len(row.representatives) for row in listed), default=0)):
        for row in listed:
            for numbers in (row.representatives, row.suspects):
                if place < len(numbers):
                    wanted[numbers[place]] = None
    found = list(wanted)[: max(0, room)]
    assert findings.sample is not None
    drawn = [int(i) for i in findings.sample.numbers if int(i) not in wanted]
    spare = max(0, min(_MAP_PICTURES, room - len(found), len(drawn)))
    found += [drawn[i] for i in np.linspace(0, len(drawn) - 1, spare).astype(int)]
    return sorted(set(found))


def _texts(texts: Sequence[Any] | None, X: Any, n_samples: int) -> Sequence[Any] | None:
    """Texts of the rows: as given, or X itself where a Pipeline takes texts."""
    if texts is None:
        is_list = isinstance(X, list | tuple) or getattr(X, "ndim", 0) == 1
        if not is_list or not all(isinstance(X[i], str) for i in range(min(3, n_samples))):
            return None
        texts = X
    texts = texts.tolist() if hasattr(texts, "tolist") else list(texts)
    if len(texts) != n_samples:
        raise ValueError(
            f"texts must have one entry for each of {n_samples} rows, got {len(texts)}. Pass the "
            "texts of the rows of X, in their order."
        )
    return texts


def _shortened(text: Any) -> str:
    # Lone surrogates cannot be written to a file.
    clean = str(text).encode("utf-8", "replace").decode("utf-8")
    return clipped(clean, _LONGEST_TEXT)


def _rows_shown(table: ClusterTable, sample: Sample) -> list[int]:
    """Numbers of all rows that a report names."""
    listed = {i for row in table for i in (*row.representatives, *row.suspects)}
    return sorted(listed | set(sample.numbers.tolist()))
