"""Rows that are tried as centroids, and how far all rows are from them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymeans.codebooks.dense import DenseCodebook
from polymeans.codebooks.numerators import NumeratorCodebook
from polymeans.core.frame import Frame, MeasuredFrame
from polymeans.core.rows import Rows, is_csr
from polymeans.core.threads import running_threads
from polymeans.core.workers import Result
from polymeans.engine.blocks import Block, DenseBlock, SparseBlock
from polymeans.engine.dense_assigners import DenseLloyd
from polymeans.engine.distances import own_distances
from polymeans.engine.margins import nearest_labels

#: Rows whose potentials are added up before another thread could have begun to help.
_LIGHT_ROWS = 2**14

#: Squared distances beyond this are taken for this: sums of them must be float64 numbers.
FARTHEST = 2.0**900


def is_careful(frame: MeasuredFrame) -> bool:
    """Whether scores in float32 would leave nothing of distances, or overflow."""
    return frame.guarded or (frame.is_sparse and frame.cancels)


def codebook_of(
    frame: Frame, rows: Rows, norms: NDArray[np.float64]
) -> DenseCodebook | NumeratorCodebook:
    """Some rows, given in engine coordinates, as centroids."""
    if not frame.is_sparse:
        assert not is_csr(rows)
        return DenseCodebook(rows, frame.spherical)
    centers = rows.toarray().astype(np.float64) if is_csr(rows) else rows
    return NumeratorCodebook(centers, norms**2, spherical=frame.spherical)


def nearest_of(
    block: Block, codebook: DenseCodebook | NumeratorCodebook
) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Squared distance of each row to the nearest centroid, and which one it is."""
    labels = nearest_labels(block, codebook, np.full(block.n_samples, -1, dtype=np.int32))
    return np.minimum(own_distances(block, codebook, labels), FARTHEST), labels


@dataclass
class Candidates:
    """A few rows in the form that their distances are computed from."""

    #: Each as a single centroid, for distances coordinate by coordinate.
    single: list[DenseCodebook | NumeratorCodebook] = field(default_factory=list)
    codebook: DenseCodebook | None = None  #: dense rows
    entries: list[tuple[NDArray[Any], NDArray[np.float32]]] = field(default_factory=list)
    squares: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))

    @classmethod
    def of(cls, frame: MeasuredFrame, rows: Rows, norms: NDArray[np.float64]) -> "Candidates":
        """Rows in engine coordinates, as candidates."""
        if is_careful(frame):
            pairs = ((rows[c : c + 1], norms[c : c + 1]) for c in range(len(norms)))
            return cls(single=[codebook_of(frame, *pair) for pair in pairs])
        if not is_csr(rows):
            return cls(codebook=DenseCodebook(rows, frame.spherical))
        indptr, indices, values = rows.indptr, rows.indices, rows.data.astype(np.float32)
        entries = [
            (indices[lo:hi].astype(np.int32), values[lo:hi]) for lo, hi in pairwise(indptr.tolist())
        ]
        return cls(entries=entries, squares=norms**2)


class CandidateDistances:
    """Squared distances of a block's rows to a few candidate rows, kept until one is accepted.

    Memory: for each row, 4 bytes a candidate (8 for float64 rows), and 16.

    Parameters
    ----------
    block : Block
    n_candidates : int
        Candidates at most.
    closest : ndarray of shape (n_samples,), default=None
        Squared distances to the nearest row accepted so far; written over. None: there is none.
    """

    def __init__(
        self, block: Block, n_candidates: int, closest: NDArray[np.float64] | None = None
    ) -> None:
        self.block = block
        dtype = np.float32 if block.is_sparse else block.dtype
        if is_careful(block.measured):
            dtype = np.dtype(np.float64)
        self.distances = np.empty((n_candidates, block.n_samples), dtype=dtype)
        first = closest is None
        self.closest = np.full(block.n_samples, np.inf) if closest is None else closest
        #: ``w d²`` with d the distance to the nearest row accepted so far.
        self.potentials = self.closest.copy() if first else block.weights * self.closest

    def measure(self, candidates: "Candidates") -> None:
        """Distances of all rows to the candidates."""
        if candidates.single:
            self._measure_carefully(candidates.single)
        elif candidates.codebook is not None:
            self._measure_dense(candidates.codebook)
        else:
            self._measure_sparse(candidates.entries, candidates.squares)

    def totals(self, n_candidates: int, magics: tuple[float, float]) -> NDArray[np.float64]:
        """Rungs of ``Σ w min(closest, d²)`` if each candidate were accepted, (m, 2)."""
        from polymeans.kernels import seeding

        block, distances = self.block, self.distances[:n_candidates]

        def part(lo: int, hi: int) -> NDArray[np.float64]:
            rungs = np.zeros((n_candidates, 2))
            seeding.potentials(distances, self.closest, block.weights, *magics, lo, hi, rungs)
            return rungs

        rungs = np.zeros((n_candidates, 2))
        for own in _in_large_pieces(part, block.n_samples):
            rungs += own
        return rungs

    def accept(self, position: int) -> None:
        """Make the candidate measured at this position a centroid."""
        from polymeans.kernels import seeding

        block, chosen = self.block, self.distances[position]
        _in_large_pieces(
            lambda lo, hi: seeding.lower_closest(
                chosen, block.weights, lo, hi, self.closest, self.potentials
            ),
            block.n_samples,
        )

    def _measure_carefully(self, codebooks: Sequence[DenseCodebook | NumeratorCodebook]) -> None:
        """Distances to candidates, each given as a single centroid, coordinate by coordinate."""
        labels = np.zeros(self.block.n_samples, dtype=np.int32)
        for position, codebook in enumerate(codebooks):
            distances = own_distances(self.block, codebook, labels)
            np.minimum(distances, FARTHEST, out=self.distances[position])

    def _measure_dense(self, codebook: DenseCodebook) -> None:
        """Distances to candidates, given as centroids."""
        from polymeans.kernels import seeding

        rows = self.block
        assert isinstance(rows, DenseBlock)
        assigner = DenseLloyd(rows, codebook.n_clusters)
        frame, book = assigner.pack(codebook), codebook.book
        rows.each(
            lambda lo, hi: seeding.candidate_distances_dense(
                rows.arrays,
                frame,
                book,
                assigner.panels,
                lo,
                hi,
                self.distances,
                assigner.block_buffer(),
                assigner.tile_buffer(),
            )
        )

    def _measure_sparse(
        self, entries: Sequence[tuple[NDArray[Any], ...]], squares: NDArray[np.float64]
    ) -> None:
        """Distances to candidates, given by their features, values and squared norms."""
        from polymeans.kernels import seeding

        rows = self.block
        assert isinstance(rows, SparseBlock)
        transposed = rows.transposed()

        def measure(position: int) -> None:
            seeding.candidate_distances_sparse(
                *transposed,
                *entries[position],
                squares[position],
                rows.norms,
                self.distances[position],
            )

        running_threads().map(measure, range(len(entries)))


def _in_large_pieces(function: Callable[[int, int], Result], n_rows: int) -> list[Result]:
    """Results of ``function(lo, hi)`` over all rows, for little work a row."""
    threads = running_threads()
    return threads.map(lambda r: function(*r), threads.ranges(n_rows, smallest=_LIGHT_ROWS))
