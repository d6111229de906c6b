"""Rows in files: seconds of a pass against reading alone and against computing in memory.

Every measurement runs in a process of its own, so that its peak of memory is its own. Files are
dropped from the page cache before cold passes.
"""

import json
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.data import tfidf
from benchmarks.harness import MissingRequirementError, Report, in_new_process

N_FEATURES, N_CLUSTERS, N_SHARDS = 32, 256, 10

#: Iterations from given centroids; the first one of a process is not counted.
N_ITER = 5

_COMMON = """
import json, os, sys, time
import numpy as np, scipy.sparse as sp
from polymeans import KMeans
from polymeans import blocks as readers

folder, kind, cold, n_iter = {folder!r}, {kind!r}, {cold!r}, {n_iter!r}
start = np.load(folder + "/start.npy")
shards = sorted(
    os.path.join(folder, kind, name) for name in os.listdir(os.path.join(folder, kind))
)

def drop_from_cache():
    for path in shards:
        with open(path, "rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)

def open_blocks():
    if kind == "npy":
        return readers.from_npy(shards)
    if kind == "parquet":
        return readers.from_parquet(folder + "/parquet")
    return readers.from_csr_files(shards)

def load():
    if kind == "npy":
        return np.concatenate([np.load(path) for path in shards])
    if kind == "parquet":
        return np.concatenate(list(open_blocks()))
    return sp.vstack([sp.csr_array(sp.load_npz(path)) for path in shards], format="csr")

class Watch:
    # Notes processor seconds of iterations, and empties the cache after each, outside of its time.
    def __init__(self): self.ends = []
    def setup(self, estimator, context): pass
    def on_fit_task_begin(self, estimator, context): pass
    def on_fit_task_end(self, estimator, context):  # begin and end are told after an iteration
        self.ends.append(time.process_time())
        if cold: drop_from_cache()
    def teardown(self, estimator, context): pass

def warm_up():
    few = load_few()
    KMeans(len(start), init=start, n_init=1, max_iter=2).fit(few)

def load_few():
    block = open_blocks()[0]
    return block[:20000]

warm_up()
"""

_READ = """
if cold: drop_from_cache()
buffer = bytearray(2**25)
began = time.perf_counter()
for path in shards:
    with open(path, "rb", buffering=0) as file:
        while file.readinto(buffer): pass
raw = time.perf_counter() - began
if cold: drop_from_cache()
began, busy = time.perf_counter(), time.process_time()
total = 0.0
for block in readers.read_ahead(open_blocks()):
    values = block.data if sp.issparse(block) else block
    total += float(values.ravel()[::1024].sum())  # touches every page
seconds, busy = time.perf_counter() - began, time.process_time() - busy
print(json.dumps(dict(raw=raw, blocks=seconds, processor=busy)))
"""

_FIT = """
X = load() if where == "memory" else open_blocks()
model = KMeans(len(start), init=start, n_init=1, max_iter=n_iter, tol=0.0)
if cold: drop_from_cache()
watch = Watch()
model.set_callbacks(watch)
peak = added_peak(lambda: model.fit(X))
seconds = model.history_["seconds"][1:].tolist()
busy = np.diff(watch.ends[:n_iter]).tolist()
print(json.dumps(dict(seconds=seconds, processor=busy, peak=peak, inertia=model.inertia_)))
"""

_WHOLE = """
from sklearn.cluster import MiniBatchKMeans
k = len(start)
blocks = open_blocks()
def ours():
    model = KMeans(k, random_state=0, max_iter=n_iter).fit(blocks)
    return model.inertia_
def mini_batches():
    model = MiniBatchKMeans(k, random_state=0)
    for block in readers.read_ahead(blocks):
        model.partial_fit(block)
    centers = np.asarray(model.cluster_centers_)
    return -KMeans(k, init=centers, max_iter=1).fit(centers).score(blocks)
began = time.perf_counter()
box = []
peak = added_peak(lambda: box.append({"ours": ours, "mini": mini_batches}[who]()))
print(json.dumps(dict(seconds=time.perf_counter() - began, peak=peak, inertia=box[0])))
"""


def run(options: Any, report: Report) -> None:
    """Dense shards, parquet, and documents in CSR shards."""
    if options.scratch:
        options.scratch.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=options.scratch) as name:
        folder = Path(name)
        if any(options.only in kind for kind in ("npy", "parquet")):
            _make_dense(folder, options.rows)
            for kind in ("npy", "parquet"):
                if options.only in kind:
                    _compare(report, folder, kind, options.repeats)
        if options.only in "csr":
            try:
                _make_documents(folder, options.data)
            except MissingRequirementError as missing:
                print(f"documents are left out: {missing}")
            else:
                _compare(report, folder, "csr", options.repeats)


