"""Generators of data with known structure, for examples and tests that run offline.

Modules here import no estimator.
"""

from polymeans.datasets.documents import make_documents
from polymeans.datasets.images import (
    make_colored_letters,
    make_double_digits,
    make_stick_figures,
)
from polymeans.datasets.khatri_rao import make_khatri_rao
from polymeans.datasets.nonredundant import make_nonredundant
from polymeans.datasets.posts import make_posts

__all__ = [
    "make_colored_letters",
    "make_documents",
    "make_double_digits",
    "make_khatri_rao",
    "make_nonredundant",
    "make_posts",
    "make_stick_figures",
]
