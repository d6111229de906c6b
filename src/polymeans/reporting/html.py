"""A summary as one HTML page that loads nothing."""

from base64 import b64encode
from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files
from typing import Any

from polymeans.reporting import html_clusters, html_panels, html_structures
from polymeans.reporting.markup import Markup, embedded_json, join, tag, text
from polymeans.reporting.numbers import (
    clipped,
    hundredths,
    length_of_fit,
    percent,
    plural,
    separation_words,
    short,
    whole,
)

#: Bytes that a page has at most.
MOST_BYTES = 1_000_000


@dataclass(frozen=True)
class Detail:
    """How much of a summary a page shows."""

    points: int  #: rows on a map
    clusters: int  #: rows of a table
    rows: int  #: nearest and farthest rows of a cluster
    features: int  #: features of a cluster
    characters: int  #: of a text


#: Tried in this order until a page is small enough.
_DETAILS = (
    Detail(5000, 500, 12, 12, 280),
    Detail(1500, 300, 6, 6, 200),
    Detail(800, 200, 4, 5, 120),
    Detail(400, 100, 3, 4, 80),
    Detail(150, 50, 2, 3, 60),
    Detail(50, 20, 1, 1, 40),
)


def render_html(summary: dict[str, Any]) -> str:
    """The page of a summary.

    Parameters
    ----------
    summary : dict
        As the schema describes it.

    Returns
    -------
    str
        Less than ``MOST_BYTES``.
    """
    for detail in _DETAILS:
        page = _page(summary, detail)
        if len(page.encode("utf-8")) < MOST_BYTES:
            return page
    # Pictures are the only part that is left to be large.
    return _page({**summary, "pictures": None, "texts": {}}, _DETAILS[-1])


def _asset(name: str) -> str:
    return (files("polymeans.reporting") / "assets" / name).read_text(encoding="utf-8")


def _page(summary: dict[str, Any], detail: Detail) -> str:
    script, style = _asset("report.js"), _asset("report.css")
    # Only this script may run, whatever else a page contains, and nothing may be loaded.
    checksum = b64encode(sha256(script.encode("utf-8")).digest()).decode("ascii")
    policy = (
        f"default-src 'none'; script-src 'sha256-{checksum}'; style-src 'unsafe-inline'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    head = join(
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("meta", name="generator", content="polymeans"),
        tag("title", clipped(summary["title"], 200)),
        tag("style", Markup(style + _atlas_style(summary))),
    )
    data = html_clusters.data_for_script(summary, detail)
    body = join(
        tag("a", "Skip to the clusters", cls="skip", href="#clusters"),
        tag("div", _header(summary), _main(summary, detail), _footer(summary), cls="page"),
        tag("div", id="tip", role="status", hidden=True),
        tag("script", embedded_json(data), type="application/json", id="data"),
        tag("script", Markup(script)),
    )
    return f'<!doctype html>\n<html lang="en">{tag("head", head)}{tag("body", body)}</html>\n'


def _atlas_style(summary: dict[str, Any]) -> str:
    """The pictures, once for the whole page."""
    atlas = (summary["pictures"] or {}).get("atlas")
    if atlas is None:
        return ""
    return (
        f":root{{--atlas:url({atlas['png']});--columns:{atlas['columns']};"
        f"--sheet:{atlas['rows']};--ratio:{atlas['height'] / atlas['width']:.4f}}}"
    )


def _header(summary: dict[str, Any]) -> Markup:
    model, data = summary["model"], summary["data"]
    first = summary["clusterings"][0]
    of_network = model["n_latent"] is not None
    unit, n_steps = length_of_fit(summary)
    ratio = None
    if model["n_parameters"] and model["free_parameters"]:
        ratio = model["n_parameters"] / model["free_parameters"]
    figures = [
        ("Rows", whole(data["n_samples"]), f"{whole(data['n_features'])} features, {data['kind']}"),
        ("Clusters", whole(model["n_clusters"]), _clusters_note(summary)),
        ("Silhouette", hundredths(first["silhouette"]), "simplified, from −1 to 1"),
        (
            "Inertia",
            short(model["inertia"]),
            "in the latent space" if of_network else f"{first['metric']} distances",
        ),
        (
            unit.capitalize(),
            whole(n_steps),
            _seconds(model["seconds"]),
        ),
        (
            "Parameters",
            whole(model["n_parameters"]),
            ""
            if ratio is None
            else f"{percent(ratio)} of {'a dense network' if of_network else 'free centroids'}",
        ),
    ]
    cards = [
        tag("div", tag("dt", name), tag("dd", value, tag("small", note)), cls="figure")
        for name, value, note in figures
    ]
    heading = tag(
        "div",
        tag("p", "Cluster report", cls="over"),
        tag("h1", tag("bdi", text(clipped(summary["title"], 200)))),
        tag("p", _lead(summary), cls="lead"),
    )
    theme = tag(
        "button",
        tag("span", cls="sun", aria_hidden="true"),
        tag("span", "Color scheme", cls="quiet"),
        id="theme",
        type="button",
        title="Color scheme: as the system",
    )
    return tag("header", tag("div", heading, theme, cls="title"), tag("dl", cards, cls="figures"))


def _clusters_note(summary: dict[str, Any]) -> str:
    empty = summary["clusterings"][0]["n_empty"]
    views = sum(part["kind"] == "view" for part in summary["clusterings"])
    if views:
        return f"in {plural(views, 'view')}"
    return f"{whole(empty)} without rows" if empty else "all have rows"


def _seconds(seconds: float | None) -> str:
    if seconds is None:
        return ""
    return "<0.01 s, best start" if seconds < 0.01 else f"{short(seconds, 2)} s, best start"


def _lead(summary: dict[str, Any]) -> str:
    first = summary["clusterings"][0]
    sizes = sorted((row["share"] or 0.0 for row in first["clusters"]), reverse=True)
    steps = summary["model"]["steps"]
    pipeline = f" The model is the last step of {' → '.join(steps)}." if steps else ""
    named = "" if first["kind"] != "view" else f" in {first['name']}"
    largest = f"The largest cluster{named} has {percent(sizes[0])} of the rows"
    if len(sizes) > 1:
        largest += f", the smallest {percent(sizes[-1])}"
    return f"{largest}. {separation_words(first['silhouette'])}{pipeline}"


def _main(summary: dict[str, Any], detail: Detail) -> Markup:
    notes = [tag("p", note, cls="note") for note in summary["notes"]]
    return tag(
        "main",
        notes,
        html_clusters.clusters(summary, detail),
        html_structures.structure(summary),
        tag(
            "div",
            html_panels.quality(summary),
            html_panels.convergence(summary),
            cls="pair",
        ),
        html_panels.crosstabs(summary, detail),
        html_panels.fitted(summary),
    )


def _footer(summary: dict[str, Any]) -> Markup:
    version = summary["versions"].get("polymeans", "")
    return tag(
        "footer",
        f"Made by polymeans {version} on {summary['created'][:10]}. This file loads nothing from "
        "the network.",
    )
