"""Rows made from other rows."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.preprocessing import normalize

from polymeans.core.norms import largest_of_rows, rows_over
from polymeans.core.sparse_structure import checked_matrix


def label_features(Y: Any, Z: Any) -> Any:
    """Represent each label of a multi-label problem by the instances that carry it.

    **Idea.** Extreme classification puts thousands of labels into a tree by clustering them. A
    label's row is the sum of its instances' features, brought to length one: row j is
    ``Σ_i Y_ij z_i / |Σ_i Y_ij z_i|`` (SparseKmeans, supplement E). Cluster the result with
    :class:`polymeans.KMeans`; rows have length one, so both metrics do.

    **Use when** labels are many and instances sparse (tf-idf). **Do not use when** labels have
    features of their own that describe them better. **Cost:** one sparse product.

    Parameters
    ----------
    Y : {array-like, sparse matrix} of shape (n_instances, n_labels)
        Which instance has which label. Entries other than 0 and 1 are weights.
    Z : {array-like, sparse matrix} of shape (n_instances, n_features)
        Features of the instances.

    Returns
    -------
    X : {ndarray, CSR} of shape (n_labels, n_features)
        One row for each label, zero for labels no instance has. Sparse if Z is.

    See Also
    --------
    polymeans.KMeans : Clusters these rows, with ``metric="cosine"``.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from polymeans import label_features
    >>> Y = csr_array(np.array([[1, 0], [1, 0], [0, 1]]))
    >>> Z = csr_array(np.array([[3.0, 0, 0], [0, 4.0, 0], [0, 0, 2.0]]))
    >>> label_features(Y, Z).toarray()
    array([[0.6, 0.8, 0. ],
           [0. , 0. , 1. ]])
    """
    Y = checked_matrix(Y, "Y")
    Z = checked_matrix(Z, "Z")
    if Y.shape[0] != Z.shape[0]:
        raise ValueError(
            f"Y has {Y.shape[0]} rows and Z has {Z.shape[0]}; both need one row for each instance."
        )
    if sp.issparse(Z):
        Y = sp.csr_array(Y)
        totals = (Y.T @ Z).tocsr()
        totals.sort_indices()
    else:
        totals = np.asarray(Y.T @ Z)
    # Divided by their largest entries first: squares of extreme rows would leave the range.
    largest = largest_of_rows(totals)
    return normalize(rows_over(totals, np.where(largest > 0, largest, 1.0)), copy=False)
