"""Labels through a product of sparse factors, against the dense product: many rows, one row.

Every case has k centroids that are a product of sparse factors with the non-zeros the paper's
sparsity level 3 guarantees, and with twice as many, which its projection leaves at most; as two
factors and as the paper's chain of ``log2`` many. With ``--data``, factors fitted to MNIST too.
"""

import statistics
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

from benchmarks.data import load
from benchmarks.harness import Report
from polymeans.codebooks.dense import DenseCodebook
from polymeans.core.threads import Threads, effective_n_threads
from polymeans.engine.dense_assigners import DenseLloyd
from polymeans.engine.survey import glance
from polymeans.factorization import FastOperator, guaranteed_n_nonzeros, published_n_factors

N_ROWS = 20000
SHAPES = [(256, 2352), (1024, 1024), (64, 784)]
#: Shapes of factors that are fitted, to MNIST with or without an edge of zeros.
FITTED = [(64, 784), (1024, 1024)]
SPARSITY_LEVEL = 3
#: Rows a thread of the blocked dense product takes: their scores stay in cache.
BLOCK = 512
#: Seconds the rounds of one case may take if they are not too few then.
PATIENCE = 8.0


def run(options: Any, report: Report) -> None:
    """All shapes, then single rows, then what is fitted."""
    for k, d in SHAPES:
        for times in (1, 2):
            title = f"k={k} d={d} level {SPARSITY_LEVEL} x{times}"
            if options.only in title:
                _batch(title, _operators(k, d, times), None, options, report)
    for k, d in FITTED:
        title = f"k={k} d={d} mnist"
        if options.data is not None and options.only in title:
            _fitted(title, k, d, options, report)
    if options.only in "single rows":
        _single(options, report)


