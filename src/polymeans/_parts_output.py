"""``set_output`` for rows in parts: a frame for each block, and none for Dask collections."""

import functools
from collections.abc import Callable
from typing import Any

from polymeans._rows import is_in_parts


class OutputOfParts:
    """Mixin before scikit-learn's: what it makes of one array, it must not make of an iterator.

    scikit-learn wraps ``transform`` and ``fit_transform`` of each class, so that they return a
    frame where ``set_output`` asks for one. For blocks these methods return an iterator, whose
    arrays :meth:`transform <polymeans._base.CentroidEstimator.transform>` brings into that form
    itself. For Dask collections they return a Dask array, which a frame would load as a whole.
    """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)  # scikit-learn wraps here
        for name in ("transform", "fit_transform"):
            if name in vars(cls):
                setattr(cls, name, _unwrapped_for_parts(vars(cls)[name]))


def _unwrapped_for_parts(wrapped: Callable[..., Any]) -> Callable[..., Any]:
    plain = wrapped.__wrapped__  # type: ignore[attr-defined]

    @functools.wraps(plain)
    def method(self: Any, X: Any, *args: Any, **options: Any) -> Any:
        return (plain if is_in_parts(X) else wrapped)(self, X, *args, **options)

    return method
