"""What sites answer: each question is a function of a site and a request."""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from polymeans.core.exact_sums import ExactSum, Ladder
from polymeans.engine.blocks import Block
from polymeans.engine.distances import distances_in_user_units, own_distances
from polymeans.engine.feature_totals import on_ladder
from polymeans.engine.margins import nearest_labels
from polymeans.engine.placement import Kept
from polymeans.engine.prepared_blocks import block_of_some
from polymeans.engine.survey import (
    count_exponents,
    inertia_about,
    scaled_square,
    survey_block,
    total_square,
    used_bins,
    used_mass_bins,
)
from polymeans.federated import masks
from polymeans.federated.codebooks import codebook_of
from polymeans.federated.frames import exact_bins, range_message, scaling_of_message
from polymeans.federated.messages import Message
from polymeans.federated.privacy import noise
from polymeans.federated.site import RefusedError, Site
from polymeans.federated.site_local import local_step
from polymeans.federated.site_starts import candidates, nearest_counts, summary
from polymeans.federated.totals import Layout, Totals, totals_of_rows

# --- the survey ------------------------------------------------------------------------------


def announce(site: Site, request: Message) -> Message:
    """How many rows of which kind there are, and what their columns are called."""
    names: Message = {}
    if site.columns:
        are_texts = all(isinstance(name, str) for name in site.columns)
        names = {"columns": list(map(str, site.columns)), "columns_are_texts": are_texts}
    return names | {
        "n_samples": site.n_samples,
        "n_features": int(site.rows.shape[1]),
        "dtype": site.rows.dtype.name,
        "is_sparse": bool(sp.issparse(site.rows)),
        "min_count": site.rules.min_count,
        "secure": site.rules.secure,
    }


def ranges(site: Site, request: Message) -> Message:
    """Between which powers of two values, weights and their products lie, and a few numbers."""
    _only_without_privacy(site)
    survey = site.survey(
        scaling_of_message(request["scaling"]), site.n_samples, bool(request["assumed"])
    )
    return {
        "values": range_message(survey.values),
        "terms": range_message(survey.terms),
        "weights": range_message(survey.weights),
        "n_stored": survey.n_stored,
        "n_ones": survey.n_ones,
        "n_weightless": survey.n_weightless,
        "n_directionless": survey.n_directionless,
        "complete": survey.complete,
    }


def survey_totals(site: Site, request: Message) -> Message:
    """Sums over all rows of the site, on a ladder that is common to all sites."""
    _only_without_privacy(site)
    scaling, ladder = scaling_of_message(request["scaling"]), Ladder(tuple(request["ladder"]))
    survey = survey_block(
        site.raw(), Kept(0, site.n_samples), scaling, int(request["n_samples"]), False
    )
    rungs = on_ladder(survey.totals.rungs, survey.totals.ladder, ladder)
    units = np.array(ladder.units)[:, None]
    totals: Totals = {
        "features": (rungs / units).astype(np.int64),
        "mass": exact_bins(survey.mass),
        "square": exact_bins(survey.square),
    }
    if survey.counts is not None:
        totals["entries"] = survey.counts
    return site.protected(request, totals)


def exponents(site: Site, request: Message) -> Message:
    """How many entries have which binary exponent."""
    counts = count_exponents(
        site.raw(), Kept(0, site.n_samples), scaling_of_message(request["scaling"])
    )
    return site.protected(request, {"exponents": counts})


def bins(site: Site, request: Message) -> Message:
    """Where products of weights and values, or weights, have bits."""
    _only_without_privacy(site)
    scaling, kept = scaling_of_message(request["scaling"]), Kept(0, site.n_samples)
    if request["of"] == "weights":
        kept.weights = site.raw().prepared(scaling).weights
        return {"used": used_mass_bins(kept).astype(np.int8)}
    return {"used": used_bins(site.raw(), kept, scaling).astype(np.int8)}


def square(site: Site, request: Message) -> Message:
    """``Σ w |x / scale|²``, where squares themselves would be out of range."""
    _only_without_privacy(site)
    scaling, scale = scaling_of_message(request["scaling"]), float(request["scale"])
    total = scaled_square(site.raw(), Kept(0, site.n_samples), scaling, scale)
    return site.protected(request, {"square": exact_bins(total)})