def _operators(k: int, d: int, times: int) -> dict[str, tuple[FastOperator, np.ndarray]]:
    rng = np.random.default_rng(0)
    budget = times * guaranteed_n_nonzeros((k, d), SPARSITY_LEVEL)
    inner = int(1.5 * min(k, d))
    pair = [_scattered((k, inner), budget // 2, rng), _scattered((inner, d), budget // 2, rng)]
    n_factors, short = published_n_factors((k, d)), min(k, d)
    shapes = [(k, short), *[(short, short)] * (n_factors - 2), (short, d)]
    chain = [_even(shape, SPARSITY_LEVEL * times, rng) for shape in shapes]
    nowhere = np.zeros(d, dtype=np.float32)
    return {
        "two factors": (FastOperator(pair), nowhere),
        f"chain of {n_factors}": (FastOperator(chain), nowhere),
    }


def _scattered(shape: tuple[int, int], n_nonzeros: int, rng: Any) -> sp.csr_array:
    """Entries anywhere."""
    density = min(1.0, n_nonzeros / (shape[0] * shape[1]))
    factor = sp.random_array(
        shape, density=density, rng=rng, data_sampler=rng.standard_normal, format="csr"
    )
    return factor.astype(np.float32)


def _even(shape: tuple[int, int], level: int, rng: Any) -> sp.csr_array:
    """As many entries in each row or column of the longer side, and evenly spread in the other."""
    longer, shorter = max(shape), min(shape)
    along = np.tile(np.arange(longer), level)
    across = np.concatenate(
        [rng.permutation(np.resize(np.arange(shorter), longer)) for _ in range(level)]
    )
    where = (along, across) if shape[0] >= shape[1] else (across, along)
    values = rng.standard_normal(longer * level).astype(np.float32)
    return sp.csr_array((values, where), shape=shape)


def _rows(operator: FastOperator, n_rows: int) -> np.ndarray:
    """Rows around the centroids."""
    rng = np.random.default_rng(1)
    V = operator.toarray()
    X = V[rng.integers(0, len(V), n_rows)]
    return X + np.float32(V.std()) * rng.standard_normal(X.shape, dtype=np.float32)


def _fitted(title: str, k: int, d: int, options: Any, report: Report) -> None:
    from polymeans import QuickKMeans

    X = load(options.data, "mnist")["X"][:N_ROWS].astype(np.float32) / 255
    edge = (int(np.sqrt(d)) - 28) // 2
    images = np.pad(X.reshape(-1, 28, 28), ((0, 0), (edge, edge), (edge, edge)))
    X = np.ascontiguousarray(images.reshape(len(X), d))
    operators = {}
    for times in (1, 2) if k < 512 else (1,):
        budget = times * guaranteed_n_nonzeros((k, d), SPARSITY_LEVEL)
        model = QuickKMeans(k, n_nonzeros=budget, max_iter=5, random_state=0).fit(X)
        loss = model.inertia_ / model.kmeans_inertia_
        name = f"fitted x{times}, loss {loss:.3f}"
        operators[name] = (model.operator_, model.offset_, model)
    _batch(title, operators, X, options, report)


def _batch(
    title: str, operators: dict[str, Any], X: np.ndarray | None, options: Any, report: Report
) -> None:
    table = []
    for name, (operator, offset, *model) in operators.items():
        V = operator.toarray()
        rows = _rows(operator, N_ROWS) if X is None else X
        contenders = _contenders(operator, V, offset, rows)
        for estimator in model:
            contenders[f"predict ({estimator.assignment_})"] = partial(estimator.predict, rows)
        seconds, labels = _alternate(contenders, options.repeats)
        ours = seconds["factors"]
        for other, median in seconds.items():
            row = {"": other, "ms": 1e3 * median, "ratio": median / ours}
            if labels[other] is not None:
                row["equal labels"] = float(np.mean(labels[other] == labels["factors"]))
            table.append({"operator": f"{name}, {operator.nnz} non-zeros"} | row)
    note = "ratio: time of each in units of ours (factors); medians, everybody in turn"
    report.table(f"{title}, {N_ROWS} rows float32", table, note)


def _contenders(
    operator: FastOperator, V: np.ndarray, offset: np.ndarray, X: np.ndarray
) -> dict[str, Callable[[], Any]]:
    offsets = np.einsum("ij,ij->i", V, V, dtype=np.float64) + 2 * V.astype(np.float64) @ offset
    halves = (0.5 * offsets).astype(np.float32)
    transposed = np.ascontiguousarray(V.T)
    contenders: dict[str, Callable[[], Any]] = {
        "factors": lambda: operator.nearest(X, offsets),
        "factors, exact labels": _exact(operator, offset, X),
        "dense product, argmin": lambda: (halves - X @ V.T).argmin(axis=1),
        "dense product in blocks, argmin": lambda: _blocked(X, transposed, halves),
        "polymeans dense, exact labels": _exact_dense(V, offset, X),
    }
    try:
        from faiss import IndexFlatL2
    except ImportError:
        pass
    else:
        index = IndexFlatL2(X.shape[1])
        index.add(V + offset)
        contenders["faiss IndexFlatL2"] = lambda: index.search(X, 1)[1][:, 0]
    contenders["reading the rows"] = lambda: _read(X)
    return contenders


def _exact(operator: FastOperator, offset: np.ndarray, X: np.ndarray) -> Callable[[], Any]:
    """The labels exact scores define; rows are checked and measured on the way."""
    from polymeans.codebooks.factored import FactoredCodebook
    from polymeans.engine.factored_assigner import FactoredScores, unmeasured_block

    rows = unmeasured_block(X, operator.toarray() + offset)
    codebook = FactoredCodebook(rows.frame, operator.factors, offset.astype(np.float64))
    return partial(_labels, FactoredScores(rows, codebook), codebook, len(X))


def _exact_dense(V: np.ndarray, offset: np.ndarray, X: np.ndarray) -> Callable[[], Any]:
    """The same from the table of centroids, once the rows are checked and measured."""
    with Threads():
        rows = glance(X, np.ones(len(X)))
    codebook = DenseCodebook(V + offset)
    return partial(_labels, DenseLloyd(rows, len(V)), codebook, len(X))


def _labels(assigner: Any, codebook: Any, n_rows: int) -> np.ndarray:
    labels = np.full(n_rows, -1, dtype=np.int32)
    with Threads():
        assigner.assign(codebook, labels.copy(), labels)
    return labels


def _blocked(X: np.ndarray, transposed: np.ndarray, halves: np.ndarray) -> np.ndarray:
    """The strongest form of the dense product we know: threads outside, scores kept in cache."""
    labels = np.empty(len(X), dtype=np.int64)

    def part(lo: int) -> None:
        block = slice(lo, lo + BLOCK)
        scores = X[block] @ transposed
        np.subtract(halves, scores, out=scores)
        labels[block] = scores.argmin(axis=1)

    with Threads(one_blas_thread=True) as threads:
        threads.map(part, range(0, len(X), BLOCK))
    return labels


def _read(X: np.ndarray) -> None:
    n_threads = effective_n_threads()
    with ThreadPoolExecutor(n_threads) as pool:
        list(pool.map(np.max, np.array_split(X, n_threads)))


def _alternate(
    contenders: dict[str, Callable[[], Any]], repeats: int
) -> tuple[dict[str, float], dict[str, Any]]:
    """Median seconds of each, everybody in turn; and what they returned."""
    results = {name: call() for name, call in contenders.items()}  # compiles, touches everything
    began = time.perf_counter()
    for call in contenders.values():
        call()
    # A busy machine disturbs short calls most, and for them there is time to repeat.
    rounds = int(np.clip(PATIENCE / (time.perf_counter() - began), repeats, 8 * repeats))
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, call in contenders.items():
            began = time.perf_counter()
            call()
            seconds[name].append(time.perf_counter() - began)
    return {name: statistics.median(times) for name, times in seconds.items()}, results


def _single(options: Any, report: Report) -> None:
    """Latency of one row, nothing checked, one thread."""
    table = []
    for k, d in [*SHAPES, (512, 1024)]:
        for name, (operator, _) in _operators(k, d, 1).items():
            V = operator.toarray()
            X = _rows(operator, 500)
            offsets = np.einsum("ij,ij->i", V, V)
            halves = 0.5 * offsets

            def factored(operator=operator, X=X, offsets=offsets) -> list[int]:
                return [operator.nearest_one(x, offsets) for x in X]

            def dense(V=V, X=X, halves=halves) -> list[int]:
                return [int((V @ x - halves).argmax()) for x in X]

            with threadpool_limits(1):
                seconds, labels = _alternate({"factors": factored, "dense": dense}, options.repeats)
            table.append(
                {
                    "": f"k={k} d={d} {name}",
                    "non-zeros": operator.nnz,
                    "factors us": 1e6 * seconds["factors"] / len(X),
                    "dense us": 1e6 * seconds["dense"] / len(X),
                    "ratio": seconds["dense"] / seconds["factors"],
                    "equal labels": float(np.mean(np.equal(labels["factors"], labels["dense"]))),
                }
            )
    report.table(f"single rows float32, level {SPARSITY_LEVEL}, one thread", table)