def _make_dense(folder: Path, n_rows: int) -> None:
    """Overlapping clusters, written shard by shard."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    centers = 2.0 * rng.standard_normal((N_CLUSTERS, N_FEATURES))
    (folder / "npy").mkdir()
    (folder / "parquet").mkdir()
    names = [f"x{j}" for j in range(N_FEATURES)]
    for shard in range(N_SHARDS):
        n = n_rows // N_SHARDS
        rows = rng.standard_normal((n, N_FEATURES), dtype=np.float32)
        rows += centers[rng.integers(0, N_CLUSTERS, n)].astype(np.float32)
        np.save(folder / "npy" / f"{shard:02d}.npy", rows)
        table = pa.table(dict(zip(names, rows.T, strict=True)))
        pq.write_table(table, folder / "parquet" / f"{shard:02d}.parquet", row_group_size=250_000)
        if shard == 0:
            np.save(folder / "start.npy", rows[:N_CLUSTERS])
    os.sync()


def _make_documents(folder: Path, data: Path | None) -> None:
    """IMDB ten times over, each shard with its rows in another order."""
    X = sp.csr_array(tfidf(data, "imdb_100k").astype(np.float32))
    (folder / "csr").mkdir()
    rng = np.random.default_rng(0)
    for shard in range(N_SHARDS):
        part = X[rng.permutation(X.shape[0])]
        sp.save_npz(folder / "csr" / f"{shard:02d}.npz", part, compressed=False)
        if shard == 0:
            np.save(folder / "start.npy", part[:100].toarray())
    os.sync()


def _compare(report: Report, folder: Path, kind: str, repeats: int) -> None:
    """All measurements of one format, each the best of several."""
    size = sum(path.stat().st_size for path in (folder / kind).iterdir()) / 2**20

    cores = os.sched_getaffinity(0)

    def measure(code: str, cold: bool = False, **names: str) -> dict[str, Any]:
        common = _COMMON.format(folder=str(folder), kind=kind, cold=cold, n_iter=N_ITER)
        given = "".join(f"{name} = {value!r}\n" for name, value in names.items())
        return json.loads(in_new_process(common + given + code))

    memory = [measure(_FIT, where="memory") for _ in range(repeats)]
    computing = min(min(one["seconds"]) for one in memory)
    busy_computing = min(min(one["processor"]) for one in memory)
    table = []
    for cold in (True, False):
        reading = [measure(_READ, cold) for _ in range(repeats)]
        fits = [measure(_FIT, cold, where="files") for _ in range(repeats)]
        read = min(one["raw"] for one in reading)
        as_blocks = min(one["blocks"] for one in reading)
        seconds = min(min(one["seconds"]) for one in fits)
        busy_reading = min(one["processor"] for one in reading)
        table.append(
            {
                "page cache": "cold" if cold else "warm",
                "reading bytes [s]": read,
                "reading blocks [s]": as_blocks,
                "pass in memory [s]": computing,
                "all cores' bound [s]": (busy_reading + busy_computing) / len(cores),
                "pass over files [s]": seconds,
                "its processor time [s]": min(min(one["processor"]) for one in fits),
                "of the slower": seconds / max(as_blocks, computing),
                "added peak [MB]": max(one["peak"] for one in fits),
                "same inertia": all(one["inertia"] == memory[0]["inertia"] for one in fits),
            }
        )
    title = f"{kind}, {size:.0f} MB, k={len(np.load(folder / 'start.npy'))}"
    report.table(
        title,
        table,
        f"a pass: label all rows and add them up; best of {repeats} runs of {N_ITER} iterations "
        "from given centroids, the first iteration left out. Wanted: at most 1.3 of the slower of "
        "reading blocks and computing in memory, less than 500 MB added. Bound: processor seconds "
        "of reading blocks and of computing in memory, shared by all cores",
    )
    whole = {who: measure(_WHOLE, who=who) for who in ("ours", "mini")}
    report.table(
        f"{title}: whole fits from files",
        [
            {
                "": name,
                "seconds": whole[who]["seconds"],
                "inertia": whole[who]["inertia"],
                "inertia over ours": whole[who]["inertia"] / whole["ours"]["inertia"],
                "added peak [MB]": whole[who]["peak"],
            }
            for name, who in (
                (f"KMeans, k-means|| and {N_ITER} iterations", "ours"),
                ("sklearn MiniBatchKMeans, partial_fit of each block", "mini"),
            )
        ],
    )
