"""Recipes of the command line: made of a table that is fitted, applied to another one."""

from dataclasses import replace
from typing import Any

import numpy as np

from polymeans.commands.blocks import mean_and_scale
from polymeans.commands.errors import CommandError
from polymeans.commands.readers.table import Request, Table
from polymeans.persistence.recipe import Recipe, make_vectorizer

#: Words of the vocabulary at most, the most frequent ones; those in more than this share of the
#: texts say little about any of them.
_MOST_WORDS, _MOST_TEXTS = 50_000, 0.5

#: Texts from which on a word has to occur twice.
_MANY_TEXTS = 100


def request_of(recipe: Recipe, n_features: int, beside: str | None = None) -> Request:
    """What to read for a model that was fitted with this recipe."""
    return Request(
        columns=None if recipe.text is not None else recipe.columns,
        text=recipe.text,
        beside=beside,
        n_features=n_features,
        first_feature=recipe.first_feature,
    )


def rows_of(recipe: Recipe, table: Table) -> Any:
    """Rows of a table as the model takes them."""
    return recipe.scaled(table.rows) if recipe.text is None else recipe.weighted(table.texts)


def make_recipe(table: Table, request: Request, scale: bool) -> tuple[Recipe, Any]:
    """The recipe for a fit, and its rows.

    Parameters
    ----------
    table : Table
    request : Request
        What the table was asked for.
    scale : bool
        Whether to give columns mean 0 and variance 1.

    Returns
    -------
    recipe : Recipe
    rows : array, CSR matrix or Blocks
    """
    if request.text is not None:
        assert table.texts is not None
        return _recipe_of_texts(request.text, table.texts)
    columns = table.names if table.names is not None else request.columns
    recipe = Recipe(columns=columns, first_feature=table.first_feature)
    if scale:
        mean, deviation = mean_and_scale(table.rows)
        recipe = replace(recipe, mean=mean, scale=deviation)
    return recipe, rows_of(recipe, table)


def _recipe_of_texts(column: str, texts: list[str]) -> tuple[Recipe, Any]:
    many = len(texts) >= _MANY_TEXTS
    vectorizer = make_vectorizer(
        max_features=_MOST_WORDS,
        min_df=2 if many else 1,
        max_df=_MOST_TEXTS if many else 1.0,
    )
    try:
        rows = vectorizer.fit_transform(texts)
    except ValueError as error:
        raise CommandError(
            f"column {column!r} has no words to cluster by: {str(error).splitlines()[0]}",
            "are these texts, of more than a few words?",
        ) from None
    words = [str(word) for word in vectorizer.get_feature_names_out()]
    return Recipe(text=column, words=words, idf=np.asarray(vectorizer.idf_, np.float64)), rows
