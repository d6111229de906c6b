"""``polymeans describe``: what is in the clusters of a model."""

import argparse
from typing import Any

from polymeans.commands.options import add_common, add_model, add_rows
from polymeans.commands.terminal import say, say_json

_ABOUT = "Describe the clusters of a model on the rows of a file: sizes, features, typical rows."


def add(commands: Any) -> None:
    """Declare the command."""
    parser = commands.add_parser("describe", help="what is in the clusters", description=_ABOUT)
    add_rows(parser, fitting=False)
    add_model(parser)
    parser.add_argument("--compare-with", metavar="COLUMN", help="column of known groups")
    add_common(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Read, describe, print."""
    from polymeans.commands.models import model_and_rows
    from polymeans.commands.parts import part

    describe = part("describe")
    with model_and_rows(options, options.compare_with) as given:
        table = describe(
            given.model,
            given.rows,
            feature_names=given.recipe.feature_names,
            y=given.table.beside,
        )
        if options.json:
            say_json(table.to_dict())
        else:
            say(str(table))
