"""Successive halving: many short starts, and local search for ever fewer of them.

Nothing here depends on what vectors mean. A *problem* has ``descend(vectors, max_iter, tol,
rival)`` and ``move(kind, turn, vectors, value, seed)``, both in place, both returning an objective
and the passes over the rows they took. Every state has random numbers of its own, so the outcome
does not depend on the number of threads.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

#: Iterations of a short start, and of one that is kept; and the gain of an iteration, as a share of
#: the objective, at which either ends. Five iterations are enough to rank starts; found by
#: experiment, see docs/explanation/constants.rst.
SHORT_ITERATIONS, KEPT_ITERATIONS, START_TOL = 5, 30, 1e-3

#: A move is kept if it lowers the objective by more than this share, a tenth of the gain at which
#: trial descents end (1e-4): less than that is what the descent before has left undone.
GAIN = 1e-5

#: States closer than this share of the objective count as the same: twice the gain at which trial
#: descents end, since two of them in the same basin may stop that far apart.
DISTINCT = 2e-4


class Searched(Protocol):
    """A problem with vectors that can be descended and moved in place."""

    def descend(
        self, vectors: NDArray[np.float64], max_iter: int, tol: float, rival: float = np.inf
    ) -> tuple[float, int]:
        """The objective after a descent, and the passes it took."""

    def move(
        self, kind: str, turn: int, vectors: NDArray[np.float64], value: float, seed: int
    ) -> tuple[float, int]:
        """The objective after a perturbation and a descent, and the passes both took."""


@dataclass
class State:
    """A candidate: its vectors, what they cost, and how often each kind of move was tried."""

    vectors: NDArray[np.float64]
    value: float
    rng: np.random.Generator
    turns: dict[str, int] = field(default_factory=dict)
    n_moves: int = 0


def short_starts(
    problem: Searched,
    makers: Sequence[Callable[[np.random.Generator], NDArray[np.float64]]],
    n_starts: int,
    n_kept: int,
    rng: np.random.Generator,
    map_: Callable[..., list[Any]],
) -> list[State]:
    """The best of many starts after a few iterations each, then descended further."""

    def begin(job: tuple[int, np.random.Generator]) -> State:
        number, own = job
        vectors = makers[number % len(makers)](own)
        value, _ = problem.descend(vectors, SHORT_ITERATIONS, START_TOL)
        return State(vectors, value, own)

    def continue_(state: State) -> None:
        state.value, _ = problem.descend(state.vectors, KEPT_ITERATIONS, START_TOL)

    states = map_(begin, list(enumerate(rng.spawn(n_starts))))
    states = sorted(states, key=lambda state: state.value)[:n_kept]
    map_(continue_, states)
    return sorted(states, key=lambda state: state.value)


def local_search(
    problem: Searched,
    states: list[State],
    kinds: Sequence[str],
    budget: float,
    map_: Callable[..., list[Any]],
) -> list[State]:
    """Improve states by moves, halving their number until one is left.

    Each round shares an equal part of the budget (in passes) among the survivors. Returns all
    states, best first, including those dropped on the way.
    """
    n_rounds = int(np.ceil(np.log2(max(1, len(states))))) + 1
    survivors, dropped = list(states), []
    for _ in range(n_rounds):
        share = budget / n_rounds / len(survivors)
        map_(lambda state, share=share: improve(problem, state, kinds, share), survivors)
        survivors.sort(key=lambda state: state.value)
        half = max(1, (len(survivors) + 1) // 2)
        dropped += survivors[half:]
        survivors = survivors[:half]
    return sorted(survivors + dropped, key=lambda state: state.value)


def improve(problem: Searched, state: State, kinds: Sequence[str], budget: float) -> None:
    """Try moves in turn until the budget (in passes) is spent."""
    spent = 0
    while spent < budget:
        kind = kinds[state.n_moves % len(kinds)]
        turn = state.turns.get(kind, 0)
        state.n_moves += 1
        state.turns[kind] = turn + 1
        vectors = state.vectors.copy()
        seed = int(state.rng.integers(2**31))
        value, passes = problem.move(kind, turn, vectors, state.value, seed)
        spent += passes
        if np.isfinite(value) and value < state.value * (1 - GAIN):
            state.vectors, state.value = vectors, value
            state.turns["swap"] = 0  # the costs of removing vectors have changed


def distinct(states: list[State], n: int) -> list[State]:
    """The best states that differ from better ones."""
    kept: list[State] = []
    for state in states:
        if all(abs(state.value - other.value) > DISTINCT * other.value for other in kept):
            kept.append(state)
        if len(kept) == n:
            break
    return kept
