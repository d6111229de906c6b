"""Data made to order, for examples and tests that must run offline."""

from polymeans.datasets.documents import make_documents
from polymeans.datasets.khatri_rao import make_double_digits, make_khatri_rao, make_stick_figures
from polymeans.datasets.nonredundant import make_colored_letters, make_nonredundant
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
