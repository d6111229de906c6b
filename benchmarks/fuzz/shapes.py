"""Sizes of problems: mostly tiny, some that take the fast paths, few that use threads."""

import numpy as np

#: Multiplications of a pass above which the library leaves its simplest path, and above which it
#: starts threads. Written down here and not imported: the fuzzer knows nothing of the inside.
FAST, THREADED = 2**21, 2**24

#: Rows, and features times clusters, from which on rows are rounded to bytes. Written down, too.
MANY_ROWS, MANY_NUMBERS = 4096, 2**16

#: Sizes of which few are drawn, and with few expensive checks.
LARGE = ("fast path", "threaded", "bytes")


def draw_shape(rng: np.random.Generator, largest: int = THREADED) -> tuple[int, int, int, str]:
    """Rows, columns, clusters, and the name of the size.

    Parameters
    ----------
    rng : numpy Generator
    largest : int
        Multiplications of the largest problem; expensive estimators ask for less.
    """
    chance = rng.random()
    if chance < 0.002 and largest >= THREADED:
        d = int(rng.integers(64, 400))
        return MANY_ROWS, d, max(64, MANY_NUMBERS // d + 1), "bytes"
    if chance < 0.005 and largest >= THREADED:
        return *_of_work(rng, 1.1 * THREADED), "threaded"
    if chance < 0.03 and largest >= FAST:
        return *_of_work(rng, 1.1 * FAST), "fast path"
    if chance < 0.06:
        n, d, k = int(rng.integers(1, 4)), int(rng.integers(1, 4)), 1
        return n, d, int(rng.integers(k, n + 1)), "one to three rows"
    if chance < 0.16:
        n = int(rng.integers(30, 300))
        return n, int(rng.integers(1, 70)), int(rng.integers(1, min(n, 40))), "hundreds of rows"
    n = int(rng.integers(2, 30))
    return n, int(rng.integers(1, 8)), int(rng.integers(1, min(n, 8) + 1)), "few rows"


def _of_work(rng: np.random.Generator, work: float) -> tuple[int, int, int]:
    d, k = int(rng.integers(2, 80)), int(rng.integers(3, 60))
    return max(k, int(work / (d * k)) + 1), d, k
