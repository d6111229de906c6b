"""The first look at all rows: their range, their exact totals, and the frame they give.

Three passes, each additive over blocks: the range of values (which gives the unit and the ladder of
the sums), exact sums with norms (which give mean, spread and where scores are measured from), and,
only for rows far from zero, norms about that point.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from polymeans.codebooks.base import BaseCodebook
from polymeans.codebooks.dense import DenseCodebook
from polymeans.codebooks.numerators import NumeratorCodebook
from polymeans.core.contracts import Rows
from polymeans.core.exact_sums import ExactSum, Ladder, TermRange, segments_of
from polymeans.core.frame import Frame, MeasuredFrame, power_of_two_unit
from polymeans.core.threads import running_threads
from polymeans.engine.blocks import Block, DenseBlock, SparseBlock
from polymeans.engine.distances import own_distances
from polymeans.engine.prepared import (
    PIECE,
    PreparedRows,
    Source,
    prepare_rows,
    range_of_values,
)


@dataclass(frozen=True)
class Survey:
    """What a first pass over some rows finds; surveys of parts add up to that of the whole."""

    n_samples: int
    largest: float  #: absolute value
    terms: TermRange  #: of weights times values, in the engine's coordinates
    weights: TermRange
    counts: NDArray[np.int64] | None  #: entries of each feature (sparse rows)

    def __add__(self, other: "Survey") -> "Survey":
        counts = self.counts if other.counts is None else other.counts
        if self.counts is not None and other.counts is not None:
            counts = self.counts + other.counts
        return Survey(
            self.n_samples + other.n_samples,
            max(self.largest, other.largest),
            self.terms + other.terms,
            self.weights + other.weights,
            counts,
        )


def measure(
    sources: Sequence[Source],
    spherical: bool,
    largest_center: float = 0.0,
    unit_of: Literal["typical", "largest"] = "typical",
) -> tuple[MeasuredFrame, list[Block]]:
    """Blocks for a fit, and the frame they share.

    Parameters
    ----------
    sources : sequence of (rows, weights)
        Arrays, or CSR matrices in canonical format, of the same width and dtype.
    spherical : bool
        Cluster directions: rows are brought to length one (in a copy).
    largest_center : float, default=0
        Largest coordinate of centroids that will be met, if they come from outside.
    unit_of : {"typical", "largest"}, default="typical"
        Which entries extreme rows are measured in. Typical ones, so that a few rows far out leave
        the others their digits; or the largest of rows that count, so that no square overflows.

    Returns
    -------
    frame : MeasuredFrame
    blocks : list of Block
    """
    parts, unit, weight_unit, guarded = prepare_rows(
        sources, spherical, largest_center, unit_of=unit_of, hide_weightless=True
    )
    survey = _survey(parts)
    n_features, dtype = parts[0].shape[1], parts[0].values.dtype
    order = None if survey.counts is None else _by_frequency(survey.counts)
    frame = _frame(parts, unit, weight_unit, spherical, order, guarded)
    ladder, mass_ladder = _ladders(parts, survey)
    mass = float(sum((ExactSum.of(part.weights) for part in parts), ExactSum()))
    blocks: list[Block] = []
    norms: list[NDArray[np.float64] | None] = []
    if frame.is_sparse:
        sparse = _sparse_blocks(parts, frame)
        blocks += sparse
        rungs = _total([_feature_sums(block, ladder) for block in sparse])
    else:
        found = [_sums_and_norms(part, ladder) for part in parts]
        rungs = _total([total for total, _ in found])
        norms += [own for _, own in found]
    mean = _rounded(rungs) / mass
    if not frame.is_sparse:
        square = _total_square((own, part.weights) for (_, own), part in zip(found, parts))
        # float32 scores of rows far from the origin would drown in rounding: they are measured
        # from the mean where it is the larger part of the rows' length. Labels are exact for any
        # shift.
        if not spherical and _is_far(mean, square, mass, parts):
            frame = replace(frame, shift=mean.astype(dtype), shifted=True)
            norms = [None] * len(parts)
        blocks += _dense_blocks(parts, frame, norms)
    square = _total_square((block.norms, block.weights) for block in blocks)
    away, reach, about = mean - frame.origin, 1.0, square
    if not np.isfinite(square):
        reach = power_of_two_unit(max(part.range()[0] for part in parts))
        away, about = mean / reach, _scaled_square(parts, reach)
    spread = max(0.0, about - mass * float(np.sum(away * away)))
    known = {name: getattr(frame, name) for name in Frame.__dataclass_fields__}
    known |= {"n_samples": survey.n_samples, "n_features": n_features}
    measured = MeasuredFrame(
        **known,
        ladder=ladder,
        mass_ladder=mass_ladder,
        mass=mass,
        mean=mean,
        total_square=square,
        spread=spread,
        reach=reach,
    )
    if measured.cancels and np.isfinite(square):
        measured = replace(measured, spread=_spread(blocks, measured))
    for block in blocks:
        block.frame = measured
    return measured, blocks


def _spread(blocks: list[Block], frame: MeasuredFrame) -> float:
    """``Σ w |x - mean|²`` from the rows, where totals of squares do not determine it."""
    mean = frame.mean[None]
    center: BaseCodebook = (
        NumeratorCodebook(mean, np.sum(mean * mean, axis=1))
        if frame.is_sparse
        else DenseCodebook(mean.astype(frame.dtype))
    )
    total = ExactSum()
    for block in blocks:
        labels = np.zeros(block.n_samples, dtype=np.int32)
        total += ExactSum.of(own_distances(block, center, labels), block.weights)
    return float(total)


def glance(
    X: Rows,
    weights: NDArray[np.float64],
    spherical: bool = False,
    largest_center: float = 0.0,
    exact_only: bool = False,
) -> Block:
    """Rows that are only to be labelled: nothing is added up.

    Parameters
    ----------
    X : ndarray or CSR of shape (n_samples, n_features)
    weights : ndarray of shape (n_samples,)
    spherical : bool, default=False
    largest_center : float, default=0
        Largest coordinate of the centroids.
    exact_only : bool, default=False
        Labels will come from exact scores, which need neither norms nor a point to measure from:
        dense blocks have no norms then.

    Returns
    -------
    Block
    """
    parts, unit, weight_unit, guarded = prepare_rows(
        [(X, weights)], spherical, largest_center, exact_only
    )
    part = parts[0]
    if part.indices is not None:
        order = _by_frequency(_counts(part))
        frame = _frame(parts, unit, weight_unit, spherical, order, guarded)
        return _sparse_blocks(parts, frame)[0]
    frame = _frame(parts, unit, weight_unit, spherical, None, guarded)
    if exact_only:
        return _dense_blocks(parts, frame, [np.empty(0)])[0]
    values = part.values.reshape(part.shape)
    # Whether to measure scores from the mean is judged by a sample: labels are exact either way.
    n_sampled = int(np.clip(2**20 // max(1, part.shape[1]), 32, 256))
    sample = values[:: max(1, len(values) // n_sampled)].astype(np.float64)
    mean = sample.mean(axis=0)
    square = float(np.einsum("ij,ij->", sample, sample)) / len(sample)
    if not spherical and bool(2 * np.sum(mean * mean) > square):  # not if it is infinite
        frame = replace(frame, shift=mean.astype(values.dtype), shifted=True)
    return _dense_blocks(parts, frame, [None])[0]


# --- the passes ------------------------------------------------------------------------------


def _is_far(
    mean: NDArray[np.float64],
    square: float,
    mass: float,
    parts: list[PreparedRows],
) -> bool:
    """Whether the mean is the larger part of the rows' length: ``2 |mean|² > Σ w |x|² / W``."""
    if not np.isfinite(square):  # squares are out of range
        scale = float(np.abs(mean).max())
        if scale == 0:
            return False
        square, mean = _scaled_square(parts, scale), mean / scale
    return bool(2 * np.sum(mean * mean) > square / mass)


