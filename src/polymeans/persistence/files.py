"""``save`` and ``load``: a model file from its first byte to a fitted estimator.

A model file is a file in the safetensors layout whose metadata have four texts: ``format``
("polymeans"), ``format_version``, ``model`` (JSON: class, values, version of the library) and
``digest`` (SHA-256 of everything else, so that damage is noticed).
"""

import hashlib
import json
import logging
import os
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from polymeans._validation import shown
from polymeans._version import __version__
from polymeans.persistence.errors import ModelFileError
from polymeans.persistence.layout import NAMES, read_arrays, read_texts, write_arrays
from polymeans.persistence.registry import REGISTRY, adapter_of, class_named
from polymeans.persistence.strict_json import parse

logger = logging.getLogger("polymeans")

#: Version of the format that is written; all up to it can be read.
FORMAT_VERSION = 1

#: Attributes with one entry for each row of the fit.
_OF_ROWS = ("labels_", "protolabels_", "labels_per_view_")

#: Classes whose labels are part of how they predict.
_NEED_LABELS = ("ClusterNeighbors", "ClusterKNeighborsClassifier", "ClusterKNeighborsRegressor")

#: What names of arrays begin with that belong to the recipe, not to the model.
_RECIPE = "recipe/"

Path = str | os.PathLike[str]
Parts = tuple[dict[str, NDArray[Any]], dict[str, Any]]


def save(model: Any, path: Path, *, labels: bool = True) -> None:
    """Write a fitted estimator to a file that other machines, years and languages can read.

    **Idea.** Parameters, fitted attributes and names of features go into one file in the
    `safetensors <https://huggingface.co/docs/safetensors>`_ layout: arrays as they are, everything
    else as JSON. There is no code in it. :func:`polymeans.load` returns an estimator that predicts
    the same bits.

    **Use when** a model outlives the process that fitted it. **Do not use** for estimators with
    functions as parameters, or for pipelines: ``joblib.dump`` writes those, and its files run code
    when they are loaded.

    **Cost.** The bytes of the arrays, and a few hundred for the rest. The file gets its name when
    it is complete: if the disk is full, a file of this name stays as it was.

    Parameters
    ----------
    model : estimator
        Fitted, of any class of this library, or what :func:`polymeans.load` has returned.
    path : path
        The file to write, by convention ``something.safetensors``.
    labels : bool, default=True
        Whether to write what has one entry for each row of the fit, such as ``labels_``. It is not
        needed to predict. Labels that are a Dask collection are left out in any case: replace them
        by ``model.labels_.compute()`` first to keep them.

    See Also
    --------
    polymeans.load : Reads the file.
    polymeans.export_onnx : Writes a model for other runtimes.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np
    >>> import polymeans
    >>> X = np.array([[1, 2], [1, 4], [10, 2], [10, 4]], dtype=float)
    >>> model = polymeans.KMeans(2, random_state=0).fit(X)
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = os.path.join(folder.name, "model.safetensors")
    >>> polymeans.save(model, path)
    >>> loaded = polymeans.load(path)
    >>> bool((loaded.predict(X) == model.labels_).all()), loaded.n_clusters
    (True, 2)
    >>> folder.cleanup()
    """
    recipe = None
    if hasattr(model, "steps"):
        from polymeans.persistence.table_rows import taken_apart

        model, kept = taken_apart(model)
        recipe = None if kept is None else kept.to_parts()
    save_with_recipe(model, path, recipe, labels)


