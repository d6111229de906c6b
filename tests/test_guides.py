"""What the user guides show is what happens."""

import doctest
import re
import textwrap
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[1] / "docs"
GUIDES = [*sorted((DOCS / "guide").glob("*.rst")), DOCS / "tutorial.rst", DOCS / "coming_from.rst"]


def prompts(path):
    return len(re.findall(r"^ *>>> ", path.read_text(encoding="utf-8"), re.MULTILINE))


def test_there_are_guides_with_examples():
    found = {path.stem for path in GUIDES if prompts(path)}
    assert {"khatri_rao", "nonredundant", "quick", "transformed", "tutorial"} <= found


@pytest.mark.parametrize("path", GUIDES, ids=lambda path: path.stem)
def test_examples_of_the_guide_give_what_it_says(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # whatever an example writes
    failed, tried = doctest.testfile(
        str(path),
        module_relative=False,
        optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS,
        encoding="utf-8",
    )
    assert not failed
    assert tried == prompts(path)


@pytest.mark.parametrize("path", GUIDES, ids=lambda path: path.stem)
def test_code_that_is_only_shown_is_python(path):
    text = path.read_text(encoding="utf-8")
    for block in re.findall(r"\.\. code-block:: python\n\n((?:   .*\n|\n)+)", text):
        compile(textwrap.dedent(block), path.name, "exec")


@pytest.mark.parametrize(
    "path",
    [path for path in GUIDES if path.parent.name == "guide" and path.stem != "index"],
    ids=lambda path: path.stem,
)
def test_a_guide_opens_with_a_problem_and_a_picture_and_ends_with_remedies(path):
    text = path.read_text(encoding="utf-8")
    _, _, opening = text.partition("=\n\n")
    problem, _, picture = opening.partition("\n\n")
    assert problem.startswith("You have ")
    assert len(problem) < 600
    assert picture.startswith(f".. figure:: /_static/guide-{path.stem}.png\n   :alt: ")
    assert (DOCS / "_static" / f"guide-{path.stem}.png").stat().st_size < 150_000
    assert "\nIf the result disappoints\n---" in text


def test_every_guide_is_listed():
    index = (DOCS / "guide" / "index.rst").read_text(encoding="utf-8")
    names = [path.stem for path in (DOCS / "guide").glob("*.rst") if path.stem != "index"]
    assert all(f"* - :doc:`{name}`" in index and f"\n   {name}\n" in index for name in names)
