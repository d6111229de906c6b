"""Differential privacy: rows of bounded length, and noise on every total that leaves a site.

In each of a fixed number of rounds a site releases counts and sums of its rows, clipped to a ball.
One row more or less changes one count by 1 and one sum by at most the radius (p sums, and so
``sqrt(p)`` times the radius, where centroids are made of p protocentroids). Gaussian noise of
standard deviation ``sigma`` on a quantity of sensitivity ``s`` is ``s² / (2 sigma²)``-zCDP, and
budgets of several releases add up.

**Protects against** anybody who sees everything that a site sends, the server included, and wants
to know whether some row is among its rows. **Does not protect** the number of rows of a site, which
it announces, nor groups of rows or persons with many rows (divide ``rho`` by the square of their
number). Ordinary floating-point generators draw the noise, rounded to the grid of the sums; attacks
on the last bits of such noise are not covered.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polymeans._validation import check_integer, check_positive

#: Share of a round's budget that goes to the counts. Sums have as many noisy entries as there are
#: features, counts a single one that all of these are divided by.
_COUNT_SHARE = 0.25

#: Bits between the radius and the grid that clipped rows are rounded to.
GRID_BITS = 24


@dataclass(frozen=True)
class Privacy:
    """A budget for everything that a site releases in one run.

    Parameters
    ----------
    radius : float
        Rows longer than this are shortened to it. Choose it without looking at the rows.
    rho : float
        Budget of zero-concentrated differential privacy for the whole run. It implies
        ``(rho + 2 sqrt(rho log(1 / delta)), delta)``-differential privacy for every ``delta``.
    rounds : int
        Rounds of the run, which all take place: stopping early would depend on the rows.

    See Also
    --------
    Rules : What else a site insists on.
    simulate : Takes it as ``privacy``.

    Examples
    --------
    >>> import numpy as np
    >>> from polymeans import KMeans
    >>> from polymeans.federated import Privacy, simulate
    >>> X = np.random.default_rng(0).normal(size=(300, 2)).astype(np.float32)
    >>> X[:100] += 5
    >>> privacy = Privacy(radius=8.0, rho=50.0, rounds=5)
    >>> sites = [X[::2], X[1::2]]
    >>> run = simulate(KMeans(3, random_state=0), sites, privacy=privacy, random_state=0)
    >>> run.model.cluster_centers_.shape
    (3, 2)
    """

    radius: float
    rho: float
    rounds: int = 10

    def __post_init__(self) -> None:
        check_positive("radius", self.radius)
        check_positive("rho", self.rho)
        check_integer("rounds", self.rounds, 1)

    def epsilon(self, delta: float = 1e-6) -> float:
        """The ``epsilon`` of ``(epsilon, delta)``-differential privacy that the budget implies.

        Parameters
        ----------
        delta : float, default=1e-6
            Between 0 and 1.

        Returns
        -------
        epsilon : float
            For the whole run.
        """
        return self.rho + 2 * float(np.sqrt(self.rho * np.log(1 / delta)))

    @property
    def count_scale(self) -> float:
        """Standard deviation of the noise on each count."""
        return float(np.sqrt(self.rounds / (2 * _COUNT_SHARE * self.rho)))

    def sum_scale(self, n_sets: int = 1) -> float:
        """Standard deviation of the noise on each entry of a sum.

        Parameters
        ----------
        n_sets : int, default=1
            Protocentroids that a centroid is made of.

        Returns
        -------
        scale : float
            In the units of the rows.
        """
        share = 1 - _COUNT_SHARE
        return self.radius * float(np.sqrt(n_sets * self.rounds / (2 * share * self.rho)))

    @property
    def grid(self) -> float:
        """Rows are rounded to multiples of this power of two, so that sums of them are exact."""
        return float(2.0 ** (np.ceil(np.log2(self.radius)) - GRID_BITS))

    def clipped(self, rows: NDArray[np.floating]) -> NDArray[np.float64]:
        """Rows within the ball, on the grid.

        Parameters
        ----------
        rows : ndarray of shape (n_samples, n_features)
            They are not changed.

        Returns
        -------
        clipped : ndarray of shape (n_samples, n_features)
            Longer rows are shortened to the radius.
        """
        wide = rows.astype(np.float64)
        largest = np.abs(wide).max(axis=1, initial=0.0)
        scale = np.where(largest > 0, largest, 1.0)
        lengths = scale * np.linalg.norm(wide / scale[:, None], axis=1)
        shorter = np.minimum(1.0, self.radius / np.maximum(lengths, np.finfo(np.float64).tiny))
        # Towards zero: rounding must not make a row longer than the radius.
        return np.trunc(wide * shorter[:, None] / self.grid) * self.grid


def noise(scale: float, shape: tuple[int, ...], rng: np.random.Generator) -> NDArray[np.int64]:
    """Gaussian noise rounded to integers, which adding to integers makes no difference to."""
    return np.rint(rng.normal(0.0, scale, shape)).astype(np.int64)
