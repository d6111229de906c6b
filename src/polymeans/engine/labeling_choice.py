"""Whether rows are labeled faster by the factors of centroids or by the table of centroids."""

import logging
import time

import numpy as np

from polymeans.codebooks.factored import FactoredCodebook
from polymeans.core.rows import is_csr
from polymeans.engine.assignment import make_assigner, make_codebook
from polymeans.engine.factored_assigner import FactoredScores, unmeasured_block
from polymeans.engine.runners import BaseRunner
from polymeans.engine.survey import glance

logger = logging.getLogger("polymeans")

#: Multiplications of a pass over the rows below which nothing is measured: such a pass takes
#: milliseconds, in which timings vary more than the two ways differ.
_WORTH_MEASURING = 2**24

#: Rows that are labeled for a measurement: enough for several blocks in each of a few threads,
#: and a small part of the work of a fit.
_MEASURED_ROWS = 8192

#: Times each way is measured, the least counting; the first time may include compilation.
_REPEATS = 3

#: Multiplications of a dense product that take as long as one with a sparse factor, which loads an
#: index for each.
_DENSE_PER_SPARSE = 2


def fewer_multiplications(codebook: FactoredCodebook) -> str:
    """Which way, "factored" or "dense", takes less work by the numbers of entries."""
    dense = codebook.n_clusters * codebook.n_features
    return "factored" if _DENSE_PER_SPARSE * codebook.n_parameters < dense else "dense"


def shorter_time(runner: BaseRunner, codebook: FactoredCodebook) -> str:
    """Which way, "factored" or "dense", takes less time, measured where there are many rows."""
    if runner.n_stored * codebook.n_clusters < _WORTH_MEASURING:
        return fewer_multiplications(codebook)
    # Everything that predict does, in the rows' own coordinates.
    n_rows = min(_MEASURED_ROWS, runner.frame.n_samples)
    X = runner.rows_at(np.arange(n_rows))
    weights, labels = np.ones(n_rows), np.full(n_rows, -1, dtype=np.int32)
    given = codebook.factors, codebook.offset, codebook.centers

    def factored() -> None:
        new = glance(X, weights) if is_csr(X) else unmeasured_block(X, codebook.centers)
        book = FactoredCodebook.given(new.frame, *given)
        FactoredScores(new, book).assign(book, labels, labels)

    def dense() -> None:
        new = glance(X, weights)
        book = make_codebook(new.frame, codebook.centers)
        make_assigner(new, book, "lloyd").assign(book, labels, labels)

    ways = {"factored": factored, "dense": dense}
    seconds = dict.fromkeys(ways, np.inf)
    for _ in range(_REPEATS):
        for name, label in ways.items():
            began = time.perf_counter()
            label()
            seconds[name] = min(seconds[name], time.perf_counter() - began)
    faster = min(seconds, key=seconds.__getitem__)
    logger.debug("predict will use %s centroids: %s seconds", faster, seconds)
    return faster
