"""Rows in Parquet files."""

from typing import Any

from polymeans.commands.errors import CommandError
from polymeans.commands.options import some_names
from polymeans.commands.readers.arrays import held_or_blocks
from polymeans.commands.readers.table import Request, Table
from polymeans.commands.readers.unnamed import refuse_repeated, refuse_unnamed


def read_parquet(path: str, name: str, request: Request) -> Table:
    """Rows of a Parquet file, in memory or in blocks.

    Parameters
    ----------
    path : str
    name : str
        For errors.
    request : Request

    Returns
    -------
    Table
    """
    from polymeans.blocks import from_parquet
    from polymeans.blocks.extras import load

    parquet = load("pyarrow.parquet")
    try:
        schema = parquet.read_schema(path)
    except (ValueError, OSError) as error:  # ArrowInvalid is a ValueError
        raise CommandError(
            f"{name} is no Parquet file: {str(error).splitlines()[0]}",
            "say what it is with --format",
        ) from None
    aside = [column for column in (request.text, request.beside) if column is not None]
    for column in [*(request.columns or []), *aside]:
        if column not in schema.names:
            raise CommandError(
                f"{name} has no column {column!r}", f"columns are: {some_names(schema.names)}"
            )
    refuse_unnamed(schema.names, name, request)
    refuse_repeated(schema.names, name, "rename one, and write the file again")
    table = Table(
        texts=_texts(parquet, path, name, request.text),
        beside=_texts(parquet, path, name, request.beside),
    )
    wanted = request.columns
    if wanted is None and request.text is None:
        wanted = [column for column in schema.names if column not in aside]
    if wanted:
        try:
            blocks = from_parquet(path, columns=wanted)
            table.rows = held_or_blocks(blocks, request)
        except (TypeError, ValueError) as error:
            raise CommandError(
                f"{name}: {str(error).splitlines()[0]}",
                "choose columns of numbers with --columns, or texts with --text",
            ) from None
        names = blocks.feature_names
        table.names = wanted if names is None else list(names)
    if not table.n_samples:
        raise CommandError(f"{name} has no rows", "give a file with at least one row")
    return table


def _texts(parquet: Any, path: str, name: str, column: str | None) -> list[str] | None:
    if column is None:
        return None
    values = parquet.read_table(path, columns=[column])[column].to_pylist()
    return ["" if value is None else str(value) for value in values]
