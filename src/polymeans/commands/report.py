"""``polymeans report``: one HTML page about a model and its rows."""

import argparse
from pathlib import Path
from typing import Any

from polymeans.commands.errors import CommandError
from polymeans.commands.options import (
    REPORT_ENDINGS,
    add_common,
    add_model,
    add_rows,
    check_output,
    sizes,
)
from polymeans.commands.terminal import note, say_json

_ABOUT = "Write one HTML page about a model and the rows of a file; it needs no network."


def add(commands: Any) -> None:
    """Declare the command."""
    parser = commands.add_parser("report", help="one HTML page about a model", description=_ABOUT)
    add_rows(parser, fitting=False)
    add_model(parser)
    parser.add_argument(
        "--output",
        type=Path,
        default=Path("report.html"),
        metavar="FILE",
        help="page to write: .html, .md or .json (default: %(default)s)",
    )
    parser.add_argument("--compare-with", metavar="COLUMN", help="column of known groups")
    parser.add_argument("--title", help="of the page")
    parser.add_argument(
        "--image-shape", type=sizes, metavar="H,W", help="rows are images of this height and width"
    )
    add_common(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Read, summarize, write."""
    check_output(options.output, "--output", REPORT_ENDINGS)
    from polymeans.commands.models import model_and_rows

    with model_and_rows(options, options.compare_with) as given:
        write_report(
            given.model,
            given.rows,
            given.recipe,
            given.table,
            options.output,
            title=options.title,
            image_shape=options.image_shape,
        )
    if options.json:
        say_json({"report": str(options.output)})
    elif not options.quiet:
        note(f"report: {options.output}")


def write_report(
    model: Any, rows: Any, recipe: Any, table: Any, path: Path, **settings: Any
) -> None:
    """Write the page of a model.

    Parameters
    ----------
    model : estimator
    rows : array, CSR matrix or Blocks
    recipe : Recipe
    table : Table
        With texts, or a column to compare with, if any.
    path : Path
    **settings : object
        Further arguments of :func:`polymeans.report`.
    """
    from polymeans.commands.models import unnamed
    from polymeans.commands.parts import part

    with unnamed():
        page = part("report")(
            model,
            rows,
            feature_names=recipe.feature_names,
            y=table.beside,
            texts=table.texts,
            **settings,
        )
    try:
        page.save(path)
    except OSError as error:
        raise CommandError(
            f"cannot write {path}: {error.strerror}", "choose another file"
        ) from None
