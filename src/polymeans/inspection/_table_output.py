"""A table of clusters as text for a terminal and as HTML for a notebook."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from polymeans.inspection._names import one_line, short_names

if TYPE_CHECKING:
    from polymeans.inspection.cluster_table import ClusteringSummary, ClusterRow, ClusterTable
    from polymeans.inspection.compared_columns import ColumnMeans, Crosstab

#: Features of a cluster in a line of text.
_SHOWN_FEATURES = 3

#: Values of a crosstab that are shown; the others are added up.
_SHOWN_VALUES = 8


@dataclass(frozen=True)
class _Block:
    """A table with a sentence above it and perhaps a note below."""

    sentence: str
    cells: list[list[str]]
    left: frozenset[int]  #: columns of text
    note: str = ""


def text_of(table: ClusterTable) -> str:
    """Lines for a terminal: of each clustering its clusters, then known columns beside them."""
    lines = []
    for block in _blocks(table):
        lines += [block.sentence, *_aligned(block)]
        lines += [block.note, ""] if block.note else [""]
    return "\n".join([*lines, *table.notes]).rstrip()


def html_of(table: ClusterTable) -> str:
    """The same for notebooks; all texts are escaped."""
    parts = ['<div style="overflow-x:auto">']
    for block in _blocks(table):
        header, *body = block.cells
        parts.append(f"<table><caption>{escape(block.sentence)}</caption><thead><tr>")
        parts += [f'<th scope="col">{escape(cell)}</th>' for cell in header]
        parts.append("</tr></thead><tbody>")
        for cells in body:
            line = "".join(f"<td>{escape(cell)}</td>" for cell in cells)
            parts.append(f"<tr>{line}</tr>")
        parts.append("</tbody></table>")
        if block.note:
            parts.append(f"<p>{escape(block.note)}</p>")
    parts += [f"<p>{escape(note)}</p>" for note in table.notes]
    return "".join([*parts, "</div>"])


def _blocks(table: ClusterTable) -> Iterator[_Block]:
    shown = [feature.name for row in table.rows for feature in row.features[:_SHOWN_FEATURES]]
    names = short_names(shown)
    weighted = any(row.weight != row.size for row in table.rows)
    for part in table.clusterings:
        rows = table.of(part.name)
        yield _clusters(table, part, rows, names)
        for crosstab in table.crosstabs:
            if crosstab.clustering == part.name:
                yield _counts(crosstab, rows, weighted)
        for means in table.means:
            if means.clustering == part.name:
                yield _means(means, rows)


# --- clusters ------------------------------------------------------------------------------------


def _clusters(
    table: ClusterTable,
    part: ClusteringSummary,
    rows: tuple[ClusterRow, ...],
    names: dict[str, str],
) -> _Block:
    header = ["cluster", "size", "share", "spread", "separation", "silhouette"]
    cells = [[*header, "features", "nearest rows", "farthest rows"]]
    for row in rows:
        features = row.features[:_SHOWN_FEATURES]
        cells.append(
            [
                row.title,
                str(row.size),
                f"{row.share:.1%}",
                f"{row.spread:.3g}",
                f"{row.separation:.3g}" + (f" to {row.nearest}" if row.nearest >= 0 else ""),
                f"{row.silhouette:.2f}",
                ", ".join(f"{names[each.name]} {each.difference:+.1f}" for each in features),
                " ".join(map(str, row.representatives[:3])),
                " ".join(map(str, row.suspects[:3])),
            ]
        )
    return _Block(_sentence(table, part), cells, frozenset({0, 4, 6, 7, 8}))


def _sentence(table: ClusterTable, part: ClusteringSummary) -> str:
    kinds = {"clusters": "clusters", "cells": "cells", "view": "clusters", "set": "members"}
    what = kinds[part.kind] if part.n_clusters != 1 else kinds[part.kind][:-1]
    named = "" if part.kind in ("clusters", "cells") else f"{part.name}: "
    quality = ""
    if part.silhouette is not None:
        quality = f", simplified silhouette {part.silhouette:.2f}"
    return (
        f"{table.model}: {named}{table.n_samples} rows in {part.n_clusters} {what}, "
        f"{part.metric} distances {part.space}{quality}"
    )


# --- known columns -------------------------------------------------------------------------------


def _counts(part: Crosstab, rows: tuple[ClusterRow, ...], weighted: bool) -> _Block:
    """A crosstab; of many values the most frequent ones, and the others added up."""
    n_values = len(part.values)
    kept = np.arange(n_values)
    if n_values > _SHOWN_VALUES + 1:  # a single one is as well shown as hidden
        order = np.argsort(-part.weights.sum(axis=0), kind="stable")
        kept = np.sort(order[:_SHOWN_VALUES])
    values = [part.values[at] for at in kept]
    texts = short_names(values)
    weights = part.weights[:, kept]
    header, note = [texts[value] for value in values], ""
    if len(kept) < n_values:
        rest = part.weights.sum(axis=1) - weights.sum(axis=1)
        weights = np.column_stack([weights, rest])
        header.append(f"{n_values - len(kept)} others")
        note = (
            f"The {len(kept)} most frequent of {n_values} values; "
            f"crosstab_frame({one_line(part.column)!r}) has all."
        )
    lines = [[row.title, *map(_number, line)] for row, line in zip(rows, weights.tolist())]
    what = "weight of the rows" if weighted else "rows"
    sentence = f"{_named(part.clustering)}{what} with each value of {_column(part.column)}"
    return _Block(sentence, [["cluster", *header], *lines], frozenset({0}), note)


def _means(part: ColumnMeans, rows: tuple[ClusterRow, ...]) -> _Block:
    """Mean and spread of each cluster, and of all rows in the last line."""
    header = ["cluster", "mean", "deviation"]
    lines = [
        [row.title, _short(mean), _short(deviation)]
        for row, mean, deviation in zip(rows, part.means, part.deviations)
    ]
    lines.append(["all rows", _short(part.overall_mean), _short(part.overall_deviation)])
    if any(part.missing):
        header.append("missing")
        missing = [*part.missing, sum(part.missing)]
        lines = [[*line, _number(weight)] for line, weight in zip(lines, missing)]
    sentence = f"{_named(part.clustering)}mean and standard deviation of {_column(part.column)}"
    return _Block(sentence, [header, *lines], frozenset({0}))


def _named(clustering: str) -> str:
    return "" if clustering == "clusters" else f"{clustering}: "


def _column(name: str) -> str:
    return short_names([name])[name]


def _number(weight: float) -> str:
    return f"{weight:.0f}" if weight == round(weight) and abs(weight) < 1e15 else f"{weight:.3g}"


def _short(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"


def _aligned(block: _Block) -> list[str]:
    """Lines of a table, numbers to the right and text to the left."""
    widths = [max(map(len, column)) for column in zip(*block.cells)]
    return [
        "  ".join(
            cell.ljust(width) if place in block.left else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(line, widths))
        ).rstrip()
        for line in block.cells
    ]
