"""Panels of structures: grid of protocentroids, factors, views, learned space."""

import math
from typing import Any

from polymeans.reporting.html_clusters import thumb
from polymeans.reporting.html_parts import card, facts, scroll, share_line
from polymeans.reporting.markup import Markup, join, tag, user_text
from polymeans.reporting.numbers import clipped, percent, plural, short, whole


def structure(summary: dict[str, Any]) -> Markup | None:
    """The panel of the model's structure; None for free centroids.

    Parameters
    ----------
    summary : dict

    Returns
    -------
    Markup or None
    """
    content = summary["structure"]
    if content is None:
        return None
    panels = {"grid": _grid, "factors": _factors, "sparse": _factors, "views": _views}
    return panels.get(content["kind"], _space)(summary, content)


def _grid(summary: dict[str, Any], content: dict[str, Any]) -> Markup:
    total = sum(content["sizes"])
    cells = math.prod(content["sizes"])
    how = "sum" if content["aggregator"] == "sum" else "product"
    where, others, pictures = "", "Free centroids", ""
    if summary["model"]["n_latent"] is not None:
        where, others = " in the latent space", "A dense network with free centroids"
        drawn = any(each["pictures"] for each in content["members"])
        if drawn and not summary["model"]["steps"]:
            pictures = " Pictures are decoded from a member and the average of the other sets."
    words = (
        f"{whole(total)} protocentroids in sets of {' and '.join(map(str, content['sizes']))} make "
        f"{whole(cells)} centroids{where}: each is the {how} of one member of every set. "
        f"{_empty_words(content['n_empty'])} {others} would take "
        f"{short(content['compression'], 2)} times as many numbers.{pictures}"
    )
    tables = [_one_grid(summary, content, each) for each in content["grids"]]
    if not tables:
        tables = [tag("p", "The sets are too large for a grid to be drawn.", cls="hint")]
    return card("Grid of protocentroids", tag("p", words), tables)


def _empty_words(n_empty: int) -> str:
    if not n_empty:
        return "All combinations have rows."
    have = "has" if n_empty == 1 else "have"
    return f"{plural(n_empty, 'combination')} {have} no rows."


def _one_grid(summary: dict[str, Any], content: dict[str, Any], grid: dict[str, Any]) -> Markup:
    down, across, sizes = grid["rows"], grid["columns"], grid["sizes"]
    linked = len(content["sizes"]) == 2
    most = max(max(line) for line in sizes) or 1
    heads = [_member(summary, content, across, j, "col") for j in range(len(sizes[0]))]
    corner = tag("td", f"set {down} ↓ · set {across} →", cls="corner")
    lines = []
    for i, line in enumerate(sizes):
        cells = []
        for j, size in enumerate(line):
            place = f"--tint:{(size / most) ** 0.5 * 100:.0f}%"
            label: Any = whole(size)
            if linked:
                label = tag(
                    "button",
                    whole(size),
                    type="button",
                    aria_label=f"Cell {i}, {j}: {plural(size, 'row')}",
                    data_cluster=i * len(line) + j,
                )
            cells.append(tag("td", label, style=place, cls="cell" if size else "cell none"))
        lines.append(tag("tr", _member(summary, content, down, i, "row"), cells))
    table = tag(
        "table",
        tag("caption", f"Rows of each combination of set {down} and set {across}", cls="quiet"),
        tag("thead", tag("tr", corner, heads)),
        tag("tbody", lines),
        cls="grid",
        data_grouping="0" if linked else None,
    )
    return scroll(table, f"Grid of set {down} and set {across}")


def _member(
    summary: dict[str, Any], content: dict[str, Any], number: int, j: int, scope: str
) -> Markup:
    pictures = content["members"][number]["pictures"]
    picture = None
    if pictures and summary["pictures"] and summary["pictures"]["atlas"]:
        picture = thumb(pictures[j], summary, f"member {j} of set {number}")
    (part,) = (each for each in summary["clusterings"] if each["name"] == f"set {number}")
    features = part["clusters"][j]["features"][:1]
    words = None
    if features and picture is None:
        sign = "▲" if (features[0]["difference"] or 0) >= 0 else "▼"
        words = tag("small", sign, " ", user_text(clipped(features[0]["name"])), cls="clip")
    return tag("th", picture, tag("span", str(j)), words, scope=scope)


