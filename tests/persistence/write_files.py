"""Writes the files that must load forever: ``python -m tests.persistence.write_files``.

Run it once for each version of the format, or for a class that is new. It never replaces a file:
those in the repository were written by the library of their time, which is what they are for.
"""

from pathlib import Path

import numpy as np

import polymeans
from polymeans.persistence.files import FORMAT_VERSION
from tests.persistence.models import ESTIMATORS, fitted, results, rows, targets

FOLDER = Path(__file__).parent / "files"


def main():
    X = rows("float64")
    if not (FOLDER / "rows.npy").exists():
        np.save(FOLDER / "rows.npy", X)
    for name in ESTIMATORS:
        path = FOLDER / f"{name}.v{FORMAT_VERSION}.safetensors"
        if path.exists():
            continue
        model = fitted(name, "float64")
        polymeans.save(model, path)
        found = {f"{method}.{i}": v for (method, i), v in results(model, X, targets(name)).items()}
        np.savez(path.with_suffix(".npz"), **found)


if __name__ == "__main__":
    main()
