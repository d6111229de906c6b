"""What runners ask of an assigner, which gives rows their labels."""

from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from polymeans.engine.changes import Change

#: What an assigner reads of a codebook.
Read = TypeVar("Read", contravariant=True)


class Assigner(Protocol[Read]):
    """What the local runner calls of an assigner."""

    def assign(
        self, codebook: Read, previous: NDArray[np.int32], labels: NDArray[np.int32]
    ) -> None:
        """Write every row's label, given those of the last call (-1: none).

        Labels that rounding could have decided are written as ``-2 - label``; see
        :mod:`polymeans.engine.nearest`.
        """

    def follow(self, codebook: Read, change: Change, drift: NDArray[np.float64]) -> None:
        """Take note that the codebook was refitted."""

    def forget(self, moved_rows: NDArray[np.integer]) -> None:
        """Take note that these rows' labels were changed."""

    def confirm(self, explicit: Read, labels: NDArray[np.int32]) -> None:
        """Correct labels just assigned for the explicit form of the same codebook."""
