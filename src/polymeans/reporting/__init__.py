"""Reports of fitted clusterings.

``summary.py`` computes the content once, as plain data; ``schema.py`` describes it as a JSON
schema. ``html*.py`` and ``markdown.py`` write it and know nothing else: they import no estimator.
``assets`` has the style sheet and the script of the page. Everything here is written with the
standard library and numpy; pages load nothing.
"""

from polymeans.reporting.report import Report, report
from polymeans.reporting.schema import SCHEMA

__all__ = ["SCHEMA", "Report", "report"]
