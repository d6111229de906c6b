"""A summary as Markdown: the parts of a report that text can show."""

import re
from typing import Any

from polymeans.reporting.numbers import (
    clipped,
    hundredths,
    length_of_fit,
    percent,
    separation_words,
    short,
    signed,
    stability_words,
    whole,
)

#: Characters that mean something in Markdown or HTML.
_SPECIAL = re.compile(r"([\\`*_{}\[\]()<>#+\-.!|~&$:@])")


def plain(value: Any) -> str:
    """Any text on one line, with nothing in it taken for markup.

    Parameters
    ----------
    value : object

    Returns
    -------
    str
    """
    line = "".join(c if c.isprintable() else " " for c in clipped(value, 280)).strip()
    return _SPECIAL.sub(r"\\\1", line)


def render_markdown(summary: dict[str, Any]) -> str:
    """The text of a summary.

    Parameters
    ----------
    summary : dict
        As the schema describes it.

    Returns
    -------
    str
        Markdown with tables.
    """
    model, data = summary["model"], summary["data"]
    unit, n_steps = length_of_fit(summary)
    lines = [
        f"# {plain(summary['title'])}",
        "",
        f"{whole(data['n_samples'])} rows of {whole(data['n_features'])} features ({data['kind']}, "
        f"{data['dtype']}). {separation_words(summary['clusterings'][0]['silhouette'])}",
        "",
        *[f"> {plain(note)}\n" for note in summary["notes"]],
        *_table(
            ["inertia", unit, "seconds", "parameters", "seed"],
            [
                [
                    short(model["inertia"], 5),
                    whole(n_steps),
                    short(model["seconds"]),
                    whole(model["n_parameters"]),
                    plain(model["seed"]),
                ]
            ],
        ),
    ]
    for part in summary["clusterings"]:
        lines += _clustering(part)
    if summary["stability"]:
        content = summary["stability"]
        words = f"Mean agreement {hundredths(content['mean'])}. {stability_words(content['mean'])}"
        lines += ["## Stability", "", f"{words} ({plain(content['method'])})", ""]
    lines += ["## Parameters", ""]
    lines += _table(
        ["parameter", "value"],
        [[plain(each["name"]), plain(each["value"])] for each in model["parameters"]],
    )
    found = ", ".join(f"{name} {value}" for name, value in summary["versions"].items())
    return "\n".join([*lines, f"Made on {summary['created']} with {found}.", ""])


def _clustering(part: dict[str, Any]) -> list[str]:
    lines = [
        f"## {plain(part['name'].capitalize())}",
        "",
        f"Distances ({part['metric']}) {part['space']}. Simplified silhouette "
        f"{hundredths(part['silhouette'])}, Calinski-Harabasz {short(part['calinski_harabasz'])}, "
        f"Davies-Bouldin {hundredths(part['davies_bouldin'])}.",
        "",
    ]
    head = ["cluster", "rows", "share", "spread", "separation", "silhouette", "features"]
    rows = [
        [
            plain(row["title"]),
            whole(row["size"]),
            percent(row["share"]),
            short(row["spread"]),
            short(row["separation"]),
            hundredths(row["silhouette"]),
            ", ".join(
                f"{plain(each['name'])} {signed(each['difference'])}" for each in row["features"]
            ),
            ", ".join(map(str, row["representatives"][:3])),
        ]
        for row in part["clusters"]
    ]
    lines += _table([*head, "typical rows"], rows)
    for each in part["crosstabs"]:
        lines += [f"### {plain(each['column'])}", ""]
        counts = [
            [plain(row["title"]), *(short(weight) for weight in weights)]
            for row, weights in zip(part["clusters"], each["weights"])
        ]
        lines += _table(["cluster", *(plain(value) for value in each["values"])], counts)
    for each in part["means"]:
        lines += [f"### {plain(each['column'])}", ""]
        moments = [
            [plain(row["title"]), short(mean), short(deviation)]
            for row, mean, deviation in zip(part["clusters"], each["means"], each["deviations"])
        ]
        overall = ["all rows", short(each["overall_mean"]), short(each["overall_deviation"])]
        lines += _table(["cluster", "mean", "standard deviation"], [*moments, overall])
    return lines


def _table(head: list[str], rows: list[list[str]]) -> list[str]:
    lines = [head, ["---"] * len(head), *rows]
    return [*("| " + " | ".join(line) + " |" for line in lines), ""]
