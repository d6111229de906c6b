"""Short texts of English words whose topics are known."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymeans._validation import check_integer, check_seed
from polymeans.datasets._common import balanced, check_range, text_lengths, zipf_ranks
from polymeans.datasets._topics import GENERAL, TOPICS

#: Added to the ranks of a topic's words in Zipf's law: without it the first word would be drawn 23
#: % of the time and be in nearly every post; with 3 it is 10 %.
_RANK_SHIFT = 3

#: Number of words in a post at which the next word is a repetition with probability one half. It
#: makes some words frequent in a post, as in text.
_HALF_REPEATED = 15.0

#: Share of its topic words that a post takes from a related topic, at most: below one half, so that
#: its own topic remains the larger one.
_MOST_RELATED = 0.4


def make_posts(
    n_samples: int = 1000,
    n_topics: int = 8,
    *,
    overlap: float = 0.5,
    length: float = 40.0,
    random_state: Any = None,
) -> tuple[list[str], NDArray[np.int64]]:
    """Posts to newsgroups about known topics, as texts of English words.

    **Idea.** Each topic has 40 words, some of which related topics have, too. A word of a post is
    drawn from words that all posts share with probability ``overlap``, otherwise from those of the
    topic, or from those of one related topic (up to 40 % of them, so that related topics overlap).
    Frequencies follow Zipf's law. Words are repeated, as in text: the more words a post has
    already, the more likely the next one is one of them.

    **Use when** you need texts for a vectorizer, and clusters whose words can be read. **Do not
    use** to judge how well a method clusters real text: there is no grammar, there are few
    words, and topics are of equal size. For sparse rows without texts,
    :func:`~polymeans.datasets.make_documents` is faster and takes any number of topics and words.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of posts.
    n_topics : int, default=8
        Number of topics, at most 20, equally frequent. In this order: space, hockey, graphics,
        religion, for sale, medicine, baseball, windows, Middle East, cryptography, motorcycles, PC
        hardware, guns, electronics, cars, Macintosh, politics, X window, atheism, weather. The
        more there are, the more of them are related.
    overlap : float, default=0.5
        Share of words that do not depend on the topic, from 0 (easy) to 1 (no information left).
    length : float, default=40.0
        Mean number of words in a post. Lengths vary: many short, a few long.
    random_state : int, RandomState instance or None, default=None
        Determines the posts.

    Returns
    -------
    posts : list of str
        Words in lower case, with spaces between them.
    topics : ndarray of shape (n_samples,), int64
        Topic of each post.

    See Also
    --------
    make_documents : Sparse rows with topics, without the texts.

    Examples
    --------
    >>> from polymeans import TransformedKMeans
    >>> from polymeans.datasets import make_posts
    >>> from polymeans.metrics import purity
    >>> from sklearn.feature_extraction.text import TfidfVectorizer
    >>> posts, topics = make_posts(500, n_topics=4, overlap=0.3, random_state=0)
    >>> print(posts[0][:47])
    penalty assist think the hockey points montreal
    >>> X = TfidfVectorizer(stop_words="english").fit_transform(posts)
    >>> model = TransformedKMeans(4, random_state=0).fit(X)
    >>> purity(topics, model.labels_) > 0.95
    True
    """
    check_integer("n_samples", n_samples, 1)
    check_integer("n_topics", n_topics, 1)
    if n_topics > len(TOPICS):
        raise ValueError(
            f"n_topics must be at most {len(TOPICS)}, got {n_topics}. Use make_documents for more."
        )
    overlap = check_range("overlap", overlap, 0.0, 1.0)
    length = check_range("length", length, 1.0)
    rng = check_seed(random_state)

    topics = balanced(rng, n_samples, n_topics)
    lengths = text_lengths(rng, n_samples, length)
    post = np.repeat(np.arange(n_samples), lengths)
    first = np.cumsum(lengths) - lengths

    word = np.array(GENERAL, dtype=object)[zipf_ranks(rng, len(GENERAL), len(post))]
    special = np.flatnonzero(rng.random_sample(len(post)) >= overlap)
    owner = post[special]
    second = _related(rng, topics, n_topics)
    share = _MOST_RELATED * rng.random_sample(n_samples)
    topic = np.where(rng.random_sample(len(special)) < share[owner], second[owner], topics[owner])
    preferred = np.array([topic.words for topic in TOPICS], dtype=object)
    word[special] = preferred[topic, zipf_ranks(rng, preferred.shape[1], len(special), _RANK_SHIFT)]

    word = word[_repeats(rng, np.arange(len(post)) - first[post])]
    return [" ".join(words) for words in np.split(word, first[1:])], topics


def _related(
    rng: np.random.RandomState, topics: NDArray[np.int64], n_topics: int
) -> NDArray[np.int64]:
    """Another topic of the same group for each post; its own if there is no other."""
    groups = [topic.group for topic in TOPICS[:n_topics]]
    draws = rng.random_sample(len(topics))
    related = topics.copy()
    for number, group in enumerate(groups):
        others = [t for t, other in enumerate(groups) if other == group and t != number]
        here = topics == number
        if others:
            related[here] = np.array(others)[(draws[here] * len(others)).astype(int)]
    return related


def _repeats(rng: np.random.RandomState, place: NDArray[np.int64]) -> NDArray[np.int64]:
    """For each word the number of the word in its place: itself, or an earlier one of the post.

    ``place`` counts the words of a post from 0.
    """
    here = np.arange(len(place))
    again = rng.random_sample(len(place)) * (place + _HALF_REPEATED) < place
    back = 1 + (rng.random_sample(len(place)) * place).astype(np.int64)
    source = np.where(again, here - back, here)
    # An earlier word may itself be a repetition: go back to its first occurrence.
    while (source[source] != source).any():
        source = source[source]
    return source
