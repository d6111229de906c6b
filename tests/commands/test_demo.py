"""The demo: a table, and one page that shows something in a browser."""

import json
import os
import re

import pytest

from tests.commands.running import check_error, polymeans, polymeans_here
from tests.reporting.test_browser import browser  # noqa: F401 (a fixture)

STRUCTURES = [
    "KMeans",
    "KhatriRaoKMeans",
    "QuickKMeans",
    "L1KMeans",
    "NonRedundantKMeans",
    "TransformedKMeans",
]


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo")
    done = polymeans("demo", "--quick", "--output", "page.html", folder=folder)
    assert done.code == 0, done.notes
    return done, folder / "page.html"


def test_the_table_has_all_structures(demo):
    lines = demo[0].out.splitlines()
    assert lines[0].split()[0] == "structure"
    assert [line.split()[0] for line in lines[1:]] == STRUCTURES
    for line in lines[1:]:
        numbers, free, found, seconds = line.split()[-4:]
        assert int(numbers) > 0
        assert int(free) > 0
        assert 0.5 < float(found) <= 1
        assert 0 < float(seconds) < 60
    assert "Page: page.html" in demo[0].notes.splitlines()[-1]


def test_structures_find_what_is_known(demo):
    table = {line.split()[0]: line.split() for line in demo[0].out.splitlines()}
    assert table["KhatriRaoKMeans"][-2] == "1.00"
    assert table["NonRedundantKMeans"][-2] == "1.00"
    for name in ("KhatriRaoKMeans", "QuickKMeans", "L1KMeans"):
        assert int(table[name][-4]) < int(table[name][-3])


def test_it_is_one_page_without_addresses(demo):
    page = demo[1].read_text(encoding="utf-8")
    assert os.listdir(demo[1].parent) == ["page.html"]
    assert not re.search(r'(src|href)="(?!data:|#)', page)
    assert page.count("<iframe") == 6


def test_the_page_shows_a_report_of_each(demo, browser):  # noqa: F811
    page = browser.new_page(viewport={"width": 1280, "height": 1200})
    trouble = []
    page.on("console", lambda message: trouble.append(message.text))
    page.on("pageerror", lambda error: trouble.append(str(error)))
    page.goto(demo[1].as_uri())
    pictures = page.locator(".card img")
    assert pictures.count() == 5  # the sixth has words
    for i in range(5):
        assert pictures.nth(i).evaluate("image => image.naturalWidth") > 20
    for i, name in enumerate(STRUCTURES):
        page.locator(".card").nth(i).click()
        assert page.locator("section:visible").count() == 1
        title = page.frame_locator("section:visible iframe").locator("h1")
        assert name in title.inner_text()
    assert trouble == []
    page.close()


def test_json_a_seed_and_a_full_disk(tmp_path):
    arguments = ["demo", "--quick", "--quiet", "--json", "--seed", "3"]
    done = polymeans_here(*arguments, "--output", tmp_path, folder=tmp_path)
    check_error(done, "is a directory", code=2)
    done = polymeans_here(*arguments, "--output", "/dev/full", folder=tmp_path)
    assert [line["structure"] for line in json.loads(done.out)] == STRUCTURES
    assert done.code == 1
    assert "No space left" in done.notes
    assert len(done.notes.splitlines()) == 1


def test_it_says_when_it_compiles(tmp_path):
    """A folder for compiled kernels that is empty, as on a new machine."""
    code = (
        "from polymeans.commands.compiling import Compiling\n"
        "from polymeans.kernels.prepare import shifted_norms\nimport numpy as np\n"
        "with Compiling() as compiling:\n"
        "    shifted_norms(np.ones((3, 2)), np.zeros(2), 0, 3, np.empty(3))\n"
        "print(compiling.seconds)"
    )
    import subprocess
    import sys

    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    seconds = [
        float(
            subprocess.run(
                [sys.executable, "-c", code], env=environment, capture_output=True, check=True
            ).stdout
        )
        for _ in range(2)
    ]
    assert seconds[0] > 0.05
    assert seconds[1] == 0  # read from the disk
