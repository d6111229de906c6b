"""Checks of the parameters of estimators that learn from batches."""

from typing import Any

from polymeans._validation import check_boolean, check_positive


def check_stream_parameters(model: Any) -> None:
    """Raise if ``half_life`` or ``warm_start`` cannot be used, whatever the rows are."""
    if model.half_life is not None:
        check_positive("half_life", model.half_life, "None: what was seen does not decay.")
    check_boolean("warm_start", model.warm_start)


def refuse_change(name: str, now: Any, fitted: Any) -> None:
    """Raise if a parameter differs from what the fitted centroids were made with."""
    if now != fitted:
        raise ValueError(
            f"{name}={now!r}, but the fitted centroids are of {name}={fitted!r}. Set it back to "
            "go on from them, or begin anew: with a clone of this estimator, or by fit with "
            "warm_start=False."
        )
