"""Command line of the benchmarks."""

import argparse
import importlib
import subprocess
import sys
from pathlib import Path

from benchmarks import record
from benchmarks.harness import MissingRequirementError, Report

NAMES = {
    "kmeans-sparse": "whole fits on text against scikit-learn and sparsekmeans",
    "kmeans-dense": "time of an iteration and memory against scikit-learn, faiss, oneDAL, GEMM",
    "everyday": "small and middle dense fits and labels against scikit-learn, oneDAL, faiss",
    "embeddings": "ten iterations on embeddings against superkmeans, faiss and scikit-learn",
    "kmeans-seeding": "k-means++ and its relatives against scikit-learn",
    "partial-fit": "one pass in batches against scikit-learn's MiniBatchKMeans",
    "out-of-core": "a pass over files against reading alone and computing in memory",
    "khatri-rao-table2": "the Khatri-Rao paper's Table 2, and data sets it does not have",
    "khatri-rao-figures": "its Figures 6, 7 and 8: budgets, numbers of sets, growth",
    "khatri-rao-speed": "time of an iteration on grids and memory against scikit-learn",
    "khatri-rao-table3": "its Table 3: deep clustering, other data sets, seconds an epoch",
    "nonredundant": "quality and time of fits, choice of views and growth against ClustPy",
    "transformed": "quality, time and memory of transformed k-means on documents, growth",
    "quick-table3": "the QuicK-means paper's Table 3: loss at equal numbers of non-zeros",
    "quick-table4": "its Table 4: neighbors, Nystroem features and classes",
    "factorization": "sparse factors of centroids against pyfaust",
    "quick-predict": "labels through sparse factors against the dense product",
    "federated": "the Khatri-Rao paper's Figure 10: inertia against bytes, sites of FEMNIST",
    "color-quantization": "its Figure 9: codebooks of twelve colors",
    "choose-k": "numbers of clusters of generated sets and documents against other libraries",
    "serving": "bytes, loading and labels of kept models against joblib, faiss and onnxruntime",
    "first-fit": "what the first fit waits for the compiler, from source and from a release wheel",
    "dask": "whole fits and seeding on two worker processes against dask-ml",
    "dask-growth": "a pass on one and two workers, 10^5 to 10^7 rows, and a model of its cost",
    "before-after": "our own times and memory in another checkout and in this one",
    "report": "seconds of a table and a report after a fit, size of the page",
    "fuzz": "random and hostile problems for everything public, promises checked",
    "constants": "constants of the searches at half, once and twice their values",
}

#: Not among "all": they compare other things than libraries, or need an argument of their own.
APART = ("before-after", "fuzz", "constants")


def main(argv: list[str] | None = None) -> int:
    """Run one benchmark, or all; results go to the terminal and a JSON file for each."""
    listing = "\n".join(f"  {name:16} {what}" for name, what in NAMES.items())
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=f"Measure polymeans beside its peers.\n\n{listing}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("name", choices=[*NAMES, "all"], metavar="NAME", help="see above, or all")
    parser.add_argument("--data", type=Path, help="folder of the papers' data sets (.npz)")
    parser.add_argument("--before", type=Path, help="another checkout, for before-after")
    parser.add_argument(
        "--json",
        "--out",
        dest="out",
        type=Path,
        nargs="?",
        const=record.SITE,
        default=Path("results"),
        help="folder for JSON and pictures; --json alone: where the site shows them, docs/figures",
    )
    parser.add_argument("--only", default="", help="run only cases whose title contains this")
    parser.add_argument(
        "--repeats", type=int, default=3, help="measurements of each fast contender"
    )
    parser.add_argument(
        "--patience",
        type=float,
        default=150.0,
        help="seconds; a peer with equal iterations is extrapolated (marked ~) beyond this",
    )
    parser.add_argument(
        "--rows", type=int, default=20_000_000, help="generated for out-of-core (128 bytes each)"
    )
    parser.add_argument("--wheel", type=Path, help="with compiled kernels, for first-fit")
    parser.add_argument("--scratch", type=Path, help="folder for generated files")
    parser.add_argument("--minutes", type=float, default=1.0, help="time for fuzz")
    parser.add_argument(
        "--seed", type=int, default=0, help="of fuzz; with a number it is a problem"
    )
    parser.add_argument(
        "--area", default="", help="only this area of fuzz, such as KMeans, or block of table3"
    )
    parser.add_argument("--quick", action="store_true", help="fewer seeds and rows of table3")
    parser.add_argument("--jobs", type=int, default=1, help="processes of fuzz")
    parser.add_argument("--shrink", type=float, default=5.0, help="seconds for a failure of fuzz")
    parser.add_argument("--problem", type=int, default=0, help="number fuzz begins with")
    options = parser.parse_args(argv)
    if options.name == "all":
        return _run_all(sys.argv[1:] if argv is None else argv)
    module = importlib.import_module("benchmarks." + options.name.replace("-", "_"))
    report = Report(options.name, options.out, options.only, options.area)
    try:
        module.run(options, report)
    except MissingRequirementError as missing:
        print(f"{options.name}: {missing}", file=sys.stderr)
        return 2
    report.save()
    return 0


def _run_all(argv: list[str]) -> int:
    """Each benchmark in a process of its own; how many did not finish."""
    failed = []
    for name in NAMES:
        if name in APART:
            continue
        words = [name if word == "all" else word for word in argv]
        if subprocess.run([sys.executable, "-m", "benchmarks", *words]).returncode:
            failed.append(name)
    if failed:
        print("not finished: " + ", ".join(failed), file=sys.stderr)
    return len(failed)


if __name__ == "__main__":
    raise SystemExit(main())
