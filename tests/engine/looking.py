"""Labels and gaps by a looker, and slow versions of both."""

import numpy as np

from polymeans.core.threads import Threads
from polymeans.engine.assignment import make_codebook
from polymeans.engine.nearest import decide_contested
from polymeans.engine.runners import LocalRunner


def labels_and_gaps(looker, X, C, likely=None):
    """What a class of lookers finds, contested labels being decided, and the unit of gaps."""
    with Threads(2):
        block = LocalRunner(X, np.ones(len(X))).block
        book = make_codebook(block.frame, C)
        previous = np.full(len(X), -1, dtype=np.int32) if likely is None else likely
        labels = np.full(len(X), -1, dtype=np.int32)
        gaps = np.empty(len(X), dtype=np.float32)
        looker(block, len(C)).assign_with_gaps(book, previous, labels, gaps)
        decide_contested(block, book, labels)
    return labels, gaps, block.frame.unit


def distances(X, C):
    X, C = X.astype(np.longdouble), C.astype(np.longdouble)
    return np.sqrt(((X[:, None] - C[None]) ** 2).sum(axis=2))


def check(looker, X, C, likely=None):
    """Every row has its nearest centroid, and no gap is overstated."""
    labels, gaps, unit = labels_and_gaps(looker, X, C, likely)
    far = distances(X, C)
    assert (labels == far.argmin(axis=1)).all()
    nearest_two = np.sort(far, axis=1)[:, :2]
    if len(C) > 1:
        assert (gaps * unit <= nearest_two[:, 1] - nearest_two[:, 0]).all()
    assert (gaps >= 0).all()