def load(path: Path) -> Any:
    """Read a fitted estimator from a file.

    **Idea.** The reverse of :func:`polymeans.save`. Nothing in the file is executed. All sizes,
    types and numbers are checked against each other before an estimator is made of them.

    **Use when** :func:`polymeans.save` has written the file, here or elsewhere, in this version of
    the library or an older one. **Do not use** for pickles, which are ``joblib.load``'s.

    **Cost.** Reading the file once; memory of about its size.

    Parameters
    ----------
    path : path
        The file.

    Returns
    -------
    model : estimator or Pipeline
        Fitted, with the parameters and attributes it was saved with. A file that
        ``polymeans fit`` has written with ``--scale`` or ``--text`` also holds how rows are made of
        the table; then a :class:`sklearn.pipeline.Pipeline` takes rows as they are in the table
        (a frame, or an array of its columns; a frame or a list of texts), and its last step,
        ``model[-1]``, is the estimator.

    Raises
    ------
    ModelFileError
        If the file is no model, is damaged, or was written by a newer version of the library. It
        is a ``ValueError``, in :mod:`polymeans.persistence`.

    See Also
    --------
    polymeans.save : Writes the file.

    Examples
    --------
    >>> import os, tempfile
    >>> import polymeans
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = os.path.join(folder.name, "not a model")
    >>> with open(path, "w") as file:
    ...     _ = file.write("something else")
    >>> polymeans.load(path)
    Traceback (most recent call last):
        ...
    polymeans.persistence.errors.ModelFileError: ... is no model file, or was cut off: ...
    >>> folder.cleanup()
    """
    loaded = read_model(path)
    if loaded.recipe is None:
        return loaded.model
    from polymeans.persistence.recipe import Recipe
    from polymeans.persistence.table_rows import with_recipe

    try:
        recipe = Recipe.from_parts(loaded.recipe, int(loaded.model.n_features_in_))
    except ModelFileError as error:
        raise ModelFileError(f"{path} cannot be used: {error}") from None
    return with_recipe(loaded.model, recipe)


@dataclass(frozen=True)
class LoadedModel:
    """A model, and what else its file says."""

    model: Any
    recipe: Parts | None  #: how the command line made rows of a table: arrays and values
    library: str  #: version of the library that wrote the file
    format_version: int


def check_path(path: Any) -> None:
    """Refuse what is no name of a file."""
    if not isinstance(path, str | os.PathLike):
        raise TypeError(
            f"path must be the name of a file, as str or pathlib.Path, got {shown(path)}. "
            "pickle.dumps keeps a model in memory."
        )


def save_with_recipe(
    model: Any, path: Path, recipe: Parts | None = None, labels: bool = True
) -> None:
    """Write a model, and how rows for it are made of a table.

    Parameters
    ----------
    model : estimator
    path : path
    recipe : pair of dict or None, default=None
        Arrays and values that the command line keeps with its models.
    labels : bool, default=True
    """
    check_path(path)
    name = type(model).__name__
    if name not in REGISTRY or type(model) is not class_named(name):
        raise TypeError(
            f"model must be an estimator of polymeans, got {shown(model)}. joblib.dump writes "
            "pipelines, subclasses and other estimators."
        )
    check_is_fitted(model)
    if name not in _NEED_LABELS:
        model = _without_lazy_labels(model)
    arrays, values = adapter_of(name).to_arrays(model)
    if not labels and name not in _NEED_LABELS:
        arrays, values = _without_labels(arrays, values)
    content: dict[str, Any] = {"class": name, "library": __version__, "values": values}
    if recipe is not None:
        arrays = arrays | {_RECIPE + key: array for key, array in recipe[0].items()}
        content["recipe"] = recipe[1]
    text = json.dumps(content, ensure_ascii=False, allow_nan=False)
    texts = {"format": "polymeans", "format_version": str(FORMAT_VERSION), "model": text}
    write_arrays(path, arrays, texts | {"digest": digest(arrays, texts)})


def _without_lazy_labels(model: Any) -> Any:
    """The same model without labels that have not been computed yet: there may be billions."""
    lazy = [name for name in _OF_ROWS if hasattr(vars(model).get(name), "__dask_graph__")]
    if not lazy:
        return model
    logger.warning(
        "%s of the model are Dask collections and were not written to the file. To keep them, "
        "replace them before: model.%s = model.%s.compute().",
        " and ".join(lazy),
        lazy[0],
        lazy[0],
    )
    kept = object.__new__(type(model))
    vars(kept).update((name, value) for name, value in vars(model).items() if name not in lazy)
    return kept


