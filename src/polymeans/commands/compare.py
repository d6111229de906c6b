"""``polymeans compare``: all structures on the rows of a file."""

import argparse
from typing import Any

from polymeans.commands.choose import records
from polymeans.commands.errors import UsageError
from polymeans.commands.options import add_common, add_rows, add_seed, count
from polymeans.commands.pictures import add_picture, check_picture, write_picture
from polymeans.commands.terminal import note, progress, say, say_json

_ABOUT = "Fit every structure to the rows of a file, and recommend one."


def add(commands: Any) -> None:
    """Declare the command."""
    parser = commands.add_parser("compare", help="compare all structures", description=_ABOUT)
    add_rows(parser)
    parser.add_argument(
        "-k", "--clusters", type=count, default=16, metavar="K", help="clusters (default: 16)"
    )
    parser.add_argument("--budget", type=float, metavar="SECONDS", help="time it may take")
    add_picture(parser, "inertia and numbers stored")
    add_seed(parser)
    add_common(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Read, compare, print."""
    if options.text and (options.columns or options.scale):
        raise UsageError("--text is for texts alone", "leave out --columns and --scale")
    check_picture(options.picture)
    from polymeans.commands.parts import part
    from polymeans.commands.readers import open_table
    from polymeans.commands.readers.table import Request
    from polymeans.commands.recipe import make_recipe

    compare = part("compare")
    request = Request(columns=options.columns, text=options.text)
    with open_table(options, request) as table:
        _, rows = make_recipe(table, request, options.scale)
        settings: dict[str, Any] = {"random_state": options.seed, "n_threads": options.threads}
        with progress("comparing", options.quiet) as bar:
            if bar is not None:
                settings["progress"] = bar
            found = compare(rows, options.clusters, budget=options.budget, **settings)
    if options.picture is not None:
        write_picture(found.plot, options.picture)
    if options.json:
        facts = {"best": found.best_, "reason": found.reason_, "table": records(found.table_)}
        say_json(facts | ({"picture": str(options.picture)} if options.picture else {}))
        return
    say(str(found))
    if options.picture is not None and not options.quiet:
        note(f"picture: {options.picture}")
