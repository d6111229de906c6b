"""Labels of all rows block by block, and into a file."""

import os
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from polymeans._validation import check_integer, match_features
from polymeans.blocks.checked import check_blocks
from polymeans.blocks.protocol import Blocks
from polymeans.blocks.read_ahead import read_ahead
from polymeans.core.whole_file import whole_file

_LARGEST = np.iinfo(np.int32).max


def label_blocks(model: Any, blocks: Blocks) -> Iterator[NDArray[np.int32]]:
    """Labels of one block after the other, each read while the one before is labeled.

    **Idea.** ``model.predict(blocks)`` returns the labels of all rows at once, 4 bytes each. This
    hands them out as they are found, for :func:`write_labels` or any other use.

    **Use when** labels of all rows do not fit into memory, or are wanted block by block. **Do not
    use** otherwise: ``model.predict(blocks)`` is simpler.

    **Cost.** One pass over the blocks, and memory for two of them.

    Parameters
    ----------
    model : estimator
        Anything fitted that has ``predict``.
    blocks : Blocks
        Rows to label. Names of columns, where a reader knows them, must be those of the fit.

    Returns
    -------
    labels : iterator of ndarray of shape (n_rows,)
        ``model.predict`` of the rows of each block.

    See Also
    --------
    write_labels : The same into a file.
    read_ahead : Reads the next block while the present one is used.

    Examples
    --------
    >>> import numpy as np
    >>> from polymeans import KMeans
    >>> from polymeans.blocks import from_sequence, label_blocks
    >>> blocks = from_sequence(np.array([[0.0], [1.0], [9.0], [8.0]]), block_rows=2)
    >>> model = KMeans(2, random_state=0).fit(blocks)
    >>> [int(np.ptp(labels)) for labels in label_blocks(model, blocks)]
    [0, 0]
    """
    checked = check_blocks(blocks)
    if "feature_names_in_" in vars(model):
        names = getattr(blocks, "feature_names", None)
        match_features(model, checked.n_features, names, reset=False)
        model = _without_names(model)
    return _labels(model, checked)


def _without_names(model: Any) -> Any:
    """The same model for rows without names, about which it would warn with each block."""
    plain = object.__new__(type(model))
    vars(plain).update(vars(model))
    del plain.feature_names_in_
    return plain


def _labels(model: Any, blocks: Blocks) -> Iterator[NDArray[np.int32]]:
    with closing(read_ahead(blocks)) as ahead:
        for block in ahead:
            yield model.predict(block[0] if isinstance(block, tuple) else block)


def write_labels(
    path: str | os.PathLike[str], labels: Iterable[NDArray[Any]] | NDArray[Any], n_samples: int
) -> Path:
    """Write labels to a ``.npy`` file of int32 as they come, one block after the other.

    **Idea.** Labels of ten billion rows are 40 GB. They go to a temporary file beside the target
    as soon as they are known, and the file gets its name when the last of them is written.

    **Use when** labels do not fit into memory, or another program is to read them. **Do not use**
    for labels that you have as one array; ``numpy.save`` writes that.

    **Cost.** 4 bytes a row on the disk, and memory for one block.

    Parameters
    ----------
    path : path
        The file to write, with the ending ``.npy``. A file of this name is replaced when the new
        one is complete, and stays as it is if anything goes wrong.
    labels : iterable of arrays
        Integers, one for each row of a block, in the order of the rows, for instance
        ``label_blocks(model, blocks)``; or one array of all labels.
    n_samples : int
        How many labels there will be.

    Returns
    -------
    path : Path
        The file, for ``numpy.load(path, mmap_mode="r")``.

    See Also
    --------
    label_blocks : The same block by block, in memory.
    polymeans.save : The model itself.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np
    >>> from polymeans.blocks import write_labels
    >>> folder = tempfile.TemporaryDirectory()
    >>> parts = (np.arange(3) + i for i in range(2))
    >>> path = write_labels(os.path.join(folder.name, "labels.npy"), parts, n_samples=6)
    >>> np.load(path)
    array([0, 1, 2, 1, 2, 3], dtype=int32)
    >>> folder.cleanup()
    """
    check_integer("n_samples", n_samples, 1)
    target = Path(path)
    if target.suffix.lower() != ".npy":
        raise ValueError(
            f"path must end in .npy, the format that is written, got {str(path)!r}. Write "
            f"{str(target.with_suffix('.npy'))!r}, for example."
        )
    if isinstance(labels, np.ndarray) and labels.ndim == 1:
        labels = [labels]
    with whole_file(target) as file:
        header = {"descr": "<i4", "fortran_order": False, "shape": (int(n_samples),)}
        npy.write_array_header_1_0(file, header)
        n_written = 0
        for i, part in enumerate(labels):
            checked = _checked(part, i)
            n_written += len(checked)
            if n_written > n_samples:
                break
            file.write(checked.tobytes())
        if n_written != n_samples:
            found = "more" if n_written > n_samples else f"only {n_written}"
            raise ValueError(
                f"There are {found} labels for n_samples={n_samples}. {target} was not written."
            )
    return target


def _checked(labels: Any, i: int) -> NDArray[Any]:
    array = np.asarray(labels)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise TypeError(
            f"Labels of block {i} must be a 1-D array of integers, got an array of shape "
            f"{array.shape} and type {array.dtype}."
        )
    if len(array) and not (array.min() >= -_LARGEST and array.max() <= _LARGEST):
        raise ValueError(
            f"Labels of block {i} do not fit into int32: number clusters from zero on."
        )
    return array.astype("<i4")
