"""Maps and tables of clusters."""

from typing import Any

from polymeans.reporting.markup import Markup, join, tag, user_text
from polymeans.reporting.numbers import clipped, hundredths, percent, plural, short, signed, whole

#: Colors of clusters; they begin again after the last.
N_HUES = 10

#: Centroids that are numbered on a map; more would cover each other.
_MOST_NUMBERS = 60

_NAMES = {"clusters": "Clusters", "cells": "Cells", "set": "Set", "view": "View"}


def clusters(summary: dict[str, Any], detail: Any) -> Markup:
    """Maps and tables of all groupings, one shown at a time.

    Parameters
    ----------
    summary : dict
    detail : Detail

    Returns
    -------
    Markup
    """
    parts = summary["clusterings"]
    tabs = None
    if len(parts) > 1:
        buttons = [
            tag(
                "button",
                _name(part),
                type="button",
                role="tab",
                id=f"tab-{i}",
                aria_controls=f"clustering-{i}",
                aria_selected="true" if i == 0 else "false",
                tabindex="0" if i == 0 else "-1",
            )
            for i, part in enumerate(parts)
        ]
        tabs = tag("div", buttons, cls="tabs", role="tablist", aria_label="Groupings")
    sections = [_clustering(summary, i, detail, len(parts) > 1) for i in range(len(parts))]
    return tag("div", tabs, sections, id="clusters")


def _name(part: dict[str, Any]) -> str:
    number = part["name"].rpartition(" ")[2]
    return f"{_NAMES[part['kind']]} {number}" if part["kind"] in ("set", "view") else "Clusters"


def _clustering(summary: dict[str, Any], number: int, detail: Any, tabbed: bool) -> Markup:
    part = summary["clusterings"][number]
    found = [each for each in summary["maps"] if each["clustering"] == part["name"]]
    picture = None
    if found:
        picture = tag(
            "div",
            _map(found[0], part, number, detail),
            tag("div", _overview(part, number, detail), cls="card side", id=f"side-{number}"),
            cls="look",
        )
    options: dict[str, Any] = {"aria_label": _name(part)}
    if tabbed:
        options = {"role": "tabpanel", "aria_labelledby": f"tab-{number}"}
    return tag(
        "section",
        tag("h2", _name(part), cls="printed") if tabbed else None,
        picture,
        _table(summary, number, detail),
        cls="clustering",
        id=f"clustering-{number}",
        data_number=number,
        **options,
    )


# --- the map -------------------------------------------------------------------------------------


