"""How rows for a model are made of a table: columns, scaling, tf-idf. It is kept with the model."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymeans.commands.blocks import mapped, mean_and_scale
from polymeans.commands.errors import CommandError
from polymeans.commands.readers.table import Request, Table
from polymeans.persistence import ModelFileError
from polymeans.persistence.files import Parts

#: Words of the vocabulary at most, the most frequent ones; those in more than this share of the
#: texts say little about any of them.
_MOST_WORDS, _MOST_TEXTS = 50_000, 0.5

#: Texts from which on a word has to occur twice.
_MANY_TEXTS = 100


@dataclass(frozen=True)
class Recipe:
    """Everything that ``predict`` needs besides the model."""

    columns: list[str] | None = None  #: names of the columns, where the file has names
    mean: NDArray[np.float64] | None = None
    scale: NDArray[np.float64] | None = None
    text: str | None = None  #: name of the column of texts
    words: list[str] | None = None  #: the vocabulary, in the order of the features
    idf: NDArray[np.float64] | None = None
    first_feature: int | None = None  #: number of the first feature in svm files

    @property
    def feature_names(self) -> list[str] | None:
        """Names of the model's features, if they have some."""
        return self.words if self.words is not None else self.columns

    def request(self, n_features: int, beside: str | None = None) -> Request:
        """What to read for a model that was fitted with this recipe."""
        return Request(
            columns=None if self.text is not None else self.columns,
            text=self.text,
            beside=beside,
            n_features=n_features,
            first_feature=self.first_feature,
        )

    def rows(self, table: Table) -> Any:
        """Rows as the model takes them."""
        if self.text is not None:
            assert self.idf is not None
            vectorizer = _vectorizer(vocabulary=self.words)
            vectorizer.idf_ = self.idf
            return vectorizer.transform(table.texts)
        if self.scale is None:
            return table.rows
        return mapped(table.rows, scaling=(self.mean, self.scale))

    def to_parts(self) -> Parts:
        """Arrays and values that a model file keeps."""
        arrays = {"mean": self.mean, "scale": self.scale, "idf": self.idf}
        values = {
            "columns": self.columns,
            "text": self.text,
            "words": self.words,
            "first_feature": self.first_feature,
        }
        return {name: array for name, array in arrays.items() if array is not None}, values

    @classmethod
    def from_parts(cls, parts: Parts | None, n_features: int) -> "Recipe":
        """The recipe of a model file, after it was checked."""
        if parts is None:  # saved by a program: rows are taken as they are
            return cls()
        arrays, values = parts
        recipe = cls(
            columns=values.get("columns"),
            text=values.get("text"),
            words=values.get("words"),
            first_feature=values.get("first_feature"),
            **{name: arrays.get(name) for name in ("mean", "scale", "idf")},
        )
        recipe._check(n_features)
        return recipe

    def _check(self, n_features: int) -> None:
        wrong = ModelFileError("The model's recipe for rows is not consistent.")
        for names in (self.columns, self.words):
            if names is not None and not (
                isinstance(names, list)
                and len(names) == n_features
                and all(isinstance(name, str) for name in names)
            ):
                raise wrong
        for array in (self.mean, self.scale, self.idf):
            if array is not None and (
                array.shape != (n_features,)
                or array.dtype != np.float64
                or not np.isfinite(array).all()
            ):
                raise wrong
        if self.scale is not None and not (self.scale > 0).all():
            raise wrong
        if self.text is not None and (
            not isinstance(self.text, str) or self.words is None or self.idf is None
        ):
            raise wrong
        if self.words is not None and len(set(self.words)) != len(self.words):
            raise wrong
        if self.first_feature not in (None, 0, 1):
            raise wrong


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
    return recipe, recipe.rows(table)


def _recipe_of_texts(column: str, texts: list[str]) -> tuple[Recipe, Any]:
    many = len(texts) >= _MANY_TEXTS
    vectorizer = _vectorizer(
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


def _vectorizer(**settings: Any) -> Any:
    from sklearn.feature_extraction.text import TfidfVectorizer

    return TfidfVectorizer(sublinear_tf=True, **settings)
