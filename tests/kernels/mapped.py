"""Rows, weights and models in memory that the operating system lets nobody write to.

As a program: estimators are used on such rows, and then numba is asked whether the kernels that
took read-only arrays write to them, by compiling these kernels for read-only arrays.
"""

import importlib
import pkgutil
import sys
import tempfile
import warnings
from itertools import count
from pathlib import Path

import joblib
import numpy as np
from sklearn.base import clone

import polymeans.kernels
from polymeans.commands.warmup import problems
from polymeans.kernels.compile import Kernel

_number = count()


def mapped(array, folder):
    """The same array, mapped from a file that is open for reading only."""
    path = Path(folder) / f"{next(_number)}.npy"
    np.save(path, array)
    return np.load(path, mmap_mode="r")


def mapped_rows(rows, folder):
    """The same rows, dense or CSR, mapped for reading."""
    if isinstance(rows, np.ndarray):
        return mapped(rows, folder)
    copy = rows.copy()
    for part in ("data", "indices", "indptr"):
        setattr(copy, part, mapped(getattr(rows, part), folder))
    return copy


def use(estimator, rows, weights, folder=None):
    """What an estimator finds; with a folder, its model is stored there and mapped for reading."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = clone(estimator).fit(rows, sample_weight=weights)
        if folder is not None:
            path = Path(folder) / f"{next(_number)}.joblib"
            joblib.dump(model, path)
            model = joblib.load(path, mmap_mode="r")
        found = {"labels_": model.labels_, "score": model.score(rows, sample_weight=weights)}
        for some in (rows, rows[:3]):
            found[f"labels of {some.shape}"] = model.predict(some)
            found[f"distances of {some.shape}"] = model.transform(some)
        if hasattr(model, "partial_fit"):
            model.partial_fit(rows, sample_weight=weights)
            found["labels after a batch"] = model.predict(rows)
    return found


def kernels():
    """All kernels that Python or other kernels call."""
    for module in pkgutil.iter_modules(polymeans.kernels.__path__):
        name = f"polymeans.kernels.{module.name}"
        for value in vars(importlib.import_module(name)).values():
            if isinstance(value, Kernel) and value.__module__ == name:
                yield value


def compile_for_read_only_arrays():
    """Names of the kernels that took read-only arrays; numba raises if one writes to them."""
    for kernel in list(kernels()):
        kernel._cache.disable()
    for kernel in list(kernels()):
        for kinds in kernel.read_only:
            kernel.compile(kinds)
            yield kernel.__qualname__


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        for name, estimator, rows in problems():
            if sys.argv[1] in name:
                weights = 1.0 + np.arange(rows.shape[0]) % 2
                use(estimator, mapped_rows(rows, scratch), mapped(weights, scratch), scratch)
        print("\n".join(compile_for_read_only_arrays()))
