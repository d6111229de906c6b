"""One sweep of palm4MSA: a projected gradient step for each factor of a chain.

With everything but factor q fixed, the product is ``L T R``, where ``T = scale S_q``, L is what
stands left of it and R what stands right. The gradient of half the squared error is

    L' (L T R - U) R'  =  (L'L) T (RR') - L' U R'

whose parts are small and change little from one factor to the next. Factors are updated from right
to left; no product of the size of the target is formed but with the rightmost factor.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from polymeans.factorization._products import FromRight, dense, from_left, sparse_if_faster
from polymeans.factorization.projection import Projection

#: Factor by which a step is shorter than the gradient's Lipschitz constant allows, as published.
_CAUTION = 1.001

#: Factor by which a step is shortened while new supports raise the error. A usual value of line
#: searches; from the longest step to the published one it takes a few tries.
_SHORTENED = 0.25

#: Iterations and relative tolerance of the spectral norms. The tolerance is far below ``_CAUTION``;
#: few iterations are needed, since norms change little between sweeps.
_POWER_ITERATIONS, _POWER_TOL = 100, 1e-6

_Matrix = NDArray[np.float64]


class Chain(NamedTuple):
    """Factors of Frobenius norm 1 (or 0), and the scale of their product."""

    factors: list[_Matrix]
    scale: float


class PalmSteps:
    """Gradient steps of all factors of a chain, with the projection of each.

    Parameters
    ----------
    target : ndarray of shape (k, d)
    chain : Chain
    limits : list of (int, int)
        Entries to keep per row and per column of each factor.
    step : {"line_search", "lipschitz"}
    """

    def __init__(
        self, target: _Matrix, chain: Chain, limits: list[tuple[int, int]], step: str
    ) -> None:
        self.target, self.total = target, float(np.sum(target**2))
        self.factors, self.scale = list(chain.factors), chain.scale
        self.supports = [factor != 0 for factor in self.factors]
        self.line_search = step == "line_search"
        self.projections = [
            Projection(factor.shape, *limit)
            for factor, limit in zip(self.factors, limits, strict=True)
        ]
        self._norms = [(_Norm(), _Norm()) for _ in self.factors]

    def sweep(self) -> float:
        """Update all factors from right to left, then the scale; the squared error."""
        left, grams = from_left(self.factors)
        right = FromRight(self.target)
        for q in range(len(self.factors) - 1, -1, -1):
            self._update(q, grams[q], right.gram, right.toward(left[q]))
            if q:
                right.pass_over(self.factors[q])
        # <U, V> and <V, V> for the product V of the unit factors.
        first = self.factors[0]
        agreement = float(np.vdot(first, right.cross))
        size = float(np.vdot(sparse_if_faster(first) @ right.gram, first))
        if size > 0:
            self.scale = agreement / size
        error = self.total - self.scale * (2.0 * agreement - self.scale * size)
        return max(error, 0.0)

    def _update(self, q: int, left: _Matrix | None, right: _Matrix | None, toward: _Matrix) -> None:
        """One step of factor q, given L'L, RR' and L'UR'."""
        present = self.scale * self.factors[q]
        gradient = sparse_if_faster(present) if left is None else left @ sparse_if_faster(present)
        gradient = dense(gradient if right is None else gradient @ right) - toward
        norms = self._norms[q]
        curvature = norms[0].squared(left) * norms[1].squared(right)
        if not curvature > 0.0:
            return  # the product does not depend on this factor
        if self.line_search:
            found = self._search(q, left, right, present, gradient, curvature)
        else:
            found = present - gradient / (_CAUTION * curvature)
            keep = self.projections[q].support(found)
            found, self.supports[q] = np.where(keep, found, 0.0), keep
        norm = float(np.linalg.norm(found))
        if not norm > 0.0:
            self.factors[q] = found
            return
        if self.line_search:
            self.scale = norm
        elif self.scale < 0.0:
            norm = -norm
        self.factors[q] = found / norm

    def _search(
        self,
        q: int,
        left: _Matrix | None,
        right: _Matrix | None,
        present: _Matrix,
        gradient: _Matrix,
        curvature: float,
    ) -> _Matrix:
        """Where the step leads that is best on the present support, or a shorter one."""
        projection, support = self.projections[q], self.supports[q]
        if not support.any():
            support = projection.support(gradient)
        along = np.where(support, gradient, 0.0)
        bend = _bend(left, along, right)
        shortest = 1.0 / (_CAUTION * curvature)
        length = float(np.vdot(along, along)) / bend if bend > 0.0 else shortest
        length = max(length, shortest)
        while True:
            found = present - length * gradient
            keep = projection.support(found)
            found = np.where(keep, found, 0.0)
            if np.array_equal(keep, support):
                break
            move = found - present
            slope = float(np.vdot(gradient, move))
            if slope + 0.5 * _bend(left, move, right) <= 0.0:
                break
            if length <= shortest:
                # The projection is not onto a convex set, so even this step may raise the error.
                # It is taken to leave poor supports; `descend` keeps the best factors.
                break
            length = max(_SHORTENED * length, shortest)
        self.supports[q] = keep
        return found


def _bend(left: _Matrix | None, matrix: _Matrix, right: _Matrix | None) -> float:
    """``<left M right, M>`` as ``<left M, M right>``: no product without M in it."""
    factor = sparse_if_faster(matrix)
    one = matrix if left is None else left @ factor
    other = matrix if right is None else factor @ right
    return float(np.vdot(one, other))


class _Norm:
    """Squared spectral norm from a Gram matrix, by power iteration from where it last ended."""

    def __init__(self) -> None:
        self._vector: _Matrix | None = None

    def squared(self, gram: _Matrix | None) -> float:
        """Largest eigenvalue of a Gram matrix; None is the identity."""
        from polymeans.kernels.factorization_steps import largest_eigenvalue

        if gram is None:
            return 1.0
        if self._vector is None:
            # Irregular entries, so that it is orthogonal to an eigenvector only by coincidence.
            self._vector = 1.0 + 0.5 * np.cos(np.arange(len(gram)) ** 2.0)
            self._product = np.empty(len(gram))
        return largest_eigenvalue(gram, self._vector, self._product, _POWER_ITERATIONS, _POWER_TOL)
