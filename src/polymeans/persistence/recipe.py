"""How rows for a model are made of a table: columns, scaling, tf-idf. It is kept with the model.

The command line makes a recipe when it fits; commands and :func:`polymeans.load` apply it.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymeans.persistence.errors import ModelFileError
from polymeans.persistence.scaled_rows import mapped

#: Arrays and values, as a model file keeps them.
Parts = tuple[dict[str, NDArray[Any]], dict[str, Any]]


@dataclass(frozen=True, eq=False, repr=False)
class Recipe:
    """Everything that ``predict`` needs besides the model."""

    columns: list[str] | None = None  #: names of the columns, where the file has names
    mean: NDArray[np.float64] | None = None
    scale: NDArray[np.float64] | None = None
    text: str | None = None  #: name of the column of texts
    words: list[str] | None = None  #: the vocabulary, in the order of the features
    idf: NDArray[np.float64] | None = None
    first_feature: int | None = None  #: number of the first feature in svm files

    def __repr__(self) -> str:
        """What it does, without its arrays."""
        if self.text is not None:
            return f"<recipe: tf-idf of {self.text!r:.80}, {len(self.words or ())} words>"
        return f"<recipe: {'scaled' if self.changes_rows else 'unchanged'} columns>"

    @property
    def changes_rows(self) -> bool:
        """Whether a model's rows are others than those of the table."""
        return self.text is not None or self.scale is not None

    @property
    def feature_names(self) -> list[str] | None:
        """Names of the model's features, if they have some."""
        return self.words if self.words is not None else self.columns

    def scaled(self, rows: Any) -> Any:
        """Numbers of the columns as the model takes them."""
        if self.scale is None:
            return rows
        return mapped(rows, scaling=(self.mean, self.scale))

    def weighted(self, texts: Any) -> Any:
        """Texts as the model takes them: tf-idf."""
        return self._vectorizer.transform(texts)

    @cached_property
    def _vectorizer(self) -> Any:
        vectorizer = make_vectorizer(vocabulary=self.words)
        vectorizer.idf_ = self.idf
        return vectorizer

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


def make_vectorizer(**settings: Any) -> Any:
    """The tf-idf of the command line, not yet fitted."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    return TfidfVectorizer(sublinear_tf=True, **settings)