def _without_labels(
    arrays: dict[str, NDArray[Any]], values: dict[str, Any]
) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Leave out what has one entry for each row, also of models within the model."""
    dropped = {name for name in arrays if name.split("/")[-1] in _OF_ROWS}
    kept = {name: array for name, array in arrays.items() if name not in dropped}
    return kept, _pruned(values)


def _pruned(values: Any) -> Any:
    if isinstance(values, list):
        return [_pruned(part) for part in values]
    if not isinstance(values, dict):
        return values
    return {key: _pruned(part) for key, part in values.items() if key not in _OF_ROWS}


def read_model(path: Path, **given: Any) -> LoadedModel:
    """Read a model, and what else its file says.

    Parameters
    ----------
    path : path
    **given
        What the file of a model does not hold, for those adapters that take it.

    Returns
    -------
    LoadedModel
    """
    check_path(path)
    arrays, texts = read_arrays(path)
    version, content = _content(texts, path)
    if texts.get("digest") != digest(arrays, texts):
        raise ModelFileError(
            f"{path} is damaged: its content is not what was written. Copy it again, or restore it."
        )
    own = {name: array for name, array in arrays.items() if not name.startswith(_RECIPE)}
    beside = {name[len(_RECIPE) :]: arrays[name] for name in arrays.keys() - own.keys()}
    recipe = content.get("recipe")
    if (recipe is None and beside) or not isinstance(recipe, dict | None):
        raise ModelFileError(f"{path} has arrays that belong to nothing.")
    name, values = content["class"], content["values"]
    try:
        model = adapter_of(name).from_arrays(own, values, **given)
    except ModelFileError as error:
        raise ModelFileError(f"{path} holds no valid {name}: {error}{_written(content)}") from None
    except (ValueError, TypeError, KeyError, IndexError, OverflowError) as error:
        raise ModelFileError(
            f"{path} holds no valid {name}: {error!r}{_written(content)}"
        ) from error
    except RecursionError:
        raise ModelFileError(f"{path} holds no valid {name}: it is nested too deeply.") from None
    if type(model) is not class_named(name):
        raise ModelFileError(f"{path} holds another model than it says.")
    return LoadedModel(
        model, None if recipe is None else (beside, recipe), content["library"], version
    )


def describe_file(path: Path) -> dict[str, Any]:
    """What the header of a file says, without reading its arrays.

    Parameters
    ----------
    path : path

    Returns
    -------
    dict
        ``class``, ``library``, ``format_version``, ``values``, ``recipe`` (if any), ``n_bytes``.
    """
    texts, n_bytes = read_texts(path)
    version, content = _content(texts, path)
    return {**content, "format_version": version, "n_bytes": n_bytes}


def _content(texts: dict[str, str], path: Path) -> tuple[int, dict[str, Any]]:
    """The version of the format, and the JSON of the model."""
    if texts.get("format") != "polymeans":
        raise ModelFileError(
            f"{path} is a safetensors file, but no model of polymeans: its metadata do not say so."
        )
    given = texts.get("format_version", "")
    if not (given.isascii() and given.isdigit() and len(given) < 10) or int(given) < 1:
        raise ModelFileError(f"{path} has no version of its format, or none that can be read.")
    if int(given) > FORMAT_VERSION:
        raise ModelFileError(
            f"{path} was written by a newer polymeans: its format is version {int(given)}, and "
            f"polymeans {__version__} reads up to version {FORMAT_VERSION}. Upgrade polymeans."
        )
    content = parse(texts.get("model", ""), f"The description of the model in {path}")
    if (
        not isinstance(content, dict)
        or not isinstance(content.get("class"), str)
        or not isinstance(content.get("values"), dict)
        or not isinstance(content.get("library"), str)
        or content.keys() - {"class", "values", "library", "recipe"}
    ):
        raise ModelFileError(f"{path} does not say which model it holds.")
    if content["class"] not in REGISTRY:
        raise ModelFileError(
            f"{path} holds a model of class {content['class']!r:.80}, which polymeans "
            f"{__version__} does not have.{_written(content)}"
        )
    return int(given), content


def _written(content: dict[str, Any]) -> str:
    """Who wrote the file, where that may be the reason of an error."""
    if content["library"] == __version__:
        return ""
    return f" (It was written by polymeans {content['library']:.30}; this is {__version__}.)"


def digest(arrays: dict[str, NDArray[Any]], texts: dict[str, str]) -> str:
    """SHA-256 of all arrays with their names, types and shapes, and of all texts but itself.

    It does not depend on the order of the arrays, so that other programs may write them anew.
    """
    total = hashlib.sha256()
    for key in sorted(texts.keys() - {"digest"}):
        total.update(json.dumps([key, texts[key]]).encode())
    for name in sorted(arrays):
        array = arrays[name]
        dtype = array.dtype.newbyteorder("<")
        total.update(json.dumps([name, NAMES[dtype], list(array.shape)]).encode())
        # View as bytes: a buffer of no entries has no flat form.
        flat = np.ascontiguousarray(array, dtype).reshape(-1)
        if flat.size:
            total.update(flat.view(np.uint8).data)
    return f"sha256:{total.hexdigest()}"