def _factors(summary: dict[str, Any], content: dict[str, Any]) -> Markup:
    inertia, free = summary["model"]["inertia"], content["kmeans_inertia"]
    loss = None if not inertia or not free else inertia / free - 1
    figures = [
        tag(
            "figure",
            tag(
                "img",
                src=each["pattern"],
                alt=f"Non-zeros of a matrix of {each['rows']} by {each['columns']}",
                cls="pattern",
                style=f"aspect-ratio:{min(max(each['columns'] / each['rows'], 0.4), 4):.3f}",
            ),
            tag(
                "figcaption",
                f"{whole(each['rows'])} × {whole(each['columns'])}, "
                f"{plural(each['nonzeros'], 'non-zero')} ({percent(each['density'])})",
            ),
        )
        for each in content["factors"]
    ]
    is_product = content["kind"] == "factors"
    words = "The centroids are sparse."
    if is_product:
        words = f"The centroids are the product of {len(figures)} sparse matrices."
    return card(
        "Factors" if is_product else "Sparsity",
        tag("p", f"{words} Dark places in the pictures have non-zeros."),
        facts(
            ("Non-zeros", whole(content["nonzeros"])),
            ("Compression", f"{short(content['compression'])} times"),
            ("Inertia over free centroids", "–" if loss is None else f"{100 * loss:+.1f} %"),
        ),
        tag("div", figures, cls="factors"),
    )


def _views(summary: dict[str, Any], content: dict[str, Any]) -> Markup:
    views = content["views"]
    if not views:
        return card("Views", tag("p", "No views were found: all rows are one cluster."))
    lines = [
        share_line(
            join(f"View {s}", tag("small", " main") if view["main"] else None),
            view["explained"],
            f"{percent(view['explained'])} of the scatter, "
            f"{plural(view['n_clusters'], 'cluster')}, {plural(view['n_dims'], 'dimension')}",
        )
        for s, view in enumerate(views)
    ]
    others = [
        value for a, line in enumerate(content["shared"]) for b, value in enumerate(line) if a < b
    ]
    words = "There is only one view."
    if others:
        most = max(others)
        judged = "nearly independent" if most < 0.1 else "related" if most < 0.5 else "redundant"
        words = f"Two views share at most {percent(most)} of their information: they are {judged}."
    heads = [tag("th", f"View {b}", scope="col") for b in range(len(views))]
    body = [
        tag(
            "tr",
            tag("th", f"View {a}", scope="row"),
            [
                tag("td", percent(value), cls="cell", style=f"--tint:{100 * (value or 0):.0f}%")
                for value in line
            ],
        )
        for a, line in enumerate(content["shared"])
    ]
    matrix = tag(
        "table",
        tag("caption", "Information that views share"),
        tag("thead", tag("tr", tag("td"), heads)),
        tag("tbody", body),
        cls="grid",
    )
    rest = f"Directions without clusters hold {percent(content['unexplained'])} of the scatter, "
    rest += "or scatter within clusters."
    space = " Views were found among whitened principal components." if content["whitened"] else ""
    return card(
        "Views",
        tag("p", f"{words} {rest}{space}"),
        tag(
            "div",
            tag("ul", lines, cls="shares long"),
            scroll(matrix, "Information that views share") if others else None,
            cls="two",
        ),
    )


def _space(summary: dict[str, Any], content: dict[str, Any]) -> Markup:
    kinds = {
        "cut": "normalized cut",
        "white": "whitened features",
        "svd": "main directions",
        None: "all directions",
    }
    bars = [
        share_line(str(number + 1), share, percent(share))
        for number, share in enumerate(content["directions"])
    ]
    directions: Any = tag("p", "This solver computes no directions.", cls="hint")
    if bars:
        directions = join(
            tag("h3", "Scatter of the centroids along the directions of the space"),
            tag("ul", bars, cls="shares"),
        )
    return card(
        "Learned space",
        tag("p", "Clusters are compact in a metric that was learned with them."),
        tag(
            "div",
            facts(
                ("Dimensions", whole(content["n_components"])),
                ("Embedding", kinds.get(content["embedding"], content["embedding"])),
                ("Rows of length one", "yes" if content["metric"] == "cosine" else "no"),
                ("Kernel", content["kernel"] or "none"),
                ("rho", short(content["rho"])),
                ("Left out by the embedding", percent(content["discarded"])),
            ),
            tag("div", directions),
            cls="two",
        ),
    )
