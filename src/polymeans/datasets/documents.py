"""Sparse rows with word statistics like those of text, and known topics."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.preprocessing import normalize

from polymeans._validation import check_integer, check_seed
from polymeans.datasets._common import check_range, text_lengths, zipf_ranks

#: Words a topic prefers. With much fewer, topics have almost no words in common; with much more,
#: they hardly differ.
_TOPIC_WORDS = 500

#: Share of its topic words that a document takes from a second topic, at most: below one half, so
#: that the first topic remains the larger one.
_MOST_SECOND_TOPIC = 0.4


def make_documents(
    n_samples: int = 1000,
    n_features: int = 2000,
    n_topics: int = 10,
    *,
    length: float = 100.0,
    overlap: float = 0.5,
    random_state: Any = None,
) -> tuple[sp.csr_array, NDArray[np.int64]]:
    """Documents about known topics, as tf-idf rows of length one.

    **Idea.** A document has a topic, a second topic, and a number of words. Each word is drawn from
    the vocabulary of all documents with probability ``overlap``, otherwise from the words that the
    topic prefers (up to 40 % of these from the second topic, so that topics overlap). Both follow
    Zipf's law: the word of rank r is drawn in proportion to 1/r. Counts c become ``(1 + log c) · (1
    + log((1 + n) / (1 + n_w)))``, n_w being the documents that have the word, and rows are brought
    to length one, as a ``TfidfVectorizer(sublinear_tf=True)`` would do.

    **Use when** you need sparse rows with the skewed columns of text and a known answer. **Do not
    use** to judge how well a method clusters real text: real topics are not independent draws.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of documents.
    n_features : int, default=2000
        Words in the vocabulary. Column 0 is the most common one.
    n_topics : int, default=10
        Number of topics, about equally frequent.
    length : float, default=100.0
        Mean number of words in a document. Lengths vary as in text: many short, a few long.
    overlap : float, default=0.5
        Share of words that do not depend on the topic, from 0 (easy) to 1 (no information left).
    random_state : int, RandomState instance or None, default=None
        Determines the documents.

    Returns
    -------
    X : CSR array of shape (n_samples, n_features), float64
        Rows of length one, with sorted 32-bit indices.
    topics : ndarray of shape (n_samples,), int64
        Topic of each document.

    See Also
    --------
    sklearn.datasets.make_blobs : Dense rows around known centers.

    Examples
    --------
    >>> from polymeans import KMeans
    >>> from polymeans.datasets import make_documents
    >>> from sklearn.metrics import adjusted_rand_score
    >>> X, topics = make_documents(500, 1000, n_topics=4, random_state=0)
    >>> X
    <Compressed Sparse Row sparse array of dtype 'float64'
        with ... stored elements and shape (500, 1000)>
    >>> model = KMeans(4, metric="cosine", n_init=5, random_state=0).fit(X)
    >>> adjusted_rand_score(topics, model.labels_) > 0.9
    True
    """
    check_integer("n_samples", n_samples, 1)
    check_integer("n_features", n_features, 1)
    check_integer("n_topics", n_topics, 1)
    length = check_range("length", length, 1.0)
    overlap = check_range("overlap", overlap, 0.0, 1.0)
    rng = check_seed(random_state)

    topics = rng.randint(n_topics, size=n_samples).astype(np.int64)
    lengths = text_lengths(rng, n_samples, length)
    document = np.repeat(np.arange(n_samples), lengths)

    # Common words: the rank is the column. Topic words: the rank is a position in the topic's list.
    word = zipf_ranks(rng, n_features, len(document))
    special = np.flatnonzero(rng.random_sample(len(document)) >= overlap)
    owner = document[special]
    second = rng.randint(n_topics, size=n_samples)
    share = _MOST_SECOND_TOPIC * rng.random_sample(n_samples)
    topic = np.where(rng.random_sample(len(special)) < share[owner], second[owner], topics[owner])
    preferred = rng.randint(n_features, size=(n_topics, min(n_features, _TOPIC_WORDS)))
    word[special] = preferred[topic, zipf_ranks(rng, preferred.shape[1], len(special))]

    return _tf_idf(document, word, (n_samples, n_features)), topics


def _tf_idf(
    document: NDArray[np.int64], word: NDArray[np.int64], shape: tuple[int, int]
) -> sp.csr_array:
    """Unit rows from one (document, word) pair for each word of the text."""
    cells, counts = np.unique(document * shape[1] + word, return_counts=True)
    rows, columns = np.divmod(cells, shape[1])
    n_containing = np.bincount(columns, minlength=shape[1])
    rarity = 1.0 + np.log((1 + shape[0]) / (1 + n_containing))
    values = (1.0 + np.log(counts)) * rarity[columns]
    # Cells are sorted already, so the row boundaries are all a CSR array still needs.
    indptr = np.searchsorted(rows, np.arange(shape[0] + 1))
    index = np.int32 if max(len(cells), shape[1]) <= np.iinfo(np.int32).max else np.int64
    X = sp.csr_array((values, columns.astype(index), indptr.astype(index)), shape=shape)
    return normalize(X, copy=False)
