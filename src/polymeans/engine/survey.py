"""The first look at all rows: their range, their exact totals, and the frame they give.

One pass over the blocks finds ranges, counts, exact sums and norms of ordinary rows. A second one
follows only for rows far from zero, whose norms are then measured from their mean, and for values
so extreme that they are divided by a unit first.
"""

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymeans._validation import check_weight_range
from polymeans.codebooks.base import Centroids
from polymeans.codebooks.dense import DenseCodebook
from polymeans.codebooks.numerators import NumeratorCodebook
from polymeans.core.exact_sums import ExactSum, Ladder, TermRange, segments_of
from polymeans.core.frame import Frame, MeasuredFrame, is_ordinary, power_of_two_unit
from polymeans.core.rows import Rows
from polymeans.core.threads import running_threads
from polymeans.engine.blocks import Block
from polymeans.engine.distances import own_distances
from polymeans.engine.feature_totals import FeatureTotals, segments_for
from polymeans.engine.placement import Kept, Placement
from polymeans.engine.prepared import (
    PIECE,
    PreparedRows,
    RawBlock,
    Scaling,
    UnitOf,
    exponents_of,
    range_of_values,
    scaling_of,
    value_scaling,
)
from polymeans.engine.prepared_blocks import block_of


@dataclass(frozen=True)
class Survey:
    """What a first pass over some rows finds; surveys of parts add up to that of the whole."""

    n_samples: int
    n_stored: int  #: entries
    n_ones: int  #: rows of weight one
    n_weightless: int  #: rows of weight zero
    n_directionless: int  #: rows of zeros where only directions count
    values: TermRange  #: in the engine's coordinates
    terms: TermRange  #: of weights times values
    weights: TermRange
    counts: NDArray[np.int64] | None  #: entries of each feature (sparse rows)
    mass: ExactSum  #: ``Σ w``
    square: ExactSum  #: ``Σ w |x|²``
    totals: FeatureTotals  #: ``Σ w x``
    complete: bool = True  #: else only ranges are known: values or weights are extreme

    def __add__(self, other: "Survey") -> "Survey":
        counts = self.counts
        if counts is not None and other.counts is not None:
            counts = counts + other.counts
        return Survey(
            self.n_samples + other.n_samples,
            self.n_stored + other.n_stored,
            self.n_ones + other.n_ones,
            self.n_weightless + other.n_weightless,
            self.n_directionless + other.n_directionless,
            self.values + other.values,
            self.terms + other.terms,
            self.weights + other.weights,
            counts,
            self.mass + other.mass,
            self.square + other.square,
            self.totals + other.totals,
            self.complete and other.complete,
        )


def measure(
    placement: Placement,
    spherical: bool,
    largest_center: float = 0.0,
    unit_of: UnitOf = "typical",
) -> MeasuredFrame:
    """The frame of all rows, through which the placement shows its blocks from now on.

    Parameters
    ----------
    placement : Placement
    spherical : bool
        Cluster directions: rows are brought to length one (in a copy).
    largest_center : float, default=0
        Largest coordinate of centroids that will be met, if they come from outside.
    unit_of : {"typical", "largest"}, default="typical"
        Which entries extreme rows are measured in. Typical ones, so that a few rows far out leave
        the others their digits; or the largest of rows that count, so that no square overflows.

    Returns
    -------
    MeasuredFrame
    """
    scaling, survey = _survey(placement, spherical, largest_center, unit_of)
    order = None if survey.counts is None else _by_frequency(survey.counts)
    n_features, dtype = placement.shape[1], placement.dtype
    ladder = _ladder(placement, scaling, survey)
    mass = float(survey.mass)
    mean = survey.totals.rounded(ladder) / mass
    square = float(survey.square)
    mean_seen = mean if order is None else mean[order]
    reach = 1.0 if np.isfinite(square) else power_of_two_unit(survey.values.largest)
    scaled = 0.0 if reach == 1.0 else float(placement.reduce(scaled_square, scaling, reach))
    # A frame is made when all is known: making one is a noticeable part of a fit of a hundred rows.
    parts: dict[str, Any] = dict(
        vars(_frame(survey.n_samples, n_features, dtype, scaling, order)),
        ladder=ladder,
        mass_ladder=_mass_ladder(placement, survey),
        mass=mass,
        mean=mean_seen,
        n_stored=survey.n_stored,
        unweighted=survey.n_ones == survey.n_samples,
        n_directionless=survey.n_directionless,
    )
    # float32 scores of rows far from the origin would drown in rounding: they are measured from
    # the mean where it is the larger part of the rows' length. Labels are exact for any shift.
    if order is None and not spherical and _is_far(placement, scaling, mean, square, mass):
        parts |= {"shift": mean.astype(dtype), "shifted": True}
        placement.see(MeasuredFrame(**parts, total_square=square, spread=np.inf, reach=1.0))
        square = float(placement.reduce(total_square))
    if np.isfinite(square):
        away = mean_seen - parts["shift"].astype(np.float64)
        reach, scaled = 1.0, square
    else:
        away = mean_seen / reach
    spread = max(0.0, scaled - mass * float(np.sum(away * away)))
    frame = MeasuredFrame(**parts, total_square=square, spread=spread, reach=reach)
    placement.see(frame)
    if frame.cancels and np.isfinite(square):
        frame = replace(frame, spread=float(placement.reduce(inertia_about, _mean_of(frame))))
        placement.see(frame)
    return frame


