"""The step before a model that was fitted to a table: it makes rows by the recipe of the file."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.pipeline import Pipeline

from polymeans._rows import is_blocks, is_dask, on_dask
from polymeans._validation import check_rows, match_features, shown
from polymeans.blocks.checked import check_blocks
from polymeans.persistence.recipe import Recipe
from polymeans.persistence.scaled_rows import mapped


class TableRows(  # type: ignore[call-arg]
    TransformerMixin, BaseEstimator, auto_wrap_output_keys=None
):
    """Rows as a model takes them, made of a table as the command line has read it.

    Parameters
    ----------
    recipe : Recipe
        That changes rows: scaled columns, or tf-idf of texts.

    Notes
    -----
    The recipe belongs to the model behind it, so ``fit`` changes nothing. Of a frame, the columns
    of the fit are taken, in any order and with others beside them.
    """

    def __init__(self, recipe: Recipe) -> None:
        self.recipe = recipe

    def fit(self, X: Any = None, y: Any = None) -> "TableRows":
        """Return the step as it is: the recipe is known."""
        return self

    def transform(self, X: Any) -> Any:
        """Rows for the model.

        Parameters
        ----------
        X : frame, array-like, CSR, Blocks or Dask collection; of texts a frame or a sequence of str

        Returns
        -------
        rows : ndarray, CSR or Blocks
        """
        if self.recipe.text is not None:
            return self.recipe.weighted(_texts(X, self.recipe.text))
        if is_dask(X):
            X = on_dask().as_blocks(X)
        if is_blocks(X):
            return self.recipe.scaled(self._chosen_blocks(check_blocks(X)))
        return self.recipe.scaled(check_rows(self, self._chosen(X), reset=False))

    def _chosen(self, X: Any) -> Any:
        """The columns of the fit, of a frame that has all of them."""
        known, given = self.recipe.columns, _names(X)
        if known is None or given is None or given == known or set(known) - set(given):
            return X  # what is missing is said by the check
        return X.select(known) if hasattr(X, "column_names") else X[known]

    def _chosen_blocks(self, blocks: Any) -> Any:
        known, given = self.recipe.columns, blocks.feature_names
        if known is not None and given is not None and not set(known) - set(given):
            return mapped(blocks, [list(given).index(name) for name in known])
        match_features(self, blocks.n_features, given, reset=False)
        return blocks

    @property
    def n_features_in_(self) -> int:
        """Number of columns."""
        if self.recipe.scale is None:
            raise AttributeError("Texts have no number of features.")
        return len(self.recipe.scale)

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """Names of the columns, if they have some."""
        if self.recipe.text is not None or self.recipe.columns is None:
            raise AttributeError("The columns of the fit had no names.")
        return np.array(self.recipe.columns, dtype=object)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Names of the features that the model gets: columns or words."""
        names = self.recipe.feature_names
        if names is None:
            names = [f"x{i}" for i in range(self.n_features_in_)]
        return np.array(names, dtype=object)

    def set_output(self, *, transform: Any = None) -> "TableRows":
        """Return the step as it is: the model behind it takes rows without names."""
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = self.recipe.text is not None
        tags.input_tags.sparse = self.recipe.text is None and self.recipe.mean is None
        tags.requires_fit = False
        return tags


def with_recipe(model: Any, recipe: Recipe) -> Any:
    """A model that takes rows of the table it was fitted to.

    Parameters
    ----------
    model : estimator
    recipe : Recipe

    Returns
    -------
    model : estimator or Pipeline
        The estimator with the names of its columns, or, where rows have to be changed, a Pipeline
        of the steps "rows" and "model".
    """
    if recipe.changes_rows:
        return Pipeline([("rows", TableRows(recipe)), ("model", model)])
    if recipe.columns is not None and not hasattr(model, "feature_names_in_"):
        model.feature_names_in_ = np.array(recipe.columns, dtype=object)
    return model


def taken_apart(model: Any) -> tuple[Any, Recipe | None]:
    """The estimator and the recipe of what :func:`with_recipe` has returned."""
    steps = [step for _, step in model.steps] if type(model) is Pipeline else []
    if len(steps) == 2 and type(steps[0]) is TableRows:
        return steps[1], steps[0].recipe
    return model, None


def _names(X: Any) -> list[str] | None:
    """Names of the columns of a frame."""
    names = getattr(X, "column_names", getattr(X, "columns", None))  # of Arrow; of others
    if names is None or not hasattr(X, "__getitem__"):
        return None
    names = list(names)
    return names if all(isinstance(name, str) for name in names) else None


def _texts(X: Any, column: str) -> list[str]:
    """The texts of a frame's column, or of a sequence."""
    names = _names(X)
    if names is not None:
        if column not in names:
            raise ValueError(
                f"X has no column {column!r}, whose texts the model was fitted to; its columns "
                f"are {names[:8]}. Pass a frame with this column, or a list of texts."
            )
        X = X[column]
        X = X.to_pylist() if hasattr(X, "to_pylist") else X
    if isinstance(X, str | bytes) or not np.iterable(X) or getattr(X, "ndim", 1) != 1:
        raise ValueError(
            f"X must be a sequence of texts or a frame with a column {column!r}, got {shown(X)}. "
            "Pass a list of str."
        )
    texts = list(X)
    for i, text in enumerate(texts):
        if not isinstance(text, str):
            raise ValueError(
                f"X must hold texts, got {shown(text)} in row {i}. Fill missing texts with ''."
            )
    return texts
