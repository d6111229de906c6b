"""All areas: how their problems are drawn and checked, and which share of problems each has."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial

import numpy as np

from benchmarks.fuzz import estimators, promises
from benchmarks.fuzz.case import BrokenPromiseError, Case
from benchmarks.fuzz.functions import FUNCTIONS


@dataclass(frozen=True)
class Area:
    """How problems of one area are made and judged.

    Parameters
    ----------
    share : float
        Relative number of problems.
    draw : callable
        ``draw(rng, area, seed, number)`` returns a case.
    check : callable
        ``check(case)`` yields the name of each promise that was kept. For one that was not it
        raises the error, or yields it if others can still be checked.
    """

    share: float
    draw: Callable[..., Case]
    check: Callable[[Case], Iterator[str | BrokenPromiseError]]


@cache
def areas() -> dict[str, Area]:
    """Every area by its name."""
    found = {
        name: Area(entry[0], partial(estimators.draw), promises.check)
        for name, entry in estimators.AREAS.items()
    }
    for name, (share, draw, check) in FUNCTIONS.items():
        found[name] = Area(share, draw, check)
    return found


@cache
def _chances() -> tuple[list[str], np.ndarray]:
    shares = np.array([area.share for area in areas().values()])
    return list(areas()), np.cumsum(shares / shares.sum())


def area_of(seed: int, number: int) -> str:
    """The area of a problem, without making it."""
    names, edges = _chances()
    # Not 0 as the third number: a trailing zero would not change the stream, and the first draw of
    # every problem would be the one that chose its area.
    place = int(np.searchsorted(edges, np.random.default_rng([seed, number, 99]).random()))
    return names[min(place, len(names) - 1)]


def make_case(seed: int, number: int) -> Case:
    """The problem that a seed and a number stand for.

    Parameters
    ----------
    seed, number : int

    Returns
    -------
    Case
    """
    area = area_of(seed, number)
    with np.errstate(all="ignore"):
        return areas()[area].draw(np.random.default_rng([seed, number]), area, seed, number)