def glance(
    X: Rows,
    weights: NDArray[np.float64],
    spherical: bool = False,
    largest_center: float = 0.0,
    exact_only: bool = False,
) -> Block:
    """Rows that are only to be labeled: nothing is added up.

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
    raw = RawBlock(X, weights, keeps=True)
    scaling = scaling_of(raw, spherical, largest_center, exact_only)
    part = raw.prepared(scaling)
    order = None if part.indices is None else _by_frequency(_counts(part))
    frame = _frame(part.n_samples, part.shape[1], part.values.dtype, scaling, order)
    if order is None and exact_only:
        raw.norms = np.empty(0)
    elif order is None:
        values = part.values.reshape(part.shape)
        # Whether to measure scores from the mean is judged by a sample: labels are exact either
        # way.
        n_sampled = int(np.clip(2**20 // max(1, part.shape[1]), 32, 256))
        sample = values[:: max(1, len(values) // n_sampled)].astype(np.float64)
        mean = sample.mean(axis=0)
        square = float(np.einsum("ij,ij->", sample, sample)) / len(sample)
        far = bool(2 * np.sum(mean * mean) > square)  # not if it is infinite
        if far and not spherical:
            frame = replace(frame, shift=mean.astype(values.dtype), shifted=True)
    return block_of(raw, frame, 0, part.weights, part.directionless)


# --- visitors --------------------------------------------------------------------------------


def survey_block(
    raw: RawBlock, kept: Kept, scaling: Scaling, n_samples: int, assumed: bool
) -> Survey:
    """Everything that one look at a block's rows can tell; keeps their weights.

    ``n_samples`` are the rows of all blocks. If the scaling is only ``assumed``, nothing is added
    up of extreme values, for which it is another one.
    """
    part = raw.prepared(scaling)
    n_ones = int(np.count_nonzero(part.weights == 1.0))
    kept.weights = None if n_ones == part.n_samples else part.weights
    kept.directionless = part.directionless
    values = TermRange(*part.range(), part.values.dtype == np.float32)
    unweighted = 0 < n_ones == part.n_samples
    weights = TermRange(1.0, 1.0, True)
    if not unweighted:
        weights = TermRange(*range_of_values(part.weights), _is_narrow(part.weights))
    extreme = not (is_ordinary(values.largest) and is_ordinary(weights.largest))
    if assumed and extreme:
        nothing = FeatureTotals(((1, 0),), n_samples, np.zeros((1, part.shape[1])))
        ranges = values, TermRange(), weights
        sums = ExactSum(), ExactSum(), nothing
        counts = None if part.indices is None else _counts(part)
        zeros = int(np.count_nonzero(part.weights == 0))
        return Survey(part.n_samples, 0, 0, zeros, 0, *ranges, counts, *sums, complete=False)
    terms = _terms(part, unweighted)
    used = None
    if Ladder.for_terms(terms, n_samples).is_long:
        used = _used_bins(part)
    segments = segments_for(terms, n_samples, used)
    ladder = Ladder.for_segments(list(segments), n_samples)
    rungs, norms = _sums_and_norms(part, ladder)
    raw.norms = norms if raw.keeps else None
    return Survey(
        part.n_samples,
        len(part.values),
        n_ones,
        int(np.count_nonzero(part.weights == 0)),
        0 if part.directionless is None else len(part.directionless),
        values,
        terms,
        weights,
        None if part.indices is None else _counts(part),
        ExactSum.of_integer(n_ones) if unweighted else ExactSum.of(part.weights),
        ExactSum.of(norms * norms, part.weights),
        FeatureTotals(segments, n_samples, rungs),
    )


def count_exponents(raw: RawBlock, kept: Kept, scaling: Scaling) -> NDArray[np.int64]:
    """How many entries of rows that count have which binary exponent."""
    return exponents_of(raw.prepared(scaling))


def range_of_rows(raw: RawBlock, kept: Kept, scaling: Scaling) -> TermRange:
    """The range of values."""
    part = raw.prepared(scaling)
    return TermRange(*part.range(), part.values.dtype == np.float32)


def used_bins(raw: RawBlock, kept: Kept, scaling: Scaling) -> NDArray[np.bool_]:
    """Where terms have bits; added up, what any block has."""
    return _used_bins(raw.prepared(scaling))


def used_mass_bins(kept: Kept) -> NDArray[np.bool_]:
    """The same for weights."""
    from polymeans.kernels import exact

    used = np.zeros(exact.N_BINS, dtype=bool)
    weights = kept.all_weights()
    each, ones = np.arange(len(weights) + 1), np.ones(len(weights))
    exact.mark_terms(each, weights, ones, 0, len(weights), used)
    return used


def scaled_square(raw: RawBlock, kept: Kept, scaling: Scaling, scale: float) -> ExactSum:
    """``Σ w |x / scale|²``, for rows whose squares are out of range."""
    from polymeans.kernels import prepare

    part = raw.prepared(scaling)
    norms = np.empty(part.n_samples)
    prepare.row_norms(part.indptr, part.values / scale, 0, part.n_samples, norms)
    return ExactSum.of(norms * norms, part.weights)


def total_square(block: Block, kept: Kept) -> ExactSum:
    """``Σ w |x - o|²``, o the frame's origin."""
    return ExactSum.of(block.norms * block.norms, block.weights)