def _map(content: dict[str, Any], part: dict[str, Any], number: int, detail: Any) -> Markup:
    n = len(content["rows"])
    step = max(1, -(-n // detail.points))
    shown = range(0, n, step)
    points = [
        tag(
            "circle",
            cx=_coordinate(content["x"][i]),
            cy=_coordinate(content["y"][i]),
            r=5,
            cls=f"c{content['labels'][i] % N_HUES}",
            data_i=i,
        )
        for i in shown
    ]
    top, height = _extent(content)
    labels = []
    if len(content["centers"]) <= _MOST_NUMBERS:
        for c, (x, y) in enumerate(content["centers"]):
            if part["clusters"][c]["size"]:
                place = f"left:{x / 10:.1f}%;top:{100 * (y - top) / height:.1f}%"
                labels.append(
                    tag("span", c, cls=f"center c{c % N_HUES}", style=place, data_cluster=c)
                )
    drawing = tag(
        "svg",
        points,
        viewBox=f"0 {top} 1000 {height}",
        role="img",
        aria_label=f"Map of {plural(len(shown), 'row')} colored by cluster. Arrow keys select "
        "clusters; the table has the same clusters as text.",
        tabindex="0",
    )
    return tag(
        "figure",
        tag("figcaption", tag("h2", "Map"), tag("p", _map_words(content, part, len(shown)))),
        tag("div", drawing, labels, cls="plane", data_number=number),
        cls="card map",
    )


def _coordinate(value: float) -> str:
    return f"{value:.0f}"


def _extent(content: dict[str, Any]) -> tuple[float, float]:
    """Where the map begins and its height: no emptier than it has to be, and not too flat."""
    ys = [*content["y"], *(y for _, y in content["centers"])]
    low, high = min(ys) - 30, max(ys) + 30
    missing = max(0.0, 420 - (high - low))
    return round(low - missing / 2, 1), round(high - low + missing, 1)


def _map_words(content: dict[str, Any], part: dict[str, Any], n_shown: int) -> str:
    n = sum(row["size"] for row in part["clusters"])
    rows = plural(n_shown, "row") if n_shown == n else f"{whole(n_shown)} of {plural(n, 'row')}"
    if content["by_centers"] == 2:
        share = percent(content["shown"])
        how = f"the two directions along which centroids differ most ({share} of their scatter)"
    elif content["by_centers"] == 1:
        how = "along the direction in which centroids differ, and across it"
    else:
        how = "the directions along which rows differ most"
    return f"{rows}, {part['space']}: {how}."


def _overview(part: dict[str, Any], number: int, detail: Any) -> Markup:
    """Sizes of the clusters, the largest first."""
    rows = sorted(part["clusters"], key=lambda row: -row["size"])
    most = max((row["size"] for row in rows), default=1) or 1
    bars = [
        tag(
            "li",
            tag(
                "button",
                tag("span", row["title"], cls="name"),
                tag(
                    "span",
                    tag("span", cls=f"bar c{row['cluster'] % N_HUES}", style=_width(row, most)),
                    cls="track",
                ),
                tag("span", whole(row["size"]), cls="value"),
                type="button",
                data_cluster=row["cluster"],
                aria_label=f"Cluster {row['title']}: {plural(row['size'], 'row')}, "
                f"{percent(row['share'])}",
            ),
        )
        for row in rows[: detail.clusters]
    ]
    return join(
        tag("h2", "Sizes"),
        tag("p", "Select a cluster here, on the map or in the table.", cls="hint"),
        tag("ol", bars, cls="bars"),
    )


def _width(row: dict[str, Any], most: int) -> str:
    return f"width:{100 * row['size'] / most:.1f}%"


# --- the table -----------------------------------------------------------------------------------

_COLUMNS = (
    ("Cluster", "number", "cluster", ""),
    ("Rows", "number", "size", ""),
    ("Share", "number", "share", "wide"),
    ("Spread", "number", "spread", "wide"),
    ("Separation", "number", "separation", "wide"),
    ("Silhouette", "number", "silhouette", ""),
    ("What sets it apart", "text", None, ""),
    ("Typical rows", "text", None, "wide"),
)

_MEANING = {
    "Spread": "Mean distance of the rows to their centroid",
    "Separation": "Distance to the nearest other centroid",
    "Silhouette": "How much nearer rows are to their own centroid than to the next, from −1 to 1",
    "What sets it apart": "Mean of the cluster less that of all rows, in standard deviations",
    "Typical rows": "Rows nearest to the centroid",
}


def _table(summary: dict[str, Any], number: int, detail: Any) -> Markup:
    part = summary["clusterings"][number]
    rows = part["clusters"]
    shown = rows
    if len(rows) > detail.clusters:
        shown = sorted(rows, key=lambda row: -row["size"])[: detail.clusters]
    heads = []
    for name, kind, key, cls in _COLUMNS:
        content: Any = name
        if key is not None:
            content = tag(
                "button", name, tag("span", cls="arrow", aria_hidden="true"), type="button"
            )
        heads.append(
            tag("th", content, scope="col", cls=f"{kind} {cls}".strip(), title=_MEANING.get(name))
        )
    most = max((row["size"] for row in rows), default=1) or 1
    body = [_row(summary, number, row, most, detail) for row in shown]
    left_out = None
    if len(shown) < len(rows):
        left_out = tag(
            "p",
            f"The {whole(len(shown))} largest of {whole(len(rows))} clusters are listed; the JSON "
            "form of this report has all.",
            cls="note",
        )
    box = f"search-{number}"
    tools = tag(
        "div",
        tag("h2", _table_title(part)),
        tag(
            "div",
            tag("label", "Search", for_=box, cls="quiet"),
            tag("input", id=box, type="search", placeholder="Search clusters", cls="search"),
            tag("span", plural(len(shown), "cluster"), cls="count", role="status"),
            cls="tools",
        ),
        cls="bartop",
    )
    table = tag(
        "table", tag("thead", tag("tr", heads)), tag("tbody", body), cls="clusters sortable"
    )
    scroll = tag(
        "div", table, cls="scroll", tabindex="0", role="region", aria_label=_table_title(part)
    )
    return tag("div", tools, scroll, left_out, cls="card", data_number=number)


def _table_title(part: dict[str, Any]) -> str:
    return {"set": "Members of the set", "cells": "Cells"}.get(part["kind"], "Clusters")


def _row(
    summary: dict[str, Any], number: int, row: dict[str, Any], most: int, detail: Any
) -> Markup:
    hue = f"c{row['cluster'] % N_HUES}"
    pick = tag(
        "button",
        tag("span", cls=f"swatch {hue}", aria_hidden="true"),
        _picture(summary, "centers", number, row["cluster"], "its centroid"),
        tag("span", row["title"]),
        type="button",
        cls="pick",
        aria_pressed="false",
        aria_label=f"Select cluster {row['title']}",
    )
    size = join(
        tag("span", whole(row["size"]), cls="value"),
        tag("span", tag("span", cls=f"bar {hue}", style=_width(row, most)), cls="track small"),
    )
    nearest = "" if row["nearest"] < 0 else f"to {row['nearest']}"
    cells = [
        tag("th", pick, scope="row", data_v=row["cluster"]),
        tag("td", size, cls="number", data_v=row["size"]),
        tag("td", percent(row["share"]), cls="number wide", data_v=row["share"]),
        tag("td", short(row["spread"]), cls="number wide", data_v=row["spread"]),
        tag(
            "td",
            short(row["separation"]),
            " ",
            tag("small", nearest),
            cls="number wide",
            data_v=row["separation"],
        ),
        tag("td", _silhouette(row), cls="number", data_v=row["silhouette"]),
        tag("td", _apart(summary, number, row, detail)),
        tag("td", _typical(summary, row, detail), cls="wide rows"),
    ]
    return tag("tr", cells, data_cluster=row["cluster"])


def _silhouette(row: dict[str, Any]) -> Markup:
    value = row["silhouette"] or 0.0
    left, width = (50.0, 50 * value) if value >= 0 else (50 + 50 * value, -50 * value)
    bar = tag("span", cls="needle", style=f"left:{left:.1f}%;width:{width:.1f}%")
    return join(tag("span", hundredths(value), cls="value"), tag("span", bar, cls="track middle"))


def _chips(row: dict[str, Any], detail: Any) -> list[Markup]:
    chips = []
    for feature in row["features"][: min(4, detail.features)]:
        rise = (feature["difference"] or 0) >= 0
        means = f"mean {short(feature['mean'])}, all rows {short(feature['overall'])}"
        chips.append(
            tag(
                "li",
                user_text(clipped(feature["name"])),
                " ",
                tag("b", signed(feature["difference"])),
                cls="up" if rise else "down",
                title=means,
            )
        )
    return chips


def thumb(at: int, summary: dict[str, Any], words: str) -> Markup:
    """A picture of the atlas.

    Parameters
    ----------
    at : int
        Its number.
    summary : dict
    words : str
        What it shows.

    Returns
    -------
    Markup
    """
    columns = summary["pictures"]["atlas"]["columns"]
    place = f"--x:{at % columns};--y:{at // columns}"
    return tag("span", cls="thumb", style=place, role="img", aria_label=words)


def _picture(
    summary: dict[str, Any], kind: str, number: int, cluster: int, words: str
) -> Markup | None:
    """A picture that belongs to a cluster, where there is one."""
    pictures = summary["pictures"]
    name = summary["clusterings"][number]["name"]
    if not pictures or not pictures["atlas"]:
        return None
    known = pictures[kind].get(name, [])
    return thumb(known[cluster], summary, words) if cluster < len(known) else None


def _apart(summary: dict[str, Any], number: int, row: dict[str, Any], detail: Any) -> Any:
    """What differs from all rows: a picture where rows are images, else features."""
    words = "its centroid less the mean of all rows"
    picture = _picture(summary, "differences", number, row["cluster"], words)
    if picture is not None:
        return picture
    return tag("ul", _chips(row, detail), cls="chips") if row["features"] else "–"


def _typical(summary: dict[str, Any], row: dict[str, Any], detail: Any) -> Any:
    numbers = row["representatives"][:3]
    pictures = summary["pictures"]
    if pictures and pictures["atlas"]:
        known = [i for i in numbers if str(i) in pictures["rows"]]
        return [thumb(pictures["rows"][str(i)], summary, f"row {i}") for i in known]
    texts = summary["texts"]
    if numbers and str(numbers[0]) in texts:
        words = texts[str(numbers[0])][: detail.characters]
        return tag("p", user_text(words), cls="quote")
    return ", ".join(map(str, numbers)) or "–"


# --- what the script needs -----------------------------------------------------------------------


def data_for_script(summary: dict[str, Any], detail: Any) -> dict[str, Any]:
    """Clusters, points, texts and pictures, as small as they can be.

    Parameters
    ----------
    summary : dict
    detail : Detail

    Returns
    -------
    dict
    """
    groupings, named = [], set()
    for part in summary["clusterings"]:
        rows = part["clusters"]
        if len(rows) > detail.clusters:
            rows = sorted(rows, key=lambda row: -row["size"])[: detail.clusters]
        listed = {}
        for row in rows:
            near = row["representatives"][: detail.rows]
            far = row["suspects"][: detail.rows]
            named |= {*near, *far}
            listed[str(row["cluster"])] = {
                "title": row["title"],
                "size": whole(row["size"]),
                "share": percent(row["share"]),
                "spread": short(row["spread"]),
                "separation": short(row["separation"]),
                "nearest": row["nearest"],
                "silhouette": hundredths(row["silhouette"]),
                "features": [
                    [
                        clipped(each["name"]),
                        round(each["difference"] or 0.0, 2),
                        short(each["mean"]),
                        short(each["overall"]),
                    ]
                    for each in row["features"][: detail.features]
                ],
                "near": near,
                "far": far,
            }
        points = None
        for each in summary["maps"]:
            if each["clustering"] == part["name"]:
                points = {
                    "rows": each["rows"],
                    "labels": each["labels"],
                    "distances": [short(value) for value in each["distances"]],
                }
                named |= set(each["rows"])
        groupings.append({"clusters": listed, "points": points})
    pictures = summary["pictures"] or {}
    texts = summary["texts"]
    return {
        "groupings": groupings,
        "texts": {
            str(i): texts[str(i)][: detail.characters] for i in sorted(named) if str(i) in texts
        },
        "pictures": pictures.get("rows", {}) if pictures.get("atlas") else {},
        "columns": (pictures.get("atlas") or {}).get("columns", 1),
        "hues": N_HUES,
    }
