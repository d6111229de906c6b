"""``polymeans fit``: cluster the rows of a file."""

import argparse
import time
import warnings
from pathlib import Path
from typing import Any

from polymeans.commands.errors import CommandError, UsageError
from polymeans.commands.estimators import add_estimator, make_estimator
from polymeans.commands.options import (
    REPORT_ENDINGS,
    add_common,
    add_rows,
    add_seed,
    check_output,
)
from polymeans.commands.terminal import note, progress, say_json
from polymeans.commands.wording import in_options

_ABOUT = "Cluster the rows of a file: labels to the standard output, a model and a report to files."


def add(commands: Any) -> None:
    """Declare the command."""
    parser = commands.add_parser("fit", help="cluster the rows of a file", description=_ABOUT)
    add_rows(parser)
    add_estimator(parser)
    group = parser.add_argument_group("output")
    group.add_argument("--model", type=Path, metavar="FILE", help="model to write (.safetensors)")
    group.add_argument(
        "--labels",
        type=Path,
        metavar="FILE",
        help="labels to write: .csv, .tsv, .npy, or one in each line (default: standard output)",
    )
    group.add_argument(
        "--report", type=Path, metavar="FILE", help="report to write: .html, .md or .json"
    )
    group.add_argument(
        "--label-order",
        choices=("fit", "size"),
        default="fit",
        help="numbers of clusters: as the fit has left them, or the largest first (default: fit)",
    )
    add_seed(parser)
    add_common(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Read, fit, write."""
    if options.text and (options.columns or options.scale):
        raise UsageError("--text is for texts alone", "leave out --columns and --scale")
    check_output(options.model, "--model")
    check_output(options.labels, "--labels")
    check_output(options.report, "--report", REPORT_ENDINGS)
    from polymeans.commands.labels import fitted_labels, write_labels
    from polymeans.commands.readers import open_table
    from polymeans.commands.readers.table import Request
    from polymeans.commands.recipe import make_recipe

    estimator = make_estimator(options)
    request = Request(columns=options.columns, text=options.text)
    with open_table(options, request) as table:
        recipe, rows = make_recipe(table, request, options.scale)
        seconds = fit_with_progress(estimator, rows, options.quiet)
        if options.label_order != "fit":
            from polymeans.inspection.relabeling import relabel

            estimator = relabel(estimator, options.label_order)
        if options.model is not None:
            _save(estimator, options.model, recipe)
        labels = fitted_labels(estimator)
        if options.report is not None:
            from polymeans.commands.report import write_report

            write_report(estimator, rows, recipe, table, options.report)
        in_json = options.json and options.labels is None
        if not in_json:
            write_labels([labels], options.labels)
        if options.json:
            found = summary(estimator, seconds)
            say_json(found | {"labels": labels} if in_json else found)
        elif not options.quiet:
            note(sentence(estimator, table.n_samples, seconds))


def fit_with_progress(estimator: Any, rows: Any, quiet: bool) -> float:
    """Fit, with a bar on a terminal; the seconds it took."""
    began = time.perf_counter()
    with progress("fitting", quiet) as bar, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        verbose = estimator.verbose
        if bar is not None:
            estimator.set_params(verbose=2)
        try:
            estimator.fit(rows)
        except (ValueError, TypeError) as error:
            raise CommandError(
                in_options(str(error).splitlines()[0], "fit"), "polymeans fit --help"
            ) from None
        finally:
            estimator.set_params(verbose=verbose)
    if not quiet:
        for message in dict.fromkeys(str(warning.message) for warning in caught):
            note(f"polymeans: warning: {message}")
    return time.perf_counter() - began


def _save(model: Any, path: Path, recipe: Any) -> None:
    from polymeans.persistence.files import save_with_recipe

    try:
        save_with_recipe(model, path, recipe.to_parts())
    except OSError as error:
        raise CommandError(
            f"cannot write {path}: {error.strerror}", "choose another --model"
        ) from None


def summary(model: Any, seconds: float) -> dict[str, Any]:
    """What a fit has found, for programs."""
    import numpy as np

    from polymeans.commands.labels import fitted_labels

    labels = fitted_labels(model)
    views = labels.T if labels.ndim == 2 else [labels]
    return {
        "estimator": type(model).__name__,
        "n_samples": len(labels),
        "n_features": int(model.n_features_in_),
        "inertia": float(model.inertia_),
        "n_iter": int(model.n_iter_),
        "n_parameters": int(model.n_parameters_),
        "sizes": [np.bincount(view).tolist() for view in views],
        "seconds": round(seconds, 3),
    }


def sentence(model: Any, n_samples: int, seconds: float) -> str:
    """What a fit has found, in words."""
    import numpy as np

    from polymeans.commands.labels import fitted_labels

    labels = fitted_labels(model)
    views = labels.T if labels.ndim == 2 else [labels]
    found = " x ".join(str(len(np.unique(view))) for view in views) or "no"
    return (
        f"{type(model).__name__}: {found} clusters of {n_samples} rows and "
        f"{model.n_features_in_} features, inertia {model.inertia_:.6g}, {model.n_iter_} "
        f"iterations, {seconds:.1f} s"
    )
