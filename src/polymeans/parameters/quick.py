"""Checks of the parameters of QuickKMeans beyond those of plain k-means."""

from typing import Any

from polymeans._validation import (
    MOST_EFFORT,
    check_boolean,
    check_choice,
    check_integer,
    check_positive,
    is_name,
)
from polymeans.factorization._checks import check_n_factors
from polymeans.factorization.factorize import METHODS

CENTERS = ("factored", "means")
OFFSETS = ("auto", "zero", "median")


def check_parameters(model: Any) -> None:
    """Raise if a parameter cannot be used, whatever the rows are."""
    check_integer("sparsity_level", model.sparsity_level, 1)
    check_choice("method", model.method, METHODS)
    check_choice("centers", model.centers, CENTERS)
    check_choice("offset", model.offset, OFFSETS)
    if not is_name(model.n_factors, "auto"):
        check_n_factors(model.n_factors)
    check_positive("effort", model.effort, largest=MOST_EFFORT)
    check_boolean("refit", model.refit)
    if model.n_nonzeros is not None:
        check_integer("n_nonzeros", model.n_nonzeros, 2, "Each factor needs an entry.")
        if model.method == "palm4msa":
            raise ValueError(
                f'n_nonzeros={model.n_nonzeros} was given, but method="palm4msa" counts entries '
                'of rows and columns. Use sparsity_level, or method="select".'
            )
