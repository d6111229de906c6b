"""Matrices as products of sparse factors: how to find the factors, and how to apply them fast."""

from polymeans.factorization.operator import FastOperator

__all__ = ["FastOperator"]
