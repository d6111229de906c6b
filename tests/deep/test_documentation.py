"""Texts that the deep estimators share arrive in the docstring of each of them."""

import inspect

import pytest
from numpydoc.docscrape import ClassDoc

from polymeans import deep

CLASSES = [deep.DKM, deep.IDEC, deep.KhatriRaoDKM, deep.KhatriRaoIDEC]


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_docstrings_are_whole(kind):
    assert "%(" not in kind.__doc__
    described = [entry.name for entry in ClassDoc(kind)["Parameters"]]
    assert described == [*inspect.signature(kind).parameters], "in the order of the signature"
    for section in ("Attributes", "Notes", "References", "Examples"):
        assert kind.__doc__.count(f"    {section}\n") == 1


def test_shared_parameters_have_the_same_words():
    texts = [{p.name: p.desc for p in ClassDoc(kind)["Parameters"]} for kind in CLASSES]
    shared = set.intersection(*map(set, texts)) - {"alpha"}
    assert len(shared) > 20
    assert all(text[name] == texts[0][name] for text in texts for name in shared)
