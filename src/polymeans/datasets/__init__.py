"""Data made to order, for examples and tests that must run offline."""

from polymeans.datasets.documents import make_documents
from polymeans.datasets.khatri_rao import make_double_digits, make_khatri_rao, make_stick_figures

__all__ = ["make_documents", "make_double_digits", "make_khatri_rao", "make_stick_figures"]
