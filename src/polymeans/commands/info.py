"""``polymeans info``: what a model file says about itself."""

import argparse
from pathlib import Path
from typing import Any

from polymeans.commands.errors import CommandError
from polymeans.commands.terminal import say, say_json

_ABOUT = "Show what a model file holds: class, parameters, features, size; its arrays are checked."


def add(commands: Any) -> None:
    """Declare the command."""
    parser = commands.add_parser("info", help="what a model file holds", description=_ABOUT)
    parser.add_argument("model", type=Path, metavar="MODEL", help="file that fit has written")
    parser.add_argument("--json", action="store_true", help="write results as JSON")
    parser.set_defaults(run=run, threads=None, quiet=False)


def run(options: argparse.Namespace) -> None:
    """Read, print."""
    from polymeans.commands.models import read

    model, recipe = read(options)
    found = facts(options.model, model, recipe)
    if options.json:
        say_json(found)
        return
    width = max(map(len, found))
    for name, value in found.items():
        say(f"{name.replace('_', ' ').ljust(width)}  {_shown(value)}")


def facts(path: Path, model: Any, recipe: Any) -> dict[str, Any]:
    """What a file and its model are."""
    from polymeans.persistence.files import describe_file

    try:
        header = describe_file(path)
    except OSError as error:
        raise CommandError(f"cannot read {path}: {error.strerror}", "check the name") from None
    defaults = type(model)().get_params(deep=False)
    changed = {
        name: value
        for name, value in model.get_params(deep=False).items()
        if str(value) != str(defaults.get(name))
    }
    names = recipe.feature_names or _names_in(model)
    found: dict[str, Any] = {
        "class": type(model).__name__,
        "parameters": {name: _plain(value) for name, value in changed.items()},
        "n_features": int(model.n_features_in_),
        "features": names,
        "dtype": _dtype(model),
        "n_clusters": _n_clusters(model),
        "inertia": _number(getattr(model, "inertia_", None)),
        "n_parameters": getattr(model, "n_parameters_", None),
        "text_column": recipe.text,
        "scaled": recipe.scale is not None,
        "labels": hasattr(model, "labels_"),
        "library": header["library"],
        "format_version": header["format_version"],
        "bytes": path.stat().st_size,
    }
    return found


def _names_in(model: Any) -> list[str] | None:
    names = getattr(model, "feature_names_in_", None)
    return None if names is None else [str(name) for name in names]


def _n_clusters(model: Any) -> Any:
    sets = getattr(model, "n_clusters_", None)
    if sets is not None:
        return list(sets) if isinstance(sets, tuple) else sets
    return model._n_centroids if hasattr(model, "_n_centroids") else None


def _dtype(model: Any) -> str | None:
    if not hasattr(model, "_fitted_vectors"):
        return None
    return str(model._fitted_vectors()[0].dtype)


def _number(value: Any) -> float | None:
    return None if value is None else float(value)


def _plain(value: Any) -> Any:
    return value if isinstance(value, bool | int | float | str | None) else f"{value}"[:200]


def _shown(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, dict):
        return ", ".join(f"{name}={part!r}" for name, part in value.items()) or "defaults"
    if isinstance(value, list):
        return ", ".join(map(str, value[:8])) + (", ..." if len(value) > 8 else "")
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)
