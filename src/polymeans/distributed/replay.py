"""What has to be repeated to know again what was kept of a block.

Each visit that changes what is kept says which fields it sets and from which ones. Going back over
the visits of a block, those that no present field stems from are forgotten: the log of a fit of
hundreds of iterations has the last two of them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from polymeans.codebooks.base import BaseCodebook
from polymeans.core.frame import MeasuredFrame
from polymeans.engine import margins, parallel_seeding, plus_plus, survey, visits
from polymeans.engine.blocks import Block
from polymeans.engine.placement import Kept
from polymeans.spaces import glimpse

_FIELDS = frozenset(f.name for f in fields(Kept)) - {"first", "n_samples"}

#: What blocks are seen with.
_SEEN = ("weights", "directionless")


@dataclass(frozen=True)
class Effect:
    """What a visitor does to what is kept."""

    #: Fields that it sets, and the fields before that these stem from.
    sets: dict[str, tuple[str, ...]] = field(default_factory=dict)
    #: Does the same to what is kept, with the same arguments, and nothing else.
    again: Callable[..., Any] | None = None
    #: Returns nothing, so that it can wait until the next visit.
    waits: bool = False


def label_again(block: Block, kept: Kept, codebook: BaseCodebook, *_: Any) -> None:
    """The labels of :func:`polymeans.engine.visits.assign_and_add_up`, without totals."""
    kept.replace_labels(margins.nearest_labels(block, codebook, kept.labels_or_none_yet()))
    kept.gaps = None  # the next visit looks at all rows


def approach_again(block: Block, kept: Kept, codebook: Any, n_before: int, *_: Any) -> None:
    """The distances of a round of k-means‖, without drawing."""
    parallel_seeding.approach(block, kept, codebook, n_before)


_DISTANCES = {"closest": ("closest", *_SEEN), "nearest": ("closest", "nearest", *_SEEN)}
_NOTHING_LEFT: dict[str, tuple[str, ...]] = {"closest": (), "nearest": (), "candidates": ()}

#: Visitors that are not listed change nothing; workers make sure of that.
EFFECTS: dict[Callable[..., Any], Effect] = {
    survey.survey_block: Effect({"weights": (), "directionless": ()}),
    glimpse.glimpse_of_block: Effect({"weights": ()}),
    # Labels are the nearest centroids, whatever they were before.
    visits.assign_and_add_up: Effect(
        {"labels": _SEEN, "previous": ("labels", *_SEEN), "gaps": ()}, label_again
    ),
    visits.forget_labels: Effect({"labels": (), "previous": (), "gaps": ()}, waits=True),
    visits.forget_bounds: Effect({"previous": (), "gaps": ()}, waits=True),
    visits.adopt_labels: Effect({"labels": (), "previous": (), "gaps": ()}, waits=True),
    visits.change_labels: Effect(
        {"labels": ("labels",), "previous": ("previous", "labels"), "gaps": ("gaps",)}, waits=True
    ),
    parallel_seeding.draw_next: Effect(_DISTANCES, approach_again),
    parallel_seeding.gather: Effect(_DISTANCES, approach_again),
    plus_plus.accept_candidate: Effect({"closest": ("closest", *_SEEN)}),
    plus_plus.forget_distances: Effect(_NOTHING_LEFT, waits=True),
}
_NONE = Effect()


def effect_of(function: Callable[..., Any]) -> Effect:
    """What a visitor does to what is kept."""
    return EFFECTS.get(function, _NONE)


@dataclass(frozen=True)
class Visit:
    """One visit of some blocks: a visitor, its arguments, and the frame it sees blocks through."""

    function: Callable[..., Any]
    args: bytes  #: pickled when the visit is made: codebooks change in place afterwards
    frame: MeasuredFrame | None
    reads: bool  #: the rows of a block, and not only what is kept of it
    sets: frozenset[str]  #: fields of what is kept

    def repeated(self) -> "Visit":
        """The same without what is not kept."""
        again = effect_of(self.function).again
        return Visit(again or self.function, self.args, self.frame, self.reads, self.sets)


@dataclass(frozen=True)
class Record:
    """A visit of one block."""

    visit: Visit
    own: bytes  #: arguments for this block alone, pickled


def still_needed(log: Sequence[Record]) -> list[Record]:
    """The visits of a block that what is kept of it now stems from, in their order."""
    wanted, needed = set(_FIELDS), []
    for record in reversed(log):
        sets = effect_of(record.visit.function).sets
        now = wanted & sets.keys()
        if now:
            needed.append(record)
            wanted = (wanted - now).union(*(sets[name] for name in now))
    return needed[::-1]
