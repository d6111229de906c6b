"""Panels below the clusters: structure, quality, convergence, crosstabs, parameters."""

from typing import Any

from polymeans.reporting.html_clusters import N_HUES, thumb
from polymeans.reporting.markup import Markup, join, tag, user_text
from polymeans.reporting.numbers import (
    apart,
    clipped,
    hundredths,
    percent,
    plural,
    separation_words,
    short,
    stability_words,
    whole,
)


def _card(title: str, *content: Any, **attributes: Any) -> Markup:
    return tag("section", tag("h2", title), *content, cls="card", aria_label=title, **attributes)


def _facts(*pairs: tuple[str, Any]) -> Markup:
    rows = [tag("div", tag("dt", name), tag("dd", value)) for name, value in pairs]
    return tag("dl", rows, cls="facts")


def _scroll(table: Markup, words: str) -> Markup:
    return tag("div", table, cls="scroll", tabindex="0", role="region", aria_label=words)


# --- structure -----------------------------------------------------------------------------------


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
    cells = 1
    for size in content["sizes"]:
        cells *= size
    how = "sum" if content["aggregator"] == "sum" else "product"
    words = (
        f"{whole(total)} protocentroids in sets of {' and '.join(map(str, content['sizes']))} make "
        f"{whole(cells)} centroids: each is the {how} of one member of every set. "
        f"{_empty_words(content['n_empty'])} Free centroids would take "
        f"{short(content['compression'], 2)} times as many numbers."
    )
    tables = [_one_grid(summary, content, each) for each in content["grids"]]
    if not tables:
        tables = [tag("p", "The sets are too large for a grid to be drawn.", cls="hint")]
    return _card("Grid of protocentroids", tag("p", words), tables)


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
    return _scroll(table, f"Grid of set {down} and set {across}")


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
    words = (
        f"The centroids are the product of {plural(len(figures), 'sparse matrix')}."
        if is_product
        else "The centroids are sparse."
    ).replace("matrixs", "matrices")
    return _card(
        "Factors" if is_product else "Sparsity",
        tag("p", f"{words} Dark places in the pictures have non-zeros."),
        _facts(
            ("Non-zeros", whole(content["nonzeros"])),
            ("Compression", f"{short(content['compression'])} times"),
            ("Inertia over free centroids", "–" if loss is None else f"{100 * loss:+.1f} %"),
        ),
        tag("div", figures, cls="factors"),
    )


