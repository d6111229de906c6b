"""Rows for the labels of a multi-label problem."""

import numpy as np
import pytest
import scipy.sparse as sp

from polymeans import KMeans, label_features


def test_label_features_are_normalized_sums(documents):
    rng = np.random.default_rng(0)
    Y = sp.csr_matrix((rng.random((documents.shape[0], 30)) < 0.02).astype(float))
    X = label_features(Y, documents)
    assert sp.issparse(X)
    for j in range(30):
        total = np.asarray(documents[Y[:, [j]].toarray().ravel() > 0].sum(axis=0)).ravel()
        length = np.linalg.norm(total)
        np.testing.assert_allclose(X[[j]].toarray().ravel(), total / (length or 1.0), atol=1e-12)
    np.testing.assert_allclose(label_features(Y, documents.toarray()), X.toarray(), atol=1e-12)
    assert KMeans(3, random_state=0).fit(X).labels_.shape == (30,)


def test_label_features_need_matching_rows(documents):
    with pytest.raises(ValueError, match="one row for each instance"):
        label_features(np.ones((3, 2)), documents)
