"""Data made to order, for examples and tests that must run offline."""

from polymeans.datasets.documents import make_documents

__all__ = ["make_documents"]
