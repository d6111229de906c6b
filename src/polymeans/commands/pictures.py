"""Pictures of results: the option ``--picture``, its check before any work, and the file."""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from polymeans.commands.errors import CommandError
from polymeans.commands.options import check_output

_ENDINGS = (".png", ".svg", ".pdf")


def add_picture(parser: argparse.ArgumentParser, of: str) -> None:
    """Declare the option.

    Parameters
    ----------
    parser : ArgumentParser
    of : str
        What is drawn, for the help text.
    """
    parser.add_argument(
        "--picture", type=Path, metavar="FILE", help=f"picture of {of}: .png, .svg or .pdf"
    )


def check_picture(path: Path | None) -> None:
    """Raise if a picture cannot be drawn or written, before any work is done for it."""
    if path is None:
        return
    check_output(path, "--picture", _ENDINGS)
    from polymeans.inspection._matplotlib import load

    try:
        load("matplotlib").use("agg")  # to a file; there may be no screen
    except ImportError:
        raise CommandError(
            "--picture needs matplotlib, which is not installed", 'pip install "polymeans[plot]"'
        ) from None


def write_picture(plot: Callable[[], Any], path: Path) -> None:
    """Draw and write a picture, completely or not at all.

    Parameters
    ----------
    plot : callable
        It draws on a new figure, and returns a display that has it as ``figure_``.
    path : Path
        The ending is the form.
    """
    from polymeans.core.whole_file import whole_file
    from polymeans.inspection._matplotlib import load

    figure = plot().figure_
    try:
        with whole_file(path) as file:
            figure.savefig(file, format=path.suffix.lower()[1:], dpi=150)
    except OSError as error:
        raise CommandError(
            f"cannot write {path}: {error.strerror}", "choose another --picture"
        ) from None
    finally:
        load("matplotlib.pyplot").close(figure)
