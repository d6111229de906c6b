"""Cases of a grid that only the long run looks at."""

from typing import Any

import pytest


def long(*values: Any) -> list[Any]:
    """Values for ``pytest.mark.parametrize`` that are left to ``pytest -m long``."""
    return [pytest.param(value, marks=pytest.mark.long) for value in values]
