"""``polymeans demo``: all six structures on data that come with the installation."""

import argparse
import time
from pathlib import Path
from typing import Any

from polymeans.commands.errors import CommandError
from polymeans.commands.options import add_seed, check_output
from polymeans.commands.terminal import aligned, note, progress, say, say_json

_ABOUT = "Fit all six structures to data that come with the installation; a table and one page."

#: Seconds of compilation that are worth a line.
_NOTICED = 0.5


def add(commands: Any) -> None:
    """Declare the command."""
    parser = commands.add_parser("demo", help="see what the library does", description=_ABOUT)
    parser.add_argument(
        "--output",
        type=Path,
        default=Path("polymeans-demo.html"),
        metavar="FILE",
        help="page to write (default: %(default)s)",
    )
    parser.add_argument("--quick", action="store_true", help="fewer rows")
    parser.add_argument("--quiet", action="store_true", help="no messages and no progress bar")
    parser.add_argument("--json", action="store_true", help="write results as JSON")
    add_seed(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Fit, print, write."""
    check_output(options.output, "--output")
    from polymeans.commands.compiling import Compiling
    from polymeans.commands.demo_ahead import CompilingAhead
    from polymeans.commands.demo_page import page
    from polymeans.commands.demo_problems import Outcome, problems, solve

    began = time.perf_counter()
    outcomes: list[Outcome] = []
    waited = 0.0
    with (
        Compiling() as compiling,
        CompilingAhead(options.seed, options.quick) as ahead,
        progress("demo", options.quiet) as bar,
    ):
        for problem in problems(options.seed, options.quick):
            if bar is not None:
                bar(len(outcomes), 6, f"{problem.name} on {problem.rows_are}")
            before, since = compiling.seconds, time.perf_counter()
            ahead.wait_for(problem.name)
            waiting = time.perf_counter() - since
            waited += waiting
            outcomes.append(solve(problem, compiling))
            compiled = compiling.seconds - before + waiting
            if compiled > _NOTICED and not options.quiet:
                if bar is not None:
                    bar.clear()  # type: ignore[attr-defined]
                note(
                    f"{problem.name}: compiled kernels for {compiled:.0f} s. They are kept on the "
                    "disk: this happens once on a machine."
                )
        content = page(outcomes)
    if options.json:
        say_json([outcome.facts() for outcome in outcomes])
    else:
        for line in aligned([Outcome.HEADER, *(outcome.cells() for outcome in outcomes)]):
            say(line)
    _write(content, options.output)
    if not options.quiet:
        note(
            f"Page: {options.output} ({time.perf_counter() - began:.0f} s in all, "
            f"{compiling.seconds + waited:.0f} s of them for compiling). Open it in a browser."
        )


def _write(content: str, path: Path) -> None:
    from polymeans.core.whole_file import whole_file

    try:
        with whole_file(path) as file:
            file.write(content.encode("utf-8"))
    except OSError as error:
        raise CommandError(
            f"cannot write {path}: {error.strerror}", "choose another --output"
        ) from None