def _scaled_square(parts: list[PreparedRows], scale: float) -> float:
    """``Σ w |x / scale|²``, for rows whose squares are out of range."""
    from polymeans.kernels import prepare

    total = ExactSum()
    for part in parts:
        norms = np.empty(part.n_samples)
        prepare.row_norms(part.indptr, part.values / scale, 0, part.n_samples, norms)
        total += ExactSum.of(norms * norms, part.weights)
    return float(total)


def _survey(parts: list[PreparedRows]) -> Survey:
    surveys = [_survey_one(part) for part in parts]
    return sum(surveys[1:], surveys[0])


def _survey_one(part: PreparedRows) -> Survey:
    from polymeans.kernels import exact

    largest, smallest = part.range()
    if (part.weights == 1.0).all():
        terms = TermRange(largest, smallest, _is_narrow(part.values))
    else:
        threads = running_threads()
        found = threads.map(
            lambda r: exact.range_of_terms(part.indptr, part.values, part.weights, *r),
            threads.ranges(part.n_samples, smallest=64),
        )
        terms = sum((TermRange(top, low, wide == 0) for top, low, wide in found), TermRange())
    weights = TermRange(*range_of_values(part.weights), _is_narrow(part.weights))
    counts = None if part.indices is None else _counts(part)
    return Survey(part.n_samples, largest, terms, weights, counts)


def _is_narrow(values: NDArray[Any]) -> bool:
    from polymeans.kernels import exact

    if values.dtype == np.float32:
        return True
    pieces = ((lo, min(lo + PIECE, len(values))) for lo in range(0, len(values), PIECE))
    return all(exact.is_narrow(values, *piece) for piece in pieces)


def _counts(part: PreparedRows) -> NDArray[np.int64]:
    from polymeans.kernels import prepare

    counts = np.zeros(part.shape[1], dtype=np.int64)
    prepare.count_features(part.indices, counts)
    return counts


