"""Labels as a column of the frame that was clustered."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymeans._validation import shown
from polymeans.inspection._row_parts import last_step


def assign(model: Any, frame: Any, column: str = "cluster") -> Any:
    """The frame with the cluster of each row as a further column.

    **Idea.** ``predict`` returns an array. People who work with frames want it beside their
    columns, in a frame of the same library.

    **Use when** rows are a pandas or polars frame, which may have more columns than the model was
    fitted with: those are kept and not looked at. **Do not use** for arrays: ``model.predict(X)``
    has the labels.

    **Cost.** Labels of the rows, and a frame that shares its other columns where the library does.

    Parameters
    ----------
    model : estimator
        A fitted clustering, or a Pipeline that ends in one.
    frame : DataFrame of pandas or polars
        Rows, with the columns of the fit.
    column : str, default="cluster"
        Name of the new column. With :class:`NonRedundantKMeans` there is one for each view, with
        its number at the end.

    Returns
    -------
    frame : DataFrame
        A new frame of the same library; the given one is not changed.

    See Also
    --------
    relabel : Clusters in the order of size, so that columns of two fits can be compared.
    describe : A table of the clusters themselves.

    Examples
    --------
    >>> import pandas as pd
    >>> from polymeans import KMeans, assign
    >>> frame = pd.DataFrame({"name": list("abcd"), "x": [0.0, 1.0, 8.0, 9.0]})
    >>> model = KMeans(2, random_state=0).fit(frame[["x"]])
    >>> assign(model, frame)["cluster"].tolist()
    [1, 1, 0, 0]
    """
    if not isinstance(column, str):
        raise TypeError(f"column must be a name, got {shown(column)}.")
    library = type(frame).__module__.partition(".")[0]
    if library not in ("pandas", "polars") or not hasattr(frame, "columns"):
        raise TypeError(
            f"frame must be a DataFrame of pandas or polars, got {type(frame).__name__}. Labels of "
            "other rows are what model.predict returns."
        )
    last = last_step(model)
    rows = _fitted_columns(model, frame)
    labels = {column: np.asarray(model.predict(rows))}
    if getattr(last, "n_views_", 0):
        labels = _views(model, last, rows, column)
    taken = [name for name in labels if name in list(frame.columns)]
    if taken:
        raise ValueError(
            f"column={column!r} would replace {taken} of the frame. Choose another name, or drop "
            "that column first."
        )
    if library == "pandas":
        return frame.assign(**labels)
    from importlib import import_module

    polars = import_module("polars")
    return frame.with_columns([polars.Series(name, values) for name, values in labels.items()])


def _fitted_columns(model: Any, frame: Any) -> Any:
    """The columns of the fit, where the model knows them."""
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        return frame
    missing = [name for name in names if name not in list(frame.columns)]
    if missing:
        raise ValueError(
            f"frame lacks columns of the fit: {missing[:5]} (at most five are shown). Give the "
            "frame that was clustered, or one with the same columns."
        )
    return frame[list(names)]


def _views(model: Any, last: Any, rows: Any, column: str) -> dict[str, NDArray[Any]]:
    if hasattr(model, "steps") and len(model.steps) > 1:
        rows = model[:-1].transform(rows)
    labels = np.asarray(last.predict_views(rows))
    return {f"{column}{s}": np.ascontiguousarray(part) for s, part in enumerate(labels.T)}
