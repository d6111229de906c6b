"""Model files: fitted estimators as arrays and JSON, and as ONNX graphs.

Modules here may import every estimator, and take each apart through ``__getstate__``. A file holds
no code; :mod:`polymeans.persistence.layout` reads bytes, :mod:`polymeans.persistence.plain` turns
JSON into values, :mod:`polymeans.persistence.schema` checks them against each other. The package
``onnx`` is imported only by :mod:`polymeans.persistence.onnx`, when it is called.
"""

from polymeans.persistence.errors import ModelFileError
from polymeans.persistence.files import load, save
from polymeans.persistence.onnx import export_onnx

__all__ = ["ModelFileError", "export_onnx", "load", "save"]