def square_about(site: Site, request: Message) -> Message:
    """``Σ w |x - o|²`` about the frame's origin, or about a centroid."""
    _only_without_privacy(site)
    block, kept = site.block(request), Kept(0, site.n_samples)
    if "codebook" in request:
        total = inertia_about(block, kept, codebook_of(request["codebook"], block.frame))
    else:
        total = total_square(block, kept)
    return site.protected(request, {"square": exact_bins(total)})


# --- a round ---------------------------------------------------------------------------------


def step(site: Site, request: Message) -> Message:
    """Label the rows and add them up: all that an iteration needs."""
    privacy = site.rules.privacy
    if privacy is not None:
        return _noisy_step(site, request)
    block = site.block(request)
    codebook = codebook_of(request["codebook"], block.frame)
    layout = Layout.of(codebook, block.measured, bool(request["measured"]))
    labels = _nearest(block, codebook)
    kept, n_suppressed = _large_enough(site, layout, labels, block.weights)
    n_left_out = block.n_samples - len(kept)
    if n_left_out:
        block, labels = _some(block, kept), labels[kept]
    distances = own_distances(block, codebook, labels) if layout.measured else None
    totals = totals_of_rows(layout, block, labels, distances)
    counted = {"n_suppressed": n_suppressed, "n_left_out": n_left_out}
    return counted | site.protected(request, totals)


def _noisy_step(site: Site, request: Message) -> Message:
    privacy = site.rules.privacy
    assert privacy is not None
    used = int(site.memory.get("n_released", 0))
    if used >= privacy.rounds:
        raise RefusedError(f"the budget of {privacy.rounds} rounds is used up")
    site.memory["n_released"] = used + 1
    block = site.block(request)
    codebook = codebook_of(request["codebook"], block.frame)
    layout = Layout.of(codebook, block.measured)
    totals = totals_of_rows(layout, block, _nearest(block, codebook), None)
    rng = site.rng(
        "noise", request["round"]
    )  # a seed is for experiments: who knows it can take the noise away
    unit = block.measured.ladder.units[0]
    n_sets = len(layout.sizes) if layout.needs == "marginals" else 1
    released = {
        "counts": totals["counts"] + noise(privacy.count_scale, totals["counts"].shape, rng),
        "sums": totals["sums"] + noise(privacy.sum_scale(n_sets) / unit, totals["sums"].shape, rng),
    }
    return site.protected(request, released)


def measure(site: Site, request: Message) -> Message:
    """``Σ w |x - v|²`` of all rows with the labels of one codebook, about those of another."""
    _only_without_privacy(site)
    block = site.block(request)
    codebook = codebook_of(request["codebook"], block.frame)
    labels = _nearest(block, codebook)
    if "about" in request:
        codebook = codebook_of(request["about"], block.frame)
    far = distances_in_user_units if request["in_user_units"] else own_distances
    total = ExactSum.of(far(block, codebook, labels), block.weights)
    return site.protected(request, {"inertia": exact_bins(total)})


def scatter(site: Site, request: Message) -> Message:
    """Scatter of the rows of each vector's clusters, or their spread along given directions."""
    _only_without_privacy(site)
    block = site.block(request)
    codebook = codebook_of(request["codebook"], block.frame)
    layout = Layout.of(codebook, block.measured)
    labels = _nearest(block, codebook)
    kept, _ = _large_enough(site, layout, labels, block.weights)
    if len(kept) < block.n_samples:
        block, labels = _some(block, kept), labels[kept]
    layout = Layout("marginals", codebook.sizes, block.measured)  # also of products
    distances = own_distances(block, codebook, labels) * block.weights
    unit = float(request["unit"])
    if "directions" not in request:
        places = _places(layout, labels)
        sums = sum(np.bincount(place, distances, layout.n_vectors) for place in places)
        return site.protected(request, {"scatter": np.rint(sums / unit).astype(np.int64)})
    out = _spread_along(block, codebook, labels, layout, request)
    return site.protected(request, {"spread": np.rint(out / unit).astype(np.int64)})


