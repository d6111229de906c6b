"""A slice of the fuzzer that is the same each time: ``python -m benchmarks fuzz`` runs for longer.

A failure names the seed and the number of the problem; ``benchmarks.fuzz.shrink`` makes it smaller
and ``benchmarks.fuzz.reproducer`` shows it as a few lines.
"""

import sys
from pathlib import Path

import pytest

ROOT = str(Path(__file__).parents[1])
if ROOT not in sys.path:  # benchmarks are next to the tests, not part of the package
    sys.path.insert(0, ROOT)

from benchmarks.fuzz.areas import areas, make_case  # noqa: E402
from benchmarks.fuzz.judge import judge  # noqa: E402
from benchmarks.fuzz.reproducer import reproducer  # noqa: E402
from tests.marks import long  # noqa: E402

SEED, N_PROBLEMS, N_PARTS = 15, 400, 8

#: Parts of the default run; ``pytest -m long`` has the others.
N_SHORT = 1

#: Sizes that take seconds, and areas that draw or compile much, are left to the fuzzer itself.
_LARGE = {"threaded", "fast path", "bytes"}


@pytest.mark.parametrize("part", [*range(N_SHORT), *long(*range(N_SHORT, N_PARTS))])
def test_promises_are_kept(part):
    broken = []
    for number in range(part, N_PROBLEMS, N_PARTS):
        case = make_case(SEED, number)
        if case.traits & _LARGE:
            continue
        for promise, detail in judge(case).broken.items():
            broken.append(reproducer(case, promise, detail))
    assert not broken, "\n\n".join(broken)


def test_problems_are_the_same_each_time():
    for number in range(20):
        one, other = make_case(SEED, number), make_case(SEED, number)
        assert one.X.tobytes() == other.X.tobytes()
        assert repr(one.params) == repr(other.params)


def test_every_area_is_drawn():
    assert {make_case(SEED, number).area for number in range(2000)} == set(areas())
