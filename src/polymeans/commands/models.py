"""Models of the command line: read with their recipe, and applied to a file of rows."""

import warnings
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from polymeans.commands.errors import CommandError
from polymeans.commands.readers import open_table
from polymeans.commands.readers.table import Table
from polymeans.commands.recipe import request_of, rows_of
from polymeans.persistence import ModelFileError
from polymeans.persistence.files import read_model
from polymeans.persistence.recipe import Recipe


@dataclass(frozen=True)
class Applied:
    """A model, and rows for it."""

    model: Any
    recipe: Recipe
    table: Table
    rows: Any


@contextmanager
def model_and_rows(options: Namespace, beside: str | None = None) -> Iterator[Applied]:
    """The model and the rows that the options of a command name.

    Parameters
    ----------
    options : Namespace
    beside : str or None, default=None
        A column that is wanted beside the rows.

    Yields
    ------
    Applied
    """
    model, recipe = read(options)
    n_features = int(model.n_features_in_)
    with open_table(options, request_of(recipe, n_features, beside)) as table:
        rows = rows_of(recipe, table)
        width = int(getattr(rows, "n_features", None) or rows.shape[1])
        if width != n_features:
            raise CommandError(
                f"{options.data} has {width} columns, and the model {n_features}",
                "use rows of the same kind as those of the fit",
            )
        with unnamed():
            yield Applied(model, recipe, table, rows)


def read(options: Namespace) -> tuple[Any, Recipe]:
    """The model of a command, and its recipe."""
    try:
        loaded = read_model(options.model)
        if options.threads is not None:
            loaded.model.set_params(n_threads=options.threads)
        return loaded.model, Recipe.from_parts(loaded.recipe, int(loaded.model.n_features_in_))
    except ModelFileError as error:
        raise CommandError(
            str(error), f"give {_option(options)} a file that polymeans fit has written"
        ) from None
    except OSError as error:
        raise CommandError(
            f"cannot read {options.model}: {error.strerror}", f"check {_option(options)}"
        ) from None


def _option(options: Namespace) -> str:
    """What a model is given as: ``info`` has nothing else, other commands also have rows."""
    return "--model" if hasattr(options, "data") else "MODEL"


@contextmanager
def unnamed() -> Iterator[None]:
    """Rows of files are compared by their columns here, not by names that scikit-learn knows."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names", UserWarning)
        yield
