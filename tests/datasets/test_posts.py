"""Generated posts: English words, topics that can be found again, and related ones that meet."""

import re
from collections import Counter

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import normalized_mutual_info_score

from polymeans import KMeans
from polymeans.datasets import make_posts
from polymeans.datasets._topics import GENERAL, TOPICS
from polymeans.metrics import purity


def found(posts, topics, n_topics):
    """Labels of k-means by cosine."""
    X = TfidfVectorizer(stop_words="english").fit_transform(posts)
    return KMeans(n_topics, metric="cosine", n_init=5, random_state=0).fit(X).labels_


@pytest.mark.parametrize("n_samples", [1, 7, 300])
@pytest.mark.parametrize("n_topics", [1, 8, 20])
def test_posts_and_topics_of_the_numbers_asked_for(n_samples, n_topics):
    posts, topics = make_posts(n_samples, n_topics, random_state=0)
    assert isinstance(posts, list)
    assert len(posts) == len(topics) == n_samples
    assert topics.dtype == np.int64
    assert set(topics) <= set(range(n_topics))
    counts = np.bincount(topics, minlength=n_topics)
    assert counts.max() - counts.min() <= 1
    assert all(re.fullmatch(r"[a-z]+( [a-z]+)*", post) for post in posts)


def test_same_seed_same_posts():
    posts, topics = make_posts(100, 5, random_state=3)
    again, topics_again = make_posts(100, 5, random_state=3)
    other, _ = make_posts(100, 5, random_state=4)
    assert posts == again
    np.testing.assert_array_equal(topics, topics_again)
    assert posts != other


def test_global_generator_is_left_alone():
    before = np.random.get_state()[1].copy()
    make_posts(20, random_state=0)
    np.testing.assert_array_equal(before, np.random.get_state()[1])


def test_topics_are_found_where_general_words_are_few():
    posts, topics = make_posts(800, 8, overlap=0.1, random_state=0)
    assert purity(topics, found(posts, topics, 8)) > 0.9


def test_more_overlap_is_harder_until_only_chance_is_left():
    scores = []
    for overlap in (0.2, 0.8, 1.0):
        posts, topics = make_posts(600, 6, overlap=overlap, random_state=0)
        scores.append(normalized_mutual_info_score(topics, found(posts, topics, 6)))
    assert scores[0] > scores[1] > scores[2]
    assert scores[2] < 0.1


def test_share_of_general_words():
    for overlap in (0.0, 0.3, 1.0):
        posts, _ = make_posts(1500, 20, overlap=overlap, random_state=0)
        general = np.isin(" ".join(posts).split(), GENERAL)
        assert abs(general.mean() - overlap) < 0.02


def test_length_is_the_mean_number_of_words():
    for length in (1.0, 40.0, 120.0):
        posts, _ = make_posts(2000, length=length, random_state=0)
        lengths = np.array([len(post.split()) for post in posts])
        assert lengths.min() >= 1
        # No post is empty, which makes the shortest a little longer.
        assert 0.95 * length < lengths.mean() < 1.05 * length + 0.5


def test_posts_stray_into_topics_of_their_own_group():
    posts, topics = make_posts(1000, 20, overlap=0.0, random_state=0)
    groups = [topic.group for topic in TOPICS]
    for post, number in zip(posts, topics):
        allowed = {w for t in TOPICS if t.group == groups[number] for w in t.words}
        assert set(post.split()) <= allowed
    here = [post.split() for post, number in zip(posts, topics) if number == 0]
    strange = [np.mean([word not in TOPICS[0].words for word in words]) for words in here]
    assert 0.1 < np.mean(strange) < 0.25


def test_a_topic_without_relatives_keeps_to_itself():
    posts, _ = make_posts(200, 1, overlap=0.0, random_state=0)
    assert set(" ".join(posts).split()) == set(TOPICS[0].words)


def test_frequencies_fall_with_the_rank():
    posts, _ = make_posts(3000, 1, overlap=0.5, random_state=0)
    counts = Counter(" ".join(posts).split())
    for words in (GENERAL, TOPICS[0].words):
        ordered = np.array([counts[word] for word in words])
        tenths = np.array_split(ordered, 5)
        means = [part.mean() for part in tenths]
        assert means == sorted(means, reverse=True)


def test_posts_repeat_themselves():
    posts, _ = make_posts(300, 1, overlap=0.0, length=60, random_state=0)
    words = [post.split() for post in posts if len(post.split()) >= 40]
    shuffled = np.random.default_rng(0).permutation(np.concatenate(words))
    kinds = np.mean([len(set(post[:40])) for post in words])
    by_chance = np.mean([len(set(part[:40])) for part in np.array_split(shuffled, len(words))])
    assert kinds < 0.8 * by_chance


def test_word_lists_are_sound():
    assert len(GENERAL) == len(set(GENERAL))
    assert len({topic.name for topic in TOPICS}) == len(TOPICS) == 20
    for topic in TOPICS:
        assert len(topic.words) == len(set(topic.words)) == 40
        assert not set(topic.words) & set(GENERAL)
        related = {w for t in TOPICS if t.group == topic.group and t != topic for w in t.words}
        assert topic.group == "market" or set(topic.words) & related


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"n_samples": 0}, ValueError, "n_samples must be an integer of at least 1, got 0"),
        ({"n_samples": 2.5}, ValueError, "n_samples must be an integer"),
        ({"n_topics": 0}, ValueError, "n_topics must be an integer of at least 1, got 0"),
        ({"n_topics": 21}, ValueError, "n_topics must be at most 20, got 21. Use make_documents"),
        ({"n_topics": None}, TypeError, "n_topics must be an integer"),
        ({"overlap": 1.2}, ValueError, "overlap must be a number between 0 and 1, got 1.2"),
        ({"overlap": "much"}, TypeError, "overlap must be a number between 0 and 1, got 'much'"),
        ({"length": 0.5}, ValueError, "length must be a finite number of at least 1, got 0.5"),
        ({"length": np.inf}, ValueError, "length must be a finite number"),
    ],
)
def test_unusable_arguments_are_named(arguments, error, message):
    with pytest.raises(error, match=re.escape(message)):
        make_posts(**arguments)
