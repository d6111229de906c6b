"""``polymeans choose``: a number of clusters for the rows of a file."""

import argparse
from typing import Any

from polymeans.commands.errors import UsageError
from polymeans.commands.estimators import STRUCTURES
from polymeans.commands.options import add_common, add_rows, add_seed, numbers
from polymeans.commands.pictures import add_picture, check_picture, write_picture
from polymeans.commands.terminal import note, progress, say, say_json

_ABOUT = "Choose a number of clusters for the rows of a file; that there are none is an answer."

#: Answers that may be the choice; those of the function, which is not imported for a help text.
CRITERIA = (
    "auto",
    "elbow",
    "silhouette",
    "calinski_harabasz",
    "davies_bouldin",
    "bic",
    "gap",
    "prediction_strength",
    "stability",
    "valley",
)


def add(commands: Any) -> None:
    """Declare the command."""
    parser = commands.add_parser("choose", help="choose a number of clusters", description=_ABOUT)
    add_rows(parser)
    parser.add_argument(
        "-k",
        "--clusters",
        type=numbers,
        default=range(2, 21),
        metavar="K",
        help="numbers to compare: 2-20 or 4,8,16 (default: 2-20)",
    )
    parser.add_argument(
        "--structure",
        choices=STRUCTURES,
        default="free",
        help="that is fitted; nonredundant has two views (default: free centroids)",
    )
    parser.add_argument(
        "--criterion",
        choices=CRITERIA,
        default="auto",
        help="whose answer is the choice (default: auto, a decision from halves of the rows)",
    )
    add_picture(parser, "all criteria")
    add_seed(parser)
    add_common(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Read, choose, print."""
    if options.text and (options.columns or options.scale):
        raise UsageError("--text is for texts alone", "leave out --columns and --scale")
    check_picture(options.picture)
    from polymeans.commands.parts import part
    from polymeans.commands.readers import open_table
    from polymeans.commands.readers.table import Request
    from polymeans.commands.recipe import make_recipe

    choose = part("choose_n_clusters")
    request = Request(columns=options.columns, text=options.text)
    with open_table(options, request) as table:
        _, rows = make_recipe(table, request, options.scale)
        settings: dict[str, Any] = {"random_state": options.seed, "n_threads": options.threads}
        settings["estimator"] = _estimator(options)
        settings["criterion"] = options.criterion
        with progress("choosing", options.quiet) as bar:
            if bar is not None:
                settings["progress"] = bar
            choice = choose(rows, options.clusters, **settings)
    if options.picture is not None:
        write_picture(choice.plot, options.picture)
    if options.json:
        found = {"best": choice.best_, "choices": choice.choices_, "table": records(choice.table_)}
        say_json(found | ({"picture": str(options.picture)} if options.picture else {}))
        return
    say(str(choice))
    if options.picture is not None and not options.quiet:
        note(f"picture: {options.picture}")


def _estimator(options: argparse.Namespace) -> Any:
    import polymeans

    if options.structure == "free":
        return polymeans.KMeans(metric="cosine" if options.text else "euclidean")
    return getattr(polymeans, STRUCTURES[options.structure])()


def records(table: Any) -> list[dict[str, Any]]:
    """A structured array as objects."""
    return [dict(zip(table.dtype.names, row.tolist())) for row in table]
