"""The estimator that the options of a command describe."""

from argparse import ArgumentParser, Namespace
from typing import Any

from polymeans.commands.errors import UsageError
from polymeans.commands.options import count, setting, sizes
from polymeans.commands.wording import in_options

#: Structures by the names they have on the command line.
STRUCTURES = {
    "free": "KMeans",
    "khatri-rao": "KhatriRaoKMeans",
    "quick": "QuickKMeans",
    "l1": "L1KMeans",
    "transformed": "TransformedKMeans",
    "nonredundant": "NonRedundantKMeans",
}

#: Those of several sets, whose sizes are given instead of a number of clusters.
_SETS = {"khatri-rao": "n_protocentroids", "nonredundant": "n_clusters"}


def add_estimator(parser: ArgumentParser) -> None:
    """Declare the options."""
    group = parser.add_argument_group("model")
    group.add_argument("-k", "--clusters", type=count, metavar="K", help="number of clusters")
    group.add_argument(
        "--structure",
        choices=STRUCTURES,
        default="free",
        help="of the centroids, the space or the views (default: free centroids)",
    )
    group.add_argument(
        "--sizes",
        type=sizes,
        metavar="H1,H2,...",
        help="sets of khatri-rao or views of nonredundant, e.g. 4,5",
    )
    group.add_argument(
        "--metric",
        choices=("euclidean", "cosine"),
        help="of free centroids (default: euclidean, for --text cosine)",
    )
    group.add_argument("--n-init", type=count, metavar="N", help="starts, of which the best counts")
    group.add_argument("--max-iter", type=count, metavar="N", help="iterations of a start at most")
    group.add_argument(
        "--set",
        type=setting,
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="any other parameter of the estimator, as often as needed",
    )


def make_estimator(options: Namespace, verbose: int = 0) -> Any:
    """The estimator, not yet fitted; an error if options contradict each other."""
    import polymeans

    structure = options.structure
    parameters: dict[str, Any] = {"random_state": options.seed, "n_threads": options.threads}
    parameters |= _size(options)
    metric = options.metric or ("cosine" if options.text and structure == "free" else None)
    if metric is not None:
        if structure not in ("free", "transformed"):
            raise UsageError(
                f"--metric is for free centroids and learned metrics, not for {structure}",
                "leave out one of the two",
            )
        parameters["metric"] = metric
    if options.n_init is not None:
        parameters["n_init"] = options.n_init
    if options.max_iter is not None:
        parameters["max_iter"] = options.max_iter
    kind = getattr(polymeans, STRUCTURES[structure])
    known = kind().get_params()
    for name, value in options.set:
        if name not in known:
            raise UsageError(
                f"{kind.__name__} has no parameter {name!r}", f"it has {', '.join(sorted(known))}"
            )
        parameters[name] = tuple(value) if isinstance(value, list) else value
    estimator = kind(**parameters).set_params(verbose=verbose)
    try:
        estimator._check_parameters()
    except (ValueError, TypeError) as error:
        raise UsageError(
            in_options(str(error).splitlines()[0], "fit"), "polymeans fit --help"
        ) from None
    return estimator


def _size(options: Namespace) -> dict[str, Any]:
    structure, k, sets = options.structure, options.clusters, options.sizes
    if structure not in _SETS:
        if sets is not None:
            raise UsageError(
                f"--sizes is for khatri-rao and nonredundant, not for {structure}", "use -k"
            )
        if k is None:
            raise UsageError("how many clusters?", "give -k, or let `polymeans choose` find it")
        return {"n_clusters": k}
    if sets is None and structure == "khatri-rao" and k is not None:
        from polymeans import balanced_sizes

        sets = tuple(int(size) for size in balanced_sizes(k))
    if sets is None:
        return {"n_clusters": "auto"} if structure == "nonredundant" and k is None else _refuse()
    return {_SETS[structure]: sets}


def _refuse() -> dict[str, Any]:
    raise UsageError("sizes of the sets are missing", "give --sizes, e.g. --sizes 4,5")