def _spread_along(
    block: Block, codebook: Any, labels: NDArray[np.int32], layout: Layout, request: Message
) -> NDArray[np.float64]:
    """``Σ w (x - v) ((x - v) · a)`` over the rows of some vectors, a a direction for each."""
    donors, directions = request["donors"], request["directions"]
    centers, out = _centers(codebook), np.zeros(directions.shape)
    for place in _places(layout, labels):
        for i, donor in enumerate(donors.tolist()):
            own = np.flatnonzero(place == donor)
            if len(own) == 0:
                continue
            away = block.dense_rows(own).astype(np.float64) - centers[labels[own]]
            out[i] += (block.weights[own] * (away @ directions[i])) @ away
    return out


def _centers(codebook: Any) -> NDArray[np.float64]:
    """All centroids in the engine's coordinates."""
    book = codebook
    if hasattr(book, "some_centers"):
        return book.some_centers(0, book.n_clusters).astype(np.float64)
    if hasattr(book, "protocentroids"):
        from polymeans.codebooks.aggregation import combine, split

        parts = [np.asarray(p, np.float64) for p in split(book.protocentroids, book.sizes)]
        return combine(parts, "sum")
    if hasattr(book, "centers"):
        return book.centers.astype(np.float64)
    return book.array / book.denominators[:, None]


# --- shared ----------------------------------------------------------------------------------


def keys(site: Site, request: Message) -> Message:
    """Agree on masks: a new public key, or the keys of the others."""
    if "public_keys" in request:
        site.memory["public_keys"] = dict(request["public_keys"])
        return {"known": len(request["public_keys"])}
    site.memory["private_key"] = masks.new_private_key().hex()
    site.memory["used_masks"] = []
    return {"public_key": masks.public_key(bytes.fromhex(site.memory["private_key"]))}


def _nearest(block: Block, codebook: Any) -> NDArray[np.int32]:
    return nearest_labels(block, codebook, np.full(block.n_samples, -1, dtype=np.int32))


def _places(layout: Layout, labels: NDArray[np.int32]) -> list[NDArray[np.int64]]:
    """For each set the vector that each row belongs to, numbered through all sets."""
    if layout.needs == "cells":
        return [labels.astype(np.int64)]
    places, stride, first = [], layout.n_cells, 0
    for h in layout.sizes:
        stride //= h
        places.append(first + labels.astype(np.int64) // stride % h)
        first += h
    return places


def _large_enough(
    site: Site, layout: Layout, labels: NDArray[np.int32], weights: NDArray[np.float64]
) -> tuple[NDArray[np.int64], int]:
    """Rows of vectors with enough rows, and how many vectors have too few.

    Leaving rows of one protocentroid out makes others smaller, so it is repeated.
    """
    n, least = len(labels), site.rules.min_count
    kept, suppressed = np.arange(n), np.zeros(layout.n_vectors, dtype=bool)
    if least <= 1:
        return kept, 0
    while True:
        places = _places(layout, labels[kept])
        members = np.zeros(layout.n_vectors)
        for place in places:
            members += np.bincount(place, weights[kept] > 0, layout.n_vectors)
        few = (members > 0) & (members < least)
        suppressed |= few
        if not few.any():
            return kept, int(suppressed.sum())
        kept = kept[~np.any([few[place] for place in places], axis=0)]


def _some(block: Block, kept: NDArray[np.int64]) -> Block:
    return block_of_some(block.rows_at(kept), block.weights[kept], block.frame, block.norms[kept])


def _only_without_privacy(site: Site) -> None:
    if site.rules.privacy is not None:
        raise RefusedError("with privacy, only noisy totals leave this site")


QUERIES: dict[str, Callable[[Site, Message], Message]] = {
    "announce": announce,
    "keys": keys,
    "ranges": ranges,
    "survey": survey_totals,
    "exponents": exponents,
    "bins": bins,
    "square": square,
    "square_about": square_about,
    "step": step,
    "measure": measure,
    "scatter": scatter,
    "summary": summary,
    "candidates": candidates,
    "nearest_counts": nearest_counts,
    "local": local_step,
}
