"""Panels below the clusters: quality, convergence, crosstabs, parameters."""

from typing import Any

from polymeans.reporting.html_clusters import N_HUES
from polymeans.reporting.html_parts import card, facts, scroll, share_line
from polymeans.reporting.markup import Markup, tag, user_text
from polymeans.reporting.numbers import (
    apart,
    clipped,
    hundredths,
    plural,
    separation_words,
    short,
    stability_words,
    whole,
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
    compare = "compare results on the same rows"
    if summary["model"]["n_latent"] is not None:
        compare = "belong to the latent space of this network and do not compare with other models"
    words = (
        f"{separation_words(parts[0]['silhouette'])} Of silhouette and Calinski-Harabasz large "
        f"values are good, of Davies-Bouldin small ones; they {compare}."
    )
    return card(
        "Quality", tag("p", words), scroll(table, "Measures of quality"), _stability(summary)
    )


def _stability(summary: dict[str, Any]) -> Markup:
    content = summary["stability"]
    if content is None:
        return tag("p", "Stability was not computed; stability=5 compares five fits.", cls="hint")
    mean = content["mean"]
    found = [tag("h3", "Stability"), tag("p", stability_words(mean))]
    found.append(tag("ul", share_line("Agreement", mean, hundredths(mean)), cls="shares"))
    if content["per_cluster"]:
        bars = [
            share_line(str(c), value, hundredths(value), f"c{c % N_HUES}")
            for c, value in enumerate(content["per_cluster"][:60])
        ]
        found.append(
            tag("details", tag("summary", "Of each cluster"), tag("ul", bars, cls="shares"))
        )
    found.append(tag("p", content["method"] + ".", cls="hint"))
    return tag("div", found)


def convergence(summary: dict[str, Any]) -> Markup:
    """Inertia and moved rows of each iteration; the loss of each epoch of a network.

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
        return card("Convergence", tag("p", words, cls="hint"))
    last = steps[-1]["iteration"]
    moved = [step["moved"] for step in steps]
    if summary["model"]["n_latent"] is not None:
        losses = [step["loss"] for step in steps]
        phases = ", ".join(dict.fromkeys(step["phase"] for step in steps))
        words = f"The network was trained for {plural(last, 'epoch')}: {phases}."
        return card(
            "Convergence",
            tag("p", words, " Each phase has a loss of its own."),
            _curve(steps, losses, "Loss", from_zero=False, unit="epoch"),
            _curve(steps, moved, "Rows that changed cluster", from_zero=True, unit="epoch"),
        )
    words = f"The best start ended after {plural(last, 'iteration')}."
    if steps[-1]["moved"] == 0:
        words = f"{words[:-1]}, when no row changed cluster."
    inertia = [step["inertia"] for step in steps]
    return card(
        "Convergence",
        tag("p", words),
        _curve(steps, inertia, "Inertia", from_zero=False),
        _curve(steps, moved, "Rows that changed cluster", from_zero=True),
    )


def _curve(
    steps: list[dict[str, Any]],
    values: list[Any],
    title: str,
    from_zero: bool,
    unit: str = "iteration",
) -> Markup:
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
            title=f"{unit} {steps[i]['iteration']}: {short(values[i], 5)}",
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
            tag("span", f"{unit} {steps[-1]['iteration']}", cls="last"),
            cls="chart",
            role="img",
            aria_label=words,
        ),
        cls="curve",
    )


# --- crosstabs and parameters --------------------------------------------------------------------


def crosstabs(summary: dict[str, Any], detail: Any) -> Markup | None:
    """Counts of values, or means of numbers, of the given columns; None without any.

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
        for each in part["means"]:
            tables.append(_means(part, each, detail.clusters))
    if not tables:
        return None
    words = "Each row of counts adds up to its cluster; dark places have most of it."
    return card("Beside known columns", tag("p", words), tag("div", tables, cls="several"))


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
    return scroll(table, "Crosstab")


def _means(part: dict[str, Any], content: dict[str, Any], most_rows: int) -> Markup:
    """Mean and standard deviation of each cluster, and of all rows in the last line."""
    found = zip(part["clusters"], content["means"], content["deviations"])
    lines = [(row["title"], mean, deviation) for row, mean, deviation in list(found)[:most_rows]]
    lines.append(("all rows", content["overall_mean"], content["overall_deviation"]))
    name = user_text(clipped(content["column"]))
    table = tag(
        "table",
        tag("caption", part["name"].capitalize(), " and ", name),
        tag(
            "thead",
            tag("tr", tag("td"), [tag("th", head, scope="col") for head in ("mean", "deviation")]),
        ),
        tag(
            "tbody",
            [
                tag("tr", tag("th", title, scope="row"), tag("td", short(a)), tag("td", short(b)))
                for title, a, b in lines
            ],
        ),
        cls="grid",
    )
    return scroll(table, "Means")


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
    known = [
        ("Estimator", model["class"]),
        ("Seed", tag("code", model["seed"])),
        ("Values", summary["data"]["dtype"]),
        ("Made on", summary["created"].replace("T", " ").replace("+00:00", " UTC")),
        *((name, value) for name, value in summary["versions"].items()),
    ]
    if model["steps"]:
        known.insert(1, ("Pipeline", " → ".join(model["steps"])))
    return card(
        "What was fitted",
        tag("div", scroll(table, "Parameters"), facts(*known), cls="two"),
    )
