"""``polymeans predict``: labels of new rows by a model that was fitted before."""

import argparse
from pathlib import Path
from typing import Any

from polymeans.commands.errors import CommandError
from polymeans.commands.options import add_common, add_model, add_rows, check_output
from polymeans.commands.terminal import say_json

_ABOUT = "Label the rows of a file by a model that polymeans fit, or polymeans.save, has written."


def add(commands: Any) -> None:
    """Declare the command."""
    parser = commands.add_parser("predict", help="label rows by a model", description=_ABOUT)
    add_rows(parser, fitting=False)
    add_model(parser)
    parser.add_argument(
        "--labels",
        type=Path,
        metavar="FILE",
        help="labels to write: .csv, .tsv, .npy, or one in each line (default: standard output)",
    )
    add_common(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Read, predict, write."""
    check_output(options.labels, "--labels")
    from polymeans.commands.labels import labels_of, write_labels
    from polymeans.commands.models import model_and_rows

    with model_and_rows(options) as given:
        if not hasattr(given.model, "predict"):
            raise CommandError(
                f"a {type(given.model).__name__} has no labels", "use a model of clusters"
            )
        parts = labels_of(given.model, given.rows)
        if options.json and options.labels is None:
            say_json({"labels": [label for part in parts for label in part.tolist()]})
            return
        n = write_labels(parts, options.labels)
        if options.json:
            say_json({"n_samples": n, "labels": str(options.labels)})
