"""Errors of the command line: one line that says what is wrong, and what to do."""


class CommandError(Exception):
    """A command that could not be carried out.

    Parameters
    ----------
    message : str
        The reason.
    hint : str
        What to do instead.
    """

    #: What the process ends with.
    exit_code = 1

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


class UsageError(CommandError):
    """A command line that is wrong, whatever the files are."""

    exit_code = 2