def _views(summary: dict[str, Any], content: dict[str, Any]) -> Markup:
    views = content["views"]
    if not views:
        return _card("Views", tag("p", "No views were found: all rows are one cluster."))
    lines = [
        tag(
            "li",
            tag("span", f"View {s}", tag("small", " main" if view["main"] else "")),
            tag("span", tag("span", cls="bar", style=_share_width(view["explained"])), cls="track"),
            tag(
                "span",
                f"{percent(view['explained'])} of the scatter, "
                f"{plural(view['n_clusters'], 'cluster')}, {plural(view['n_dims'], 'dimension')}",
                cls="value",
            ),
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
    return _card(
        "Views",
        tag("p", f"{words} {rest}{space}"),
        tag(
            "div",
            tag("ul", lines, cls="shares long"),
            _scroll(matrix, "Information that views share") if others else None,
            cls="two",
        ),
    )


def _share_width(share: float | None) -> str:
    return f"width:{100 * min(1.0, max(0.0, share or 0.0)):.1f}%"


def _space(summary: dict[str, Any], content: dict[str, Any]) -> Markup:
    kinds = {"cut": "normalized cut", "svd": "main directions", None: "all directions"}
    bars = [
        tag(
            "li",
            tag("span", f"{number + 1}"),
            tag("span", tag("span", cls="bar", style=_share_width(share)), cls="track"),
            tag("span", percent(share), cls="value"),
        )
        for number, share in enumerate(content["directions"])
    ]
    directions: Any = tag("p", "This solver computes no directions.", cls="hint")
    if bars:
        directions = join(
            tag("h3", "Scatter of the centroids along the directions of the space"),
            tag("ul", bars, cls="shares"),
        )
    return _card(
        "Learned space",
        tag("p", "Clusters are compact in a metric that was learned with them."),
        tag(
            "div",
            _facts(
                ("Dimensions", whole(content["n_components"])),
                ("Embedding", kinds.get(content["embedding"], content["embedding"])),
                ("Rows of length one", "yes" if content["spherical"] else "no"),
                ("Kernel", content["kernel"] or "none"),
                ("rho", short(content["rho"])),
                ("Left out by the embedding", percent(content["discarded"])),
            ),
            tag("div", directions),
            cls="two",
        ),
    )


# --- quality and convergence ---------------------------------------------------------------------


def quality(summary: dict[str, Any]) -> Markup:
    """Measures of the clusterings, and stability where it was computed.

    Parameters
    ----------
    summary : dict

    Returns
    -------
    Markup
    """
    parts = [part for part in summary["clusterings"] if part["kind"] != "set"]
    heads = ["", "Silhouette", "Calinski-Harabasz", "Davies-Bouldin"]
    lines = [
        tag(
            "tr",
            tag("th", part["name"].capitalize(), scope="row"),
            tag("td", hundredths(part["silhouette"]), cls="number"),
            tag("td", short(part["calinski_harabasz"]), cls="number"),
            tag("td", hundredths(part["davies_bouldin"]), cls="number"),
        )
        for part in parts
    ]
    table = tag(
        "table",
        tag("thead", tag("tr", [tag("th", head, scope="col", cls="number") for head in heads])),
        tag("tbody", lines),
        cls="plain",
    )
    words = (
        f"{separation_words(parts[0]['silhouette'])} Of silhouette and Calinski-Harabasz large "
        "values are good, of Davies-Bouldin small ones; they compare results on the same rows."
    )
    return _card(
        "Quality", tag("p", words), _scroll(table, "Measures of quality"), _stability(summary)
    )


def _stability(summary: dict[str, Any]) -> Markup:
    content = summary["stability"]
    if content is None:
        return tag("p", "Stability was not computed; stability=5 compares five fits.", cls="hint")
    mean = content["mean"]
    found = [tag("h3", "Stability"), tag("p", stability_words(mean))]
    found.append(
        tag(
            "ul",
            tag(
                "li",
                tag("span", "Agreement"),
                tag("span", tag("span", cls="bar", style=_share_width(mean)), cls="track"),
                tag("span", hundredths(mean), cls="value"),
            ),
            cls="shares",
        )
    )
    if content["per_cluster"]:
        bars = [
            tag(
                "li",
                tag("span", str(c)),
                tag(
                    "span",
                    tag("span", cls=f"bar c{c % N_HUES}", style=_share_width(value)),
                    cls="track",
                ),
                tag("span", hundredths(value), cls="value"),
            )
            for c, value in enumerate(content["per_cluster"][:60])
        ]
        found.append(
            tag("details", tag("summary", "Of each cluster"), tag("ul", bars, cls="shares"))
        )
    found.append(tag("p", content["method"] + ".", cls="hint"))
    return tag("div", found)


def convergence(summary: dict[str, Any]) -> Markup:
    """Inertia and moved rows of each iteration.

    Parameters
    ----------
    summary : dict

    Returns
    -------
    Markup
    """
    steps = summary["convergence"]
    if len(steps) < 2:
        words = "The fit took a single iteration." if steps else "The model keeps no history."
        return _card("Convergence", tag("p", words, cls="hint"))
    last = steps[-1]["iteration"]
    words = f"The best start ended after {plural(last, 'iteration')}."
    if steps[-1]["moved"] == 0:
        words = f"{words[:-1]}, when no row changed cluster."
    inertia = [step["inertia"] for step in steps]
    moved = [step["moved"] for step in steps]
    return _card(
        "Convergence",
        tag("p", words),
        _curve(steps, inertia, "Inertia", from_zero=False),
        _curve(steps, moved, "Rows that changed cluster", from_zero=True),
    )


def _curve(steps: list[dict[str, Any]], values: list[Any], title: str, from_zero: bool) -> Markup:
    known = [value for value in values if value is not None]
    if not known:
        return tag("p", f"{title}: beyond the largest number.", cls="hint")
    low, high = (0.0 if from_zero else min(known)), max(known)
    width = (high - low) or 1.0
    bottom, top = (whole(low), whole(high)) if from_zero else apart(low, high)
    last = max(1, len(steps) - 1)
    places = [
        (100 * i / last, 100 - 100 * (value - low) / width, i)
        for i, value in enumerate(values)
        if value is not None
    ]
    line = tag(
        "svg",
        tag("polyline", points=" ".join(f"{x:.2f},{y:.2f}" for x, y, _ in places)),
        viewBox="0 0 100 100",
        preserveAspectRatio="none",
        aria_hidden="true",
    )
    dots = [
        tag(
            "span",
            cls="dot",
            style=f"left:{x:.2f}%;top:{y:.2f}%",
            title=f"iteration {steps[i]['iteration']}: {short(values[i], 5)}",
        )
        for x, y, i in places
    ]
    words = f"{title}: {short(values[0], 5)} in the first, {short(values[-1], 5)} in the last."
    return tag(
        "figure",
        tag("figcaption", title),
        tag(
            "div",
            tag("span", top, cls="high"),
            tag("span", bottom, cls="low"),
            tag("div", line, dots, cls="area"),
            tag("span", str(steps[0]["iteration"]), cls="first"),
            tag("span", f"iteration {steps[-1]['iteration']}", cls="last"),
            cls="chart",
            role="img",
            aria_label=words,
        ),
        cls="curve",
    )


# --- crosstabs and parameters --------------------------------------------------------------------


def crosstabs(summary: dict[str, Any], detail: Any) -> Markup | None:
    """Rows of each cluster with each value of the given columns; None without any.

    Parameters
    ----------
    summary : dict
    detail : Detail

    Returns
    -------
    Markup or None
    """
    tables = []
    for part in summary["clusterings"]:
        if part["kind"] == "set":
            continue
        for each in part["crosstabs"]:
            tables.append(_crosstab(part, each, detail.clusters))
    if not tables:
        return None
    words = "Each row of a table adds up to its cluster; dark places have most of it."
    return _card("Beside known columns", tag("p", words), tag("div", tables, cls="several"))


def _crosstab(part: dict[str, Any], content: dict[str, Any], most_rows: int) -> Markup:
    heads = [tag("th", user_text(clipped(value)), scope="col") for value in content["values"]]
    lines = []
    for row, weights in list(zip(part["clusters"], content["weights"]))[:most_rows]:
        total = sum(weights) or 1.0
        cells = [
            tag(
                "td",
                whole(weight) if weight == round(weight) else short(weight),
                cls="cell" if weight else "cell none",
                style=f"--tint:{100 * weight / total:.0f}%",
            )
            for weight in weights
        ]
        lines.append(tag("tr", tag("th", row["title"], scope="row"), cells))
    name = user_text(clipped(content["column"]))
    table = tag(
        "table",
        tag("caption", part["name"].capitalize(), " and ", name),
        tag("thead", tag("tr", tag("td"), heads)),
        tag("tbody", lines),
        cls="grid",
    )
    return _scroll(table, "Crosstab")


def fitted(summary: dict[str, Any]) -> Markup:
    """Parameters of the estimator, and versions.

    Parameters
    ----------
    summary : dict

    Returns
    -------
    Markup
    """
    model = summary["model"]
    rows = [
        tag(
            "tr",
            tag("th", each["name"], scope="row"),
            tag("td", tag("code", user_text(each["value"]))),
            tag("td", "default" if each["default"] else tag("b", "set")),
            cls="default" if each["default"] else None,
        )
        for each in model["parameters"]
    ]
    table = tag(
        "table",
        tag("caption", f"Parameters of {model['class']}", cls="quiet"),
        tag("tbody", rows),
        cls="plain parameters",
    )
    facts = [
        ("Estimator", model["class"]),
        ("Seed", tag("code", model["seed"])),
        ("Values", summary["data"]["dtype"]),
        ("Made on", summary["created"].replace("T", " ").replace("+00:00", " UTC")),
        *((name, value) for name, value in summary["versions"].items()),
    ]
    if model["steps"]:
        facts.insert(1, ("Pipeline", " → ".join(model["steps"])))
    return _card(
        "What was fitted",
        tag("div", _scroll(table, "Parameters"), _facts(*facts), cls="two"),
    )
