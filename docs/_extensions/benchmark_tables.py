"""The directive ``benchmark``: figures of one benchmark, from the file that it wrote.

``.. benchmark:: everyday`` shows the tables of ``figures/everyday.json``, which
``python -m benchmarks everyday --json`` writes, and says when, where and with which versions they
were measured. Without the file it says how to measure.
"""

import datetime
import json
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.util.docutils import SphinxDirective


def show(value: Any) -> str:
    """A cell as the benchmark prints it.

    Parameters
    ----------
    value : object

    Returns
    -------
    str
    """
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, list):
        return ", ".join(map(show, value))
    return str(value)


def day(date: str) -> str:
    """A date in words; a date without a day is a month.

    Parameters
    ----------
    date : str
        Year and month, or year, month and day, with hyphens between.

    Returns
    -------
    str
    """
    if date.count("-") == 1:
        return f"{datetime.date.fromisoformat(date + '-01'):%B %Y}"
    found = datetime.date.fromisoformat(date)
    return f"{found:%B} {found.day}, {found.year}"


def table_of(title: str, rows: list[dict[str, Any]]) -> nodes.table:
    """A table with a caption and one column for each key.

    Parameters
    ----------
    title : str
    rows : list of dict

    Returns
    -------
    docutils.nodes.table
    """
    columns = list(dict.fromkeys(key for row in rows for key in row))
    table = nodes.table("", nodes.title("", title), classes=["benchmark"])
    group = nodes.tgroup(cols=len(columns))
    group += [nodes.colspec(colwidth=1) for _ in columns]
    lines = [columns, *([show(row.get(column, "")) for column in columns] for row in rows)]
    made = [
        nodes.row("", *(nodes.entry("", nodes.paragraph("", cell)) for cell in line))
        for line in lines
    ]
    group += nodes.thead("", made[0])
    group += nodes.tbody("", *made[1:])
    table += group
    return table


def source_of(run: dict[str, Any]) -> nodes.paragraph:
    """When, where and with what the tables of a run were measured.

    Parameters
    ----------
    run : dict
        As ``benchmarks/record.py`` writes it.

    Returns
    -------
    docutils.nodes.paragraph
    """
    where = f"{run['processor']}, {run['cores']} cores"
    if run.get("python"):
        where += f", Python {run['python']}"
    revision = f"revision {run['commit']}" if run["commit"] else "an earlier revision"
    versions = ", ".join(f"{name} {number}" for name, number in run["versions"].items())
    words = f"Measured in {day(run['date'])}" if run["date"].count("-") == 1 else ""
    words = words or f"Measured on {day(run['date'])}"
    said = nodes.paragraph("", f"{words} by {revision} on {where}", classes=["measured"])
    said += nodes.Text(f"; {versions}. " if versions else ". ")
    if run["command"]:
        said += nodes.literal("", run["command"])
    return said


class Benchmark(SphinxDirective):
    """Tables of one benchmark."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Nodes that stand for the directive."""
        name = self.arguments[0]
        path = Path(self.env.app.srcdir) / "figures" / f"{name}.json"
        self.env.note_dependency(str(path))
        if not path.exists():
            said = nodes.paragraph(
                "", "No figures are stored. This command prints and stores them: "
            )
            said += nodes.literal("", f"python -m benchmarks {name} --json")
            return [said]
        found: list[nodes.Node] = []
        for run in json.loads(path.read_text(encoding="utf-8"))["runs"]:
            for table in run["tables"]:
                found.append(table_of(table["title"], table["rows"]))
                if table["note"]:
                    found.append(nodes.paragraph("", table["note"]))
            found.append(source_of(run))
        return found


def setup(app: Any) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("benchmark", Benchmark)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
