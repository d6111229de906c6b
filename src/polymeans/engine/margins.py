"""Labels of a block from pass to pass: rows that keep their centroid for certain are left alone.

For each dense row one number is kept, at most how much farther its second nearest centroid is than
the nearest (Hamerly's bound). It sinks by what the centroids move. As long as it is positive the
label stays, so that only the other rows are looked at. For each CSR row two bounds on scores are
kept, with which only centroids that moved have to be looked at. Labels are always those of a look
at all centroids.
"""

from typing import TypeGuard

import numpy as np
from numpy.typing import NDArray

from polymeans.codebooks.base import CentersTable, Centroids, NumeratorsTable, Table
from polymeans.engine.assignment import make_assigner
from polymeans.engine.blocks import Block, DenseBlock, SparseBlock
from polymeans.engine.in_turn import InTurn
from polymeans.engine.lane_assigners import LaneLloyd, drift_of
from polymeans.engine.nearest import decide_contested
from polymeans.engine.placement import Kept
from polymeans.engine.plain_assigners import plain_assigner
from polymeans.engine.prepared_blocks import block_of_some
from polymeans.engine.sparse_assigners import CentroidTable, SparseLazy

#: Share of the rows above which all are looked at, to save taking the open ones out of the block.
#: A guess that was not measured; results do not depend on it.
_MOST = 0.7


def nearest_labels(
    block: Block, codebook: Centroids, before: NDArray[np.int32]
) -> NDArray[np.int32]:
    """The nearest centroid of each row, the lowest index among equals."""
    labels = before.copy()
    make_assigner(block, codebook, "lloyd").assign(codebook, labels, labels)
    decide_contested(block, codebook, labels)
    return labels


def label_open_rows(
    block: Block,
    kept: Kept,
    codebook: Centroids,
    drift: NDArray[np.float64] | None,
    in_turn: InTurn | None = None,
) -> NDArray[np.int32]:
    """The nearest centroid of each row; sets what is kept for the next pass.

    Parameters
    ----------
    block : Block
    kept : Kept
        With the labels and gaps of the last pass, if there was one.
    codebook : codebook
    drift : ndarray of shape (k,) or None
        How far each centroid went since the last pass, zero only if it did not move; None: not
        known.
    in_turn : InTurn, default=None
        What visits of a pass share.

    Returns
    -------
    ndarray of shape (n_samples,)
    """
    before = kept.labels_or_none_yet()
    if not _has_gaps(codebook, block):
        kept.gaps = None
        return nearest_labels(block, codebook, before)
    if isinstance(block, SparseBlock):
        return _label_by_moved(block, kept, codebook, before, drift, in_turn)
    if drift is None or kept.gaps is None:
        labels, kept.gaps = _labels_and_gaps(block, codebook, before)
        return labels
    if LaneLloyd.serves(block):
        return _label_open_lanes(block, kept, codebook, before, drift)
    return _label_open_tiles(block, kept, codebook, before, drift)


def _label_by_moved(
    block: SparseBlock,
    kept: Kept,
    codebook: NumeratorsTable,
    before: NDArray[np.int32],
    drift: NDArray[np.float64] | None,
    in_turn: InTurn | None,
) -> NDArray[np.int32]:
    """Only centroids that moved are looked at, as long as these are not most of them."""
    labels = np.empty_like(before)
    table = CentroidTable(codebook) if in_turn is None else in_turn.table
    assigner = SparseLazy(block, codebook.n_clusters, table)
    if drift is not None and kept.gaps is not None:
        assigner.resume(kept.gaps, np.flatnonzero(drift))
    assigner.assign(codebook, before, labels)
    assigner.forget(decide_contested(block, codebook, labels))
    kept.gaps = assigner.bounds
    return labels


def _label_open_lanes(
    block: DenseBlock,
    kept: Kept,
    codebook: CentersTable,
    before: NDArray[np.int32],
    drift: NDArray[np.float64],
) -> NDArray[np.int32]:
    """Rows that are open are found and looked at on one way through the block."""
    assert kept.gaps is not None
    labels, gaps = np.empty_like(before), kept.gaps.copy()
    assigner = LaneLloyd(block, codebook.n_clusters)
    assigner.assign_open(codebook, before, labels, gaps, drift)
    gaps[decide_contested(block, codebook, labels)] = 0.0
    kept.gaps = gaps
    return labels


def _label_open_tiles(
    block: DenseBlock,
    kept: Kept,
    codebook: CentersTable,
    before: NDArray[np.int32],
    drift: NDArray[np.float64],
) -> NDArray[np.int32]:
    """Rows that are open are taken out of the block first."""
    assert kept.gaps is not None
    sunk = _sunk(kept.gaps, before, drift)
    still_open = np.flatnonzero(~(sunk > 0))
    if len(still_open) > _MOST * block.n_samples:
        labels, kept.gaps = _labels_and_gaps(block, codebook, before)
        return labels
    labels = before.copy()
    if len(still_open):
        rows, norms = block.rows_at(still_open), block.norms[still_open]
        few = block_of_some(rows, block.weights[still_open], block.frame, norms)
        assert isinstance(few, DenseBlock)
        found = _labels_and_gaps(few, codebook, before[still_open])
        labels[still_open], sunk[still_open] = found
    kept.gaps = sunk
    return labels


def _has_gaps(codebook: Centroids, block: Block) -> TypeGuard[Table]:
    """Whether bounds for the two nearest centroids are at hand when rows are labeled."""
    return (
        codebook.kind == "table"
        and not block.frame.guarded
        and (block.is_sparse or len(block.directionless) == 0)
    )


def _labels_and_gaps(
    block: DenseBlock, codebook: CentersTable, before: NDArray[np.int32]
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    labels, gaps = before.copy(), np.empty(block.n_samples, dtype=np.float32)
    plain_assigner(block, codebook.n_clusters).assign_with_gaps(codebook, before, labels, gaps)
    decide_contested(block, codebook, labels)
    return labels, gaps


def _sunk(
    gaps: NDArray[np.float32], labels: NDArray[np.int32], drift: NDArray[np.float64]
) -> NDArray[np.float32]:
    """Gaps after the centroids moved, never overstated."""
    from polymeans.kernels.dense import sink_gaps

    out = np.empty_like(gaps)
    sink_gaps(gaps, labels, *drift_of(drift), out)
    return out