def _by_frequency(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Features that occur, those with the most entries first; at least one."""
    n_used = max(1, int(np.count_nonzero(counts)))
    return np.argsort(-counts, kind="stable")[:n_used]


def _frame(
    parts: list[PreparedRows],
    unit: float,
    weight_unit: float,
    spherical: bool,
    order: NDArray[np.int64] | None,
    guarded: bool,
) -> Frame:
    n_features, dtype = parts[0].shape[1], parts[0].values.dtype
    rank, n_used = np.empty(0, dtype=np.int32), n_features
    if order is not None:
        n_used = len(order)
        rank = np.full(n_features, -1, dtype=np.int32)
        rank[order] = np.arange(n_used, dtype=np.int32)
    return Frame(
        n_samples=sum(part.n_samples for part in parts),
        n_features=n_features,
        dtype=dtype,
        is_sparse=order is not None,
        spherical=spherical,
        unit=unit,
        weight_unit=weight_unit,
        shift=np.zeros(n_used, dtype=dtype),
        shifted=False,
        guarded=guarded,
        order=np.empty(0, dtype=np.int64) if order is None else order,
        rank=rank,
    )


def _ladders(parts: list[PreparedRows], survey: Survey) -> tuple[Ladder, Ladder]:
    """For sums of weighted rows, and of weights."""
    from polymeans.kernels import exact

    ladder = Ladder.for_terms(survey.terms, survey.n_samples)
    if ladder.is_long:
        used = np.zeros(exact.N_BINS, dtype=bool)
        for part in parts:
            exact.mark_terms(part.indptr, part.values, part.weights, 0, part.n_samples, used)
        ladder = Ladder.for_segments(segments_of(used), survey.n_samples)
    mass_ladder = Ladder.for_terms(survey.weights, survey.n_samples)
    if mass_ladder.is_long:
        used = np.zeros(exact.N_BINS, dtype=bool)
        for part in parts:
            each = np.arange(part.n_samples + 1)
            ones = np.ones(part.n_samples)
            exact.mark_terms(each, part.weights, ones, 0, part.n_samples, used)
        mass_ladder = Ladder.for_segments(segments_of(used), survey.n_samples)
    return ladder, mass_ladder


def _sums_and_norms(
    part: PreparedRows, ladder: Ladder
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Rungs of ``Σ w x`` (n_rungs, d), and the rows' norms."""
    from polymeans.kernels import prepare

    values, norms = part.values.reshape(part.shape), np.empty(part.n_samples)

    def add(r: tuple[int, int]) -> NDArray[np.float64]:
        total = np.zeros((ladder.n_rungs, values.shape[1]))
        prepare.sums_and_norms(values, part.weights, ladder.magics, *r, total, norms)
        return total

    threads = running_threads()
    return _total(threads.map(add, threads.ranges(len(values), smallest=64))), norms


def _feature_sums(block: SparseBlock, ladder: Ladder) -> NDArray[np.float64]:
    """Rungs of ``Σ w x`` (n_rungs, n_used)."""
    from polymeans.kernels import prepare

    threads = running_threads()

    def add(r: tuple[int, int]) -> NDArray[np.float64]:
        total = np.zeros((ladder.n_rungs, block.n_features))
        prepare.feature_sums(*block.arrays, block.weights, ladder.magics, *r, total)
        return total

    pieces = max(1, min(threads.n_threads, block.n_samples))
    edges = np.arange(pieces + 1) * block.n_samples // pieces
    return _total(threads.map(add, pairwise(edges.tolist())))


def _total(rungs: Iterable[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Rungs of parts, added up: exact, so in any order."""
    rungs = list(rungs)
    return sum(rungs[1:], rungs[0])


def _rounded(rungs: NDArray[np.float64]) -> NDArray[np.float64]:
    from polymeans.kernels import exact

    out = np.empty((1, rungs.shape[1]))
    exact.round_clusters(rungs[None], np.arange(1), out)
    return out[0]


def _total_square(
    parts: Iterable[tuple[NDArray[np.float64], NDArray[np.float64]]],
) -> float:
    """``Σ w |x|²`` from norms and weights of all blocks."""
    return float(sum((ExactSum.of(norms * norms, w) for norms, w in parts), ExactSum()))


def _dense_blocks(
    parts: list[PreparedRows], frame: Frame, norms: Sequence[NDArray[np.float64] | None]
) -> list[DenseBlock]:
    firsts = _first_rows(parts).tolist()
    return [
        DenseBlock(
            part.values.reshape(part.shape), part.weights, frame, first, part.directionless, known
        )
        for part, first, known in zip(parts, firsts, norms)
    ]


def _sparse_blocks(parts: list[PreparedRows], frame: Frame) -> list[SparseBlock]:
    from polymeans.kernels import prepare

    threads = running_threads()
    blocks = []
    for part, first in zip(parts, _first_rows(parts).tolist()):
        assert part.indices is not None
        indices = np.empty(len(part.indices), dtype=np.int32)
        threads.map(
            lambda r, part=part, indices=indices: prepare.renumber(
                part.indices, frame.rank, *r, indices
            ),
            threads.ranges(len(indices)),
        )
        blocks.append(
            SparseBlock(
                part.indptr, indices, part.values, part.weights, frame, first, part.directionless
            )
        )
    return blocks


def _first_rows(parts: list[PreparedRows]) -> NDArray[np.int64]:
    return np.cumsum([0, *(part.n_samples for part in parts[:-1])])
