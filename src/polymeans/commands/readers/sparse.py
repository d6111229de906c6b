"""Sparse rows in svm (libsvm, svmlight) and mtx (Matrix Market) files."""

from typing import Any

from polymeans.commands.errors import CommandError
from polymeans.commands.readers.table import Request, Table


def read_svm(path: str, name: str, request: Request) -> Table:
    """Rows ``label feature:value ...``; what they have before the features is not used.

    Parameters
    ----------
    path : str
    name : str
        For errors.
    request : Request
        Its ``first_feature`` says how the file of the fit counted; None: from 0 if a row has
        feature 0, else from 1.

    Returns
    -------
    Table
    """
    from sklearn.datasets import load_svmlight_file

    try:
        rows, _ = load_svmlight_file(path, zero_based=True)
    except (ValueError, IndexError, UnicodeDecodeError) as error:
        raise CommandError(
            f"{name} cannot be read as an svm file: {str(error).splitlines()[0]}",
            "each line is a label and feature:value, features ascending",
        ) from None
    if not rows.shape[0] or not rows.nnz:
        raise CommandError(f"{name} has no rows with values", "give a file with at least one")
    first = request.first_feature
    if first is None:
        first = 0 if rows[:, 0].nnz else 1
    if first and rows[:, 0].nnz:
        raise CommandError(
            f"{name} has a feature 0, where the model counts from 1", "count features from 1"
        )
    return Table(rows=_as_wide(rows[:, first:], name, request), first_feature=first)


def _as_wide(rows: Any, name: str, request: Request) -> Any:
    """Rows with the features of a model: those that do not occur here are zero."""
    import scipy.sparse as sp

    width = request.n_features
    if width is None or rows.shape[1] == width:
        return sp.csr_array(rows)
    if rows.shape[1] > width:
        raise CommandError(
            f"{name} has {rows.shape[1]} features, and the model {width}",
            "use rows of the same kind as those of the fit",
        )
    rows = rows.tocsr()
    return sp.csr_array((rows.data, rows.indices, rows.indptr), shape=(rows.shape[0], width))


def read_mtx(path: str, name: str, request: Request) -> Table:
    """Rows of a Matrix Market file.

    Parameters
    ----------
    path : str
    name : str
        For errors.
    request : Request

    Returns
    -------
    Table
    """
    import scipy.sparse as sp
    from scipy.io import mmread

    try:
        rows = mmread(path)
    except (ValueError, OverflowError, UnicodeDecodeError, EOFError) as error:
        raise CommandError(
            f"{name} cannot be read as an mtx file: {str(error).splitlines()[0]}",
            "its first line is %%MatrixMarket matrix ...",
        ) from None
    if not rows.shape[0] or not rows.shape[1]:
        raise CommandError(f"{name} has no rows", "give a file with at least one row")
    return Table(rows=sp.csr_array(rows) if sp.issparse(rows) else rows)
