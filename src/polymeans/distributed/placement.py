"""Blocks on the workers of a Dask cluster."""

import pickle
import uuid
from collections.abc import Callable, Sequence
from itertools import count
from typing import Any

import dask
import numpy as np
from dask.delayed import delayed

from polymeans.core.frame import MeasuredFrame
from polymeans.distributed.replay import Record, Visit, effect_of, still_needed
from polymeans.distributed.tasks import Order, Outcome, Visits, hold, merge, visit

#: How often a task is tried again that fails, for instance because of a lost connection.
RETRIES = 3

#: Outcomes that one task adds up.
_MERGED = 8

_NO_OWN = pickle.dumps(())


class OnWorkers:
    """Blocks that stay with the workers of a cluster; visitors travel to them.

    A visit is one task for each block, and a tree of tasks that add up what they return. Visitors
    and their arguments are in one more task, which workers get them from. What is kept of a block
    is where the block is. If it is lost together with its worker, the task says so, and a second
    one repeats the visits that it stems from.

    Parameters
    ----------
    client : distributed.Client
    blocks : list of Delayed
        Each a :class:`~polymeans.distributed.placed_block.PlacedBlock`, persisted.
    shape : tuple of int
        Rows of all blocks, features.
    dtype : dtype
    is_sparse : bool
    sizes : sequence of int
        Rows of each block.
    n_threads : int
        Threads of one task.
    one_blas_thread : bool
        Whether BLAS is kept to one thread.
    """

    keeps_blocks = False

    def __init__(
        self,
        client: Any,
        blocks: list[Any],
        shape: tuple[int, int],
        dtype: np.dtype[Any],
        is_sparse: bool,
        sizes: Sequence[int],
        n_threads: int = 1,
        one_blas_thread: bool = False,
    ) -> None:
        self.shape, self.dtype, self.is_sparse = shape, dtype, is_sparse
        self.sizes = tuple(sizes)
        self._client, self._blocks = client, blocks
        self._threads = n_threads, one_blas_thread
        self._frame: MeasuredFrame | None = None
        self._name, self._clock, self._now = uuid.uuid4().hex, count(), 0
        self._versions: list[int | None] = [None] * len(blocks)
        #: Visits that what is kept of each block stems from, and those that still have to be made.
        self._logs: list[list[Record]] = [[] for _ in blocks]
        self._waiting: list[list[Record]] = [[] for _ in blocks]

    def see(self, frame: MeasuredFrame | None) -> None:
        """Show blocks through this frame from now on."""
        self._frame = frame

    def map(
        self,
        function: Callable[..., Any],
        *args: Any,
        per_block: Sequence[tuple[Any, ...]] | None = None,
        only: Sequence[int] | None = None,
    ) -> list[Any]:
        """``function(block, kept, *own, *args)`` of each block."""
        return self._each(self._visit(function, args, True), per_block, only)

    def recall(
        self,
        function: Callable[..., Any],
        *args: Any,
        per_block: Sequence[tuple[Any, ...]] | None = None,
        only: Sequence[int] | None = None,
    ) -> list[Any]:
        """``function(kept, *own, *args)`` of each block."""
        made = self._visit(function, args, False)
        if effect_of(function).waits:
            numbers, records = self._records(made, per_block, only)
            for number, record in zip(numbers, records):
                self._waiting[number].append(record)
            return [None] * len(numbers)
        return self._each(made, per_block, only)

    def reduce(
        self,
        function: Callable[..., Any],
        *args: Any,
        per_block: Sequence[tuple[Any, ...]] | None = None,
        only: Sequence[int] | None = None,
    ) -> Any:
        """The same as :meth:`map`, added up with ``+`` on the workers."""
        made = self._visit(function, args, True)
        numbers, records = self._records(made, per_block, only)
        (total,) = self._run(made, numbers, records, merged=True)
        if total.lost:
            at = dict(zip(numbers, records))
            again = [at[number] for number in total.lost]
            total += self._run(made, total.lost, again, merged=True, rebuilt=True)[0]
        self._remember(made, numbers, records)
        return total.value

    def release(self) -> None:
        """Let go of what only seeding needs, which seeding has done."""

    def close(self) -> None:
        """Let the cluster release the blocks."""
        self._blocks = []
        self._logs = self._waiting = []

    # --- the parts of a visit ----------------------------------------------------------------

    def _visit(self, function: Callable[..., Any], args: tuple[Any, ...], reads: bool) -> Visit:
        self._now = next(self._clock)
        frame = self._frame if reads else None
        sets = frozenset(effect_of(function).sets)
        return Visit(function, pickle.dumps(args, protocol=5), frame, reads, sets)

    def _records(
        self,
        made: Visit,
        per_block: Sequence[tuple[Any, ...]] | None,
        only: Sequence[int] | None,
    ) -> tuple[Sequence[int], list[Record]]:
        numbers = range(len(self.sizes)) if only is None else only
        owns = [_NO_OWN] * len(numbers)
        if per_block is not None:
            owns = [pickle.dumps(own, protocol=5) for own in per_block]
        return numbers, [Record(made, own) for own in owns]

    def _each(
        self,
        made: Visit,
        per_block: Sequence[tuple[Any, ...]] | None,
        only: Sequence[int] | None,
    ) -> list[Any]:
        numbers, records = self._records(made, per_block, only)
        if not len(numbers):
            return []
        outcomes = self._run(made, numbers, records)
        lost = [at for at, outcome in enumerate(outcomes) if outcome.lost]
        if lost:
            which = [numbers[at] for at in lost]
            again = self._run(made, which, [records[at] for at in lost], rebuilt=True)
            for at, outcome in zip(lost, again):
                outcomes[at] = outcome
        self._remember(made, numbers, records)
        return [outcome.value for outcome in outcomes]

    def _remember(self, made: Visit, numbers: Sequence[int], records: Sequence[Record]) -> None:
        """What is kept of some blocks is another one now."""
        for number, record in zip(numbers, records):
            steps = self._waiting[number] + ([record] if made.sets else [])
            if steps:
                self._logs[number] = still_needed(self._logs[number] + steps)
                self._waiting[number] = []
                self._versions[number] = self._now

    def _run(
        self,
        made: Visit,
        numbers: Sequence[int],
        records: Sequence[Record],
        merged: bool = False,
        rebuilt: bool = False,
    ) -> list[Outcome]:
        """Make visits that wait for blocks, and then this one.

        If ``rebuilt``, the visits that what is kept stems from are repeated before these.
        """
        sent: list[Visit] = []
        positions: dict[int, int] = {}

        def position(visit: Visit, repeated: bool) -> int:
            if id(visit) not in positions:
                positions[id(visit)] = len(sent)
                sent.append(visit.repeated() if repeated else visit)
            return positions[id(visit)]

        orders = []
        for number, record in zip(numbers, records):
            waiting, present = self._waiting[number], self._versions[number]
            before = self._logs[number] + waiting if rebuilt else waiting
            steps = [(position(step.visit, True), step.own) for step in before]
            steps.append((position(made, False), record.own))
            version = self._now if waiting or made.sets else present if rebuilt else None
            start = None if rebuilt else present
            orders.append(Order(number, start, tuple(steps), version))
        name = f"polymeans-{made.function.__name__.strip('_').replace('_', '-')}"
        end = f"{self._now}-{'again-' if rebuilt else ''}{self._name}"
        return self._compute(name, end, Visits(tuple(sent), *self._threads), orders, merged)

    def _compute(
        self, name: str, end: str, visits: Visits, orders: Sequence[Order], merged: bool
    ) -> list[Outcome]:
        # Pickled, because Dask would look into whatever else it is given.
        arguments = pickle.dumps(visits, protocol=5)
        held = delayed(hold)(arguments, dask_key_name=f"polymeans-arguments-{end}")
        level = [
            delayed(visit)(
                self._blocks[order.number],
                held,
                pickle.dumps(order, protocol=5),
                dask_key_name=f"{name}-{end}-{order.number}",
            )
            for order in orders
        ]
        depth = 0
        while merged and len(level) > 1:
            level = [
                delayed(merge)(
                    level[at : at + _MERGED], dask_key_name=f"polymeans-merge-{end}-{depth}-{at}"
                )
                for at in range(0, len(level), _MERGED)
            ]
            depth += 1
        # Arguments have to be sent somehow, and a warning about their size would not help a user.
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1TB"}):
            futures = self._client.compute(level, optimize_graph=False, retries=RETRIES)
        return self._client.gather(futures)