def inertia_about(block: Block, kept: Kept, center: Centroids) -> ExactSum:
    """``Σ w |x - v|²`` for a single centroid v."""
    labels = np.zeros(block.n_samples, dtype=np.int32)
    return ExactSum.of(own_distances(block, center, labels), block.weights)


# --- the parts of a survey -------------------------------------------------------------------


def _survey(
    placement: Placement, spherical: bool, largest_center: float, unit_of: UnitOf
) -> tuple[Scaling, Survey]:
    """How rows are scaled, and what the pass over scaled rows finds."""
    n_samples = placement.shape[0]
    plain = Scaling(spherical=spherical)
    survey = placement.reduce(survey_block, plain, n_samples, True)
    scaling = replace(plain, weight_unit=power_of_two_unit(survey.weights.largest))
    if spherical and survey.weights.largest == 0.0:  # nothing but rows of zeros
        counting = replace(plain, zeros_count=True)
        survey = placement.reduce(survey_block, counting, n_samples, True)
        scaling = replace(counting, weight_unit=power_of_two_unit(survey.weights.largest))
        survey = replace(survey, complete=False)
    weights = survey.weights
    check_weight_range(weights.smallest, weights.largest, float(survey.mass))
    largest = max(largest_center, survey.values.largest)
    if not spherical and not is_ordinary(largest):
        values = survey.values
        if survey.n_weightless:  # no centroid depends on them, so the unit must not either
            scaling = replace(scaling, hides=True, guarded=True)
            values = placement.reduce(range_of_rows, scaling)
            largest = max(largest_center, values.largest)
        if not is_ordinary(largest):
            values = replace(values, largest=largest)
            exponents = placement.reduce(count_exponents, scaling)
            n_features, dtype = placement.shape[1], placement.dtype
            scaling = value_scaling(
                scaling, values, exponents, n_features, dtype, largest_center, unit_of
            )
    if scaling != plain or not survey.complete:
        survey = placement.reduce(survey_block, scaling, n_samples, False)
    return scaling, survey


def _is_far(
    placement: Placement,
    scaling: Scaling,
    mean: NDArray[np.float64],
    square: float,
    mass: float,
) -> bool:
    """Whether the mean is the larger part of the rows' length: ``2 |mean|² > Σ w |x|² / W``."""
    if not np.isfinite(square):  # squares are out of range
        scale = float(np.abs(mean).max())
        if scale == 0:
            return False
        square, mean = float(placement.reduce(scaled_square, scaling, scale)), mean / scale
    return bool(2 * np.sum(mean * mean) > square / mass)


