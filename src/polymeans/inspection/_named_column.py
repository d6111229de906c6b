"""``y`` as the name of a column of the rows themselves."""

from typing import Any

from polymeans._validation import shown


def take_column(model: Any, X: Any, y: Any) -> tuple[Any, Any]:
    """Rows, and values to compare clusters with, also where these are named as a column of X.

    Parameters
    ----------
    model : estimator
        Fitted.
    X : frame or other rows
    y : str or anything else
        Only a text is looked up, in a frame of pandas or polars.

    Returns
    -------
    X : frame or other rows
        Without the column, and without others that the fit has not seen.
    y : Series or anything else
    """
    if not isinstance(y, str):
        return X, y
    if type(X).__module__.partition(".")[0] not in ("pandas", "polars"):
        raise TypeError(
            f"y takes values, one for each row, got {shown(y)}. A name stands for a column of X "
            f"only if X is a frame of pandas or polars, not {type(X).__name__}: pass the values of "
            "the column."
        )
    columns = list(getattr(X, "columns", []))
    if y not in columns:
        raise ValueError(
            f"y={shown(y)} is no column of X, which has {shown(columns)}. Pass the name of one of "
            "them, or the values of another column, one for each row."
        )
    fitted = getattr(model, "feature_names_in_", None)
    used = columns if fitted is None and _n_features(model) == len(columns) else fitted
    if used is not None and y in list(used):
        raise ValueError(
            f"y={shown(y)} names a column that the model was fitted to. To compare clusters with "
            f"one of their own features, pass its values: y=X[{y!r}]."
        )
    kept = [name for name in columns if name != y]
    if fitted is not None and set(fitted) <= set(kept):
        kept = list(fitted)
    return X[kept], X[y]


def _n_features(model: Any) -> int | None:
    """Features of the fit; None if neither a Pipeline nor its steps know them."""
    try:
        return getattr(model, "n_features_in_", None)
    except AttributeError:  # a first step without it
        return None
