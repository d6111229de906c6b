"""Errors of the library in the words of the command line."""

import re

#: Options by the parameters of functions and estimators that they set, for each command.
_OF_ESTIMATORS = {
    "n_init": "--n-init",
    "max_iter": "--max-iter",
    "n_protocentroids": "--sizes",
    "n_threads": "--threads",
    "random_state": "--seed",
}
_OF_FUNCTIONS = {"n_clusters": "-k", "n_threads": "--threads", "random_state": "--seed"}
_OPTIONS = {
    "fit": _OF_ESTIMATORS,  # n_clusters is -k or --sizes
    "choose": _OF_FUNCTIONS | {"criterion": "--criterion"},
    "compare": _OF_FUNCTIONS | {"budget": "--budget"},
    "describe": {"n_threads": "--threads"},
    "predict": {"n_threads": "--threads"},
    "report": {"n_threads": "--threads", "image_shape": "--image-shape"},
}


def in_options(message: str, command: str) -> str:
    """A message with options in the place of the parameters that it is about.

    A parameter is recognized by what follows it: ``n_init must be ...``, ``image_shape=(3, 5)``.

    Parameters
    ----------
    message : str
    command : str

    Returns
    -------
    str
    """
    for name, option in _OPTIONS.get(command, {}).items():
        message = re.sub(rf"(?<![\w.]){name}=(?!=)", f"{option} ", message)
        message = re.sub(rf"(?<![\w.]){name}(?= (must|has|cannot|of)\b)", option, message)
    return message
