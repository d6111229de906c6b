"""What assigners have in common that look at everything each time."""

import numpy as np
from numpy.typing import NDArray

from polymeans.engine.changes import Change


class StatelessAssigner:
    """Remembers nothing from one call to the next, so there is nothing to bring up to date."""

    def follow(self, codebook: object, change: Change, drift: NDArray[np.float64]) -> None:
        """The centroids moved; nothing is kept that depends on them."""

    def forget(self, moved_rows: NDArray[np.integer]) -> None:
        """Some labels were changed from outside; nothing to forget here."""

    def confirm(self, explicit: object, labels: NDArray[np.int32]) -> None:
        """Correct labels for the codebook's explicit form, which is the one they are for."""
