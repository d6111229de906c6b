"""What workers do in a visit. Each function is a task, or part of one."""

import pickle
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from polymeans._first_import import import_numba
from polymeans.core.threads import Threads
from polymeans.distributed.placed_block import PlacedBlock
from polymeans.distributed.replay import Visit
from polymeans.engine.placement import Kept, seen_block
from polymeans.engine.prepared import RawBlock


@dataclass(frozen=True)
class Visits:
    """Visits that tasks refer to by position, and how many threads a task has."""

    visits: tuple[Visit, ...]
    n_threads: int
    one_blas_thread: bool


@dataclass(frozen=True)
class HeldVisits:
    """The same on a worker, with the arguments of each visit."""

    visits: tuple[tuple[Visit, tuple[Any, ...]], ...]
    threads: tuple[int, bool]


@dataclass(frozen=True)
class Order:
    """What is to be done with one block."""

    number: int
    start: int | None  #: version of what is kept before; None: begin with nothing
    steps: tuple[tuple[int, bytes], ...]  #: visits, and arguments for this block
    version: int | None  #: of what is kept afterwards; None: it does not change


@dataclass
class Outcome:
    """What visits of some blocks return, and which blocks had nothing kept to begin with."""

    value: Any
    is_empty: bool
    lost: tuple[int, ...] = ()

    def __add__(self, other: "Outcome") -> "Outcome":
        lost = self.lost + other.lost
        if self.is_empty or other.is_empty:
            some = other if self.is_empty else self
            return Outcome(some.value, some.is_empty, lost)
        return Outcome(self.value + other.value, False, lost)


def hold(pickled: bytes) -> HeldVisits:
    """Visits as a worker has them; other workers fetch them from there."""
    sent: Visits = pickle.loads(pickled)
    opened = [(replace(visit, args=b""), pickle.loads(visit.args)) for visit in sent.visits]
    return HeldVisits(tuple(opened), (sent.n_threads, sent.one_blas_thread))


def visit(block: PlacedBlock, held: HeldVisits, pickled: bytes) -> Outcome:
    """Carry out an order for a block, and return what its last step returns."""
    order: Order = pickle.loads(pickled)
    kept = block.kept(order.start)
    if kept is None:
        return Outcome(None, True, (order.number,))
    kept = replace(kept)
    value = None
    import_numba()
    # Squares of extreme values may be out of range: what is infinite then is looked after.
    with Threads(*held.threads), np.errstate(all="ignore"):
        for position, own in order.steps:
            step, args = held.visits[position]
            value = _take(step, block, kept, (*pickle.loads(own), *args))
    if order.version is not None:
        block.keep(kept, order.version, order.start)
    return Outcome(value, False)


def merge(outcomes: Sequence[Outcome]) -> Outcome:
    """Add up what several visits returned, from left to right."""
    total = outcomes[0]
    for outcome in outcomes[1:]:
        total = total + outcome
    return total


def _take(step: Visit, block: PlacedBlock, kept: Kept, args: tuple[Any, ...]) -> Any:
    before = dict(vars(kept))
    if not step.reads:
        value = step.function(kept, *args)
    elif step.frame is None:
        value = step.function(RawBlock(block.rows, block.weights), kept, *args)
    else:
        seen = seen_block(RawBlock(block.rows, None), kept, step.frame)
        value = step.function(seen, kept, *args)
    after = vars(kept)
    changed = {f.name for f in fields(kept) if after[f.name] is not before[f.name]}
    if not changed <= step.sets:
        raise RuntimeError(
            f"{step.function.__name__} changes {', '.join(sorted(changed - step.sets))} of what is "
            "kept of a block, which polymeans.distributed.replay does not know of."
        )
    return value
