"""Matrices as products of sparse factors."""

from polymeans.factorization.budget import guaranteed_n_nonzeros, published_n_factors
from polymeans.factorization.chain_refit import refit
from polymeans.factorization.chain_selection import prune_and_grow
from polymeans.factorization.factorize import factorize
from polymeans.factorization.hierarchical import hierarchical_palm4msa
from polymeans.factorization.operator import FastOperator
from polymeans.factorization.palm4msa import palm4msa
from polymeans.factorization.projection import project_rows_and_columns
from polymeans.factorization.result import Factorization

__all__ = [
    "Factorization",
    "FastOperator",
    "factorize",
    "guaranteed_n_nonzeros",
    "hierarchical_palm4msa",
    "palm4msa",
    "project_rows_and_columns",
    "prune_and_grow",
    "published_n_factors",
    "refit",
]
