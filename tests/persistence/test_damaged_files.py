"""Ten thousand damaged files: each is refused by one kind of error, or means the same as before.

The default run has a thousand of them, ``pytest -m long`` all.
"""

import tracemalloc

import numpy as np
import pytest

import polymeans
from polymeans.persistence import ModelFileError
from tests.marks import long
from tests.persistence.models import ESTIMATORS, fitted, same

#: For each estimator: together more than a thousand, and more than ten thousand in the long run.
N_DAMAGED, N_DAMAGED_LONG = 50, 470

#: Memory that reading a file may take for each of its bytes, and for what does not depend on it:
#: JSON of small lists and texts becomes some thirty times as large in Python.
_TIMES, _AT_LEAST = 40, 2**19


def damaged(content, rng):
    """A file with something of it changed: bytes, bits, parts, length."""
    content = bytearray(content)
    n = len(content)
    kind = rng.integers(9)
    if kind == 0:
        return bytes(content[: rng.integers(n)])
    if kind == 1:
        return bytes(content) + rng.bytes(int(rng.integers(1, 64)))
    if kind == 2:  # one bit, anywhere
        content[rng.integers(n)] ^= 1 << rng.integers(8)
    elif kind == 3:  # some bytes, anywhere
        for place in rng.integers(0, n, rng.integers(1, 20)):
            content[place] = rng.integers(256)
    elif kind == 4:  # a bit of the header
        content[rng.integers(min(n, 2000))] ^= 1 << rng.integers(8)
    elif kind == 5:  # a digit of the header
        digits = [i for i in range(8, min(n, 4000)) if 48 <= content[i] < 58]
        content[rng.choice(digits)] = rng.integers(48, 58)
    elif kind == 6:  # parts exchanged
        a, b = sorted(rng.integers(0, n, 2))
        content = content[a:b] + content[:a] + content[b:]
    elif kind == 7:  # a part removed or repeated
        a, b = sorted(rng.integers(0, n, 2))
        content = content[:a] + content[b:] if rng.random() < 0.5 else content[:b] + content[a:]
    else:  # zeros, as a file system leaves them after a crash
        a, b = sorted(rng.integers(0, n, 2))
        content[a:b] = bytes(b - a)
    return bytes(content)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("n_damaged", [N_DAMAGED, *long(N_DAMAGED_LONG)])
@pytest.mark.parametrize("name", ESTIMATORS)
def test_damaged_files_are_refused_or_mean_the_same(name, n_damaged, tmp_path):
    model = fitted(name, "frame")
    path = tmp_path / "m"
    polymeans.save(model, path)
    content, state = path.read_bytes(), dict(model.__getstate__())
    polymeans.load(path)  # imports what there is to import
    rng = np.random.default_rng(list(ESTIMATORS).index(name))
    messages = []
    tracemalloc.start()
    try:
        for _ in range(n_damaged):
            changed = damaged(content, rng)
            path.write_bytes(changed)
            tracemalloc.reset_peak()
            before = tracemalloc.get_traced_memory()[0]
            try:
                again = polymeans.load(path)
            except ModelFileError as error:
                messages.append(str(error))
            else:
                assert same(dict(again.__getstate__()), state)
            peak = tracemalloc.get_traced_memory()[1] - before
            assert peak < _AT_LEAST + _TIMES * len(changed)
    finally:
        tracemalloc.stop()
    assert len(messages) > 0.9 * n_damaged
    assert all(str(path) in message and "\n" not in message for message in messages)


def test_they_are_ten_thousand():
    assert N_DAMAGED * len(ESTIMATORS) > 1_000
    assert N_DAMAGED_LONG * len(ESTIMATORS) > 10_000
