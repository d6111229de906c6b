"""The command line: ``polymeans COMMAND``.

Results go to stdout, notes and errors to stderr. Exit codes: 0 done, 2 the command could not be
carried out as given (one line with the reason, one with a remedy), 130 interrupted. This is the
only module that prints.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from polymeans import __version__


class CommandError(Exception):
    """A command that cannot be carried out as given.

    Parameters
    ----------
    message : str
        The reason.
    hint : str
        What to do instead.
    """

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Report like every other error, without a page of usage."""
        raise CommandError(message, f"{self.prog} --help")


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command.

    Parameters
    ----------
    argv : sequence of str, default=None
        Arguments; None: those of the process.

    Returns
    -------
    int
        Exit code.
    """
    try:
        options = _parser().parse_args(argv)
        options.run(options)
    except CommandError as error:
        _note(f"polymeans: error: {error}")
        _note(f"hint: {error.hint}")
        return 2
    except KeyboardInterrupt:
        return 130
    except SystemExit as finished:  # --help and --version
        return int(finished.code or 0)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="polymeans", description="k-means with structure, exact and fast.")
    parser.add_argument("--version", action="version", version=f"polymeans {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for add in (_add_demo,):
        add(commands)
    return parser


def _note(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


# --- demo --------------------------------------------------------------------------------------


def _add_demo(commands: "argparse._SubParsersAction[_Parser]") -> None:
    about = "Cluster dense and sparse rows, here and with scikit-learn, and draw the outcome."
    parser = commands.add_parser("demo", help=about, description=about)
    parser.add_argument(
        "--output",
        type=Path,
        default=Path("polymeans-demo.png"),
        metavar="FILE",
        help="picture to write (default: %(default)s)",
    )
    parser.add_argument(
        "--seed", type=_seed, default=0, help="data and starting centroids (default: %(default)s)"
    )
    parser.add_argument("--quick", action="store_true", help="few documents, a few seconds")
    parser.set_defaults(run=_demo)


def _seed(text: str) -> int:
    try:
        seed = int(text)
    except ValueError:
        seed = -1
    if not 0 <= seed < 2**32:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0 to 4294967295")
    return seed


def _demo(options: argparse.Namespace) -> None:
    from polymeans import _demo as demo

    # Errors about the picture are found before the work, not after.
    try:
        figure = demo.new_figure()
    except ImportError as error:
        raise CommandError("the demo draws, and matplotlib is missing", str(error)) from None
    _check_picture(options.output, figure.canvas.get_supported_filetypes())

    problems = demo.make_problems(options.seed, options.quick)
    _note("Compiling kernels; the first time on a machine this takes a while ...")
    seconds = demo.compile_kernels(problems)
    _note(f"... {seconds:.1f} s, not counted below. Now fitting.")
    comparisons = [demo.compare(problem) for problem in problems]

    print("Same starting centroids for both, run until no label changes. Seconds are those of the")
    print("fastest fit; kernels had been compiled before.\n")
    _print_table(list(demo.table(comparisons)))
    demo.draw(figure, comparisons)
    try:
        demo.save(figure, options.output)
    except OSError as error:
        raise CommandError(
            f"cannot write {options.output}: {error.strerror}", "choose another --output"
        ) from None
    print(f"\nPicture: {options.output}")
    print(
        "Look at: whether inertias agree, and how few rows still move late in a fit; "
        "the rest is skipped."
    )


def _check_picture(path: Path, formats: dict[str, str]) -> None:
    if path.suffix.lower().lstrip(".") not in formats:
        raise CommandError(
            f"cannot tell the format of {str(path)!r}",
            "end the name of --output in .png, .svg or .pdf",
        )
    if not path.parent.is_dir():
        raise CommandError(
            f"there is no directory {str(path.parent)!r}", "create it or choose another --output"
        )
    if path.is_dir():
        raise CommandError(f"{str(path)!r} is a directory", "give --output the name of a file")


def _print_table(lines: list[list[str]]) -> None:
    """Columns as wide as their longest cell: names to the left, figures to the right."""
    widths = [max(map(len, column)) for column in zip(*lines)]
    for name, *cells in lines:
        figures = (cell.rjust(width) for cell, width in zip(cells, widths[1:]))
        print("  ".join([name.ljust(widths[0]), *figures]))