def _mean_of(frame: MeasuredFrame) -> Centroids:
    """The mean of all rows as a centroid."""
    mean = frame.mean[None]
    if frame.is_sparse:
        return NumeratorCodebook(mean, np.sum(mean * mean, axis=1))
    return DenseCodebook(mean.astype(frame.dtype))


def _terms(part: PreparedRows, unweighted: bool) -> TermRange:
    """The range of weights times values."""
    from polymeans.kernels import exact

    if unweighted:
        return TermRange(*part.range(), _is_narrow(part.values))
    threads = running_threads()
    found = threads.map(
        lambda r: exact.range_of_terms(part.indptr, part.values, part.weights, *r),
        threads.ranges(part.n_samples, smallest=64),
    )
    return sum((TermRange(top, low, wide == 0) for top, low, wide in found), TermRange())


def _is_narrow(values: NDArray[Any]) -> bool:
    from polymeans.kernels import exact

    if values.dtype == np.float32:
        return True
    edges = ((lo, min(lo + PIECE, len(values))) for lo in range(0, len(values), PIECE))
    return all(exact.is_narrow(values, *piece) for piece in edges)


def _used_bins(part: PreparedRows) -> NDArray[np.bool_]:
    from polymeans.kernels import exact

    used = np.zeros(exact.N_BINS, dtype=bool)
    exact.mark_terms(part.indptr, part.values, part.weights, 0, part.n_samples, used)
    return used


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
    n_samples: int,
    n_features: int,
    dtype: np.dtype[Any],
    scaling: Scaling,
    order: NDArray[np.int64] | None,
) -> Frame:
    rank, n_used = np.empty(0, dtype=np.int32), n_features
    if order is not None:
        n_used = len(order)
        rank = np.full(n_features, -1, dtype=np.int32)
        rank[order] = np.arange(n_used, dtype=np.int32)
    return Frame(
        n_samples=n_samples,
        n_features=n_features,
        dtype=dtype,
        is_sparse=order is not None,
        spherical=scaling.spherical,
        zeros_count=scaling.zeros_count,
        unit=scaling.unit,
        weight_unit=scaling.weight_unit,
        shift=np.zeros(n_used, dtype=dtype),
        shifted=False,
        guarded=scaling.guarded,
        hides=scaling.hides,
        order=np.empty(0, dtype=np.int64) if order is None else order,
        rank=rank,
    )


def _ladder(placement: Placement, scaling: Scaling, survey: Survey) -> Ladder:
    """For sums of weighted rows."""
    ladder = Ladder.for_terms(survey.terms, survey.n_samples)
    if ladder.is_long:
        used = placement.reduce(used_bins, scaling)
        ladder = Ladder.for_segments(segments_of(used), survey.n_samples)
    return ladder


def _mass_ladder(placement: Placement, survey: Survey) -> Ladder:
    """For sums of weights."""
    ladder = Ladder.for_terms(survey.weights, survey.n_samples)
    if ladder.is_long:
        used = np.any(placement.recall(used_mass_bins), axis=0)
        ladder = Ladder.for_segments(segments_of(used), survey.n_samples)
    return ladder


def _sums_and_norms(
    part: PreparedRows, ladder: Ladder
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Rungs of ``Σ w x`` (n_rungs, d), and the rows' norms."""
    from polymeans.kernels import prepare

    norms, threads, n = np.empty(part.n_samples), running_threads(), part.n_samples

    def add(r: tuple[int, int]) -> NDArray[np.float64]:
        total = np.zeros((ladder.n_rungs, part.shape[1]))
        if part.indices is None:
            values = part.values.reshape(part.shape)
            prepare.sums_and_norms(values, part.weights, ladder.magics, *r, total, norms)
        else:
            rows = part.indptr, part.indices, part.values
            prepare.feature_sums(*rows, part.weights, ladder.magics, *r, total)
            prepare.row_norms(part.indptr, part.values, *r, norms)
        return total

    ranges = threads.ranges(n, smallest=64)
    if part.indices is not None:  # totals of all features for each of a few ranges
        n_pieces = max(1, min(threads.n_threads, n))
        edges = np.arange(n_pieces + 1) * n // n_pieces
        ranges = list(pairwise(edges.tolist()))
    found = threads.map(add, ranges)
    return sum(found[1:], found[0]), norms
