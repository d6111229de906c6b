"""The command line: ``polymeans COMMAND``.

Results go to the standard output, messages and errors to the standard error stream. An error is one
line with the reason and a hint. Exit codes: 0 done, 1 the command could not be carried out (a file,
its content, the disk), 2 the command line itself is wrong, 130 interrupted. Nothing heavy is
imported before a command runs.
"""

import argparse
from collections.abc import Sequence
from importlib import import_module
from typing import NoReturn

from polymeans._version import __version__
from polymeans.commands import COMMANDS
from polymeans.commands.errors import CommandError, UsageError
from polymeans.commands.terminal import note, silence_output
from polymeans.commands.wording import in_options


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Report like every other error, without a page of usage."""
        raise UsageError(message, f"{self.prog} --help")


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
    command = ""
    try:
        options = _parser().parse_args(argv)
        command = options.command
        options.run(options)
    except CommandError as error:
        return _refuse(error, str(error), error.hint)
    except KeyboardInterrupt:
        return 130
    except SystemExit as finished:  # --help and --version
        return int(finished.code or 0)
    except BrokenPipeError:  # whoever reads the output has seen enough
        silence_output()
        return 1
    except MemoryError:
        return _refuse(CommandError, "there is not enough memory", "rows in blocks: --memory 200M")
    except (ValueError, TypeError, NotImplementedError, ImportError, OSError) as error:
        # The library's own words: they name the parameter, the value and a remedy.
        text = " ".join(str(error).split()) or type(error).__name__
        return _refuse(CommandError, in_options(text, command), f"polymeans {command} --help")
    return 0


def _refuse(error: type[CommandError] | CommandError, message: str, hint: str) -> int:
    note(f"polymeans: error: {' '.join(message.split())} (hint: {' '.join(hint.split())})")
    return error.exit_code


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="polymeans", description="k-means with structure, exact and fast.")
    parser.add_argument("--version", action="version", version=f"polymeans {__version__}")
    commands = parser.add_subparsers(
        title="commands", dest="command", metavar="COMMAND", required=True
    )
    for name in COMMANDS:
        import_module(f"polymeans.commands.{name}").add(commands)
    return parser
