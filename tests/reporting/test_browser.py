"""The page of a report in a real browser: Chromium, driven by Playwright, without a network."""

import os
import shutil
from itertools import pairwise

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris

from polymeans import KhatriRaoKMeans, KMeans, NonRedundantKMeans, report
from tests.inspection.models import rows
from tests.reporting.test_report import hostile_report

#: Set where a missing browser is a failure and not a reason to skip.
REQUIRED = bool(os.environ.get("POLYMEANS_REQUIRE_BROWSER"))

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture(scope="module")
def browser():
    """Chromium of the system; no browser is downloaded."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        sync_playwright = None
    missing = "playwright" if sync_playwright is None else "chromium" if CHROMIUM is None else None
    if missing:
        words = f"{missing} is not installed: apt-get install chromium, pip install playwright"
        if REQUIRED:
            pytest.fail(words)
        pytest.skip(words)
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.fixture
def visit(browser, tmp_path):
    """Opens a report; whatever the page complains about or asks for fails the test."""
    contexts, trouble = [], []

    def open_page(found, **options):
        path = found.save(tmp_path / f"report{len(contexts)}.html")
        context = browser.new_context(viewport={"width": 1280, "height": 900}, **options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: trouble.append(message.text))
        page.on("pageerror", lambda error: trouble.append(str(error)))
        page.on("dialog", lambda dialog: (trouble.append(dialog.message), dialog.dismiss()))
        page.on(
            "request",
            lambda request: (
                None
                if request.url.startswith("data:") or request.url == path.as_uri()
                else trouble.append(f"request of {request.url}")
            ),
        )
        page.goto(path.as_uri())
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert not trouble


@pytest.fixture(scope="module")
def iris():
    bunch = load_iris()
    model = KMeans(4, n_init=3, random_state=0).fit(bunch.data)
    return report(model, bunch.data, bunch.feature_names, bunch.target_names[bunch.target])


@pytest.fixture(scope="module")
def digits():
    X = load_digits().data[:500]
    return report(KMeans(6, random_state=0).fit(X), X, image_shape=(8, 8))


def visible_rows(page):
    return page.eval_on_selector_all(
        "table.clusters tbody tr",
        "rows => rows.filter(r => !r.hidden).map(r => +r.dataset.cluster)",
    )


def test_sorting(visit, iris):
    page = visit(iris)
    clusters = iris.to_dict()["clusterings"][0]["clusters"]
    assert visible_rows(page) == [0, 1, 2, 3]
    by_size = sorted(range(4), key=lambda c: (-clusters[c]["size"], c))
    head = page.get_by_role("columnheader", name="Rows", exact=True)
    head.get_by_role("button").click()
    assert visible_rows(page) == by_size
    assert head.get_attribute("aria-sort") == "descending"
    head.get_by_role("button").press("Enter")  # by keyboard
    assert visible_rows(page) == sorted(range(4), key=lambda c: (clusters[c]["size"], c))
    assert head.get_attribute("aria-sort") == "ascending"
    page.get_by_role("columnheader", name="Silhouette").get_by_role("button").click()
    assert head.get_attribute("aria-sort") is None
    assert visible_rows(page) == sorted(range(4), key=lambda c: -clusters[c]["silhouette"])


def test_search(visit, iris):
    page = visit(iris)
    box = page.get_by_role("searchbox")
    texts = page.eval_on_selector_all(
        "table.clusters tbody tr", "rows => rows.map(r => r.textContent.toLowerCase())"
    )
    box.fill("SEPAL width")
    expected = [i for i, text in enumerate(texts) if "sepal" in text and "width" in text]
    assert visible_rows(page) == expected
    assert page.locator(".count").inner_text() == f"{len(expected)} of 4"
    box.fill("nothing like this")
    assert visible_rows(page) == []
    box.fill("")
    assert visible_rows(page) == [0, 1, 2, 3]


def test_hover_names_the_row(visit, iris):
    page = visit(iris)
    (content,) = iris.to_dict()["maps"]
    page.locator("circle").last.hover(force=True)
    # Another point may lie on top: whichever is hit says which row it is.
    tip = page.locator("#tip")
    assert tip.is_visible()
    words = tip.inner_text()
    assert "row " in words
    row = int(words.partition("row ")[2].partition(",")[0])
    label = content["labels"][content["rows"].index(row)]
    assert f"Cluster {label}" in words
    page.mouse.move(5, 5)
    assert tip.is_hidden()


def test_hover_shows_the_picture(visit, digits):
    page = visit(digits)
    pictures = digits.to_dict()["pictures"]["rows"]
    (content,) = digits.to_dict()["maps"]
    known = next(i for i, row in enumerate(content["rows"]) if str(row) in pictures)
    page.locator(f'circle[data-i="{known}"]').dispatch_event("pointermove")
    assert page.locator("#tip .thumb").is_visible()


def selected(page):
    return page.eval_on_selector_all("tr.on", "rows => rows.map(r => +r.dataset.cluster)")


def test_selection_links_map_and_table(visit, iris):
    page = visit(iris)
    (content,) = iris.to_dict()["maps"]
    # From the table to the map.
    page.locator('tr[data-cluster="2"] .pick').click()
    assert selected(page) == [2]
    assert page.locator('tr[data-cluster="2"] .pick').get_attribute("aria-pressed") == "true"
    lit = page.eval_on_selector_all("circle.on", "points => points.map(p => +p.dataset.i)")
    assert lit == [i for i, label in enumerate(content["labels"]) if label == 2]
    assert "Cluster 2" in page.locator(".side").inner_text()
    # From the map to the table.
    target = content["labels"].index(1)
    page.locator(f'circle[data-i="{target}"]').dispatch_event("click")
    assert selected(page) == [1]
    assert "Cluster 1" in page.locator(".side").inner_text()
    # Centroids, bars and the close button.
    page.locator('.center[data-cluster="3"]').click()
    assert selected(page) == [3]
    page.get_by_role("button", name="Show all clusters").click()
    assert selected(page) == []
    assert "Sizes" in page.locator(".side").inner_text()
    page.locator('.bars button[data-cluster="0"]').click()
    assert selected(page) == [0]
    # The same row again takes the selection back.
    page.locator('tr[data-cluster="0"] .pick').click()
    assert selected(page) == []


def test_the_keyboard_is_enough(visit, iris):
    page = visit(iris)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.locator(".plane svg").focus()
    page.keyboard.press("ArrowRight")
    assert selected(page) == [0]
    page.keyboard.press("ArrowLeft")
    assert selected(page) == [3]
    page.keyboard.press("Escape")
    assert selected(page) == []
    page.locator('tr[data-cluster="1"] .pick').focus()
    page.keyboard.press("Space")
    assert selected(page) == [1]


def brightness(page, selector, what):
    color = page.eval_on_selector(selector, f"e => getComputedStyle(e).{what}")
    return sum(float(part) for part in color.partition("(")[2].rstrip(")").split(",")[:3]) / 3


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_dark_mode_follows_the_reader(visit, iris, scheme):
    page = visit(iris, color_scheme=scheme)
    is_dark = scheme == "dark"
    assert (brightness(page, "body", "backgroundColor") < 80) == is_dark
    assert (brightness(page, "body", "color") > 150) == is_dark
    assert (brightness(page, ".card", "backgroundColor") < 80) == is_dark
    page.get_by_role("button", name="Color scheme").click()
    assert (brightness(page, "body", "backgroundColor") < 80) != is_dark
    assert (brightness(page, ".card", "backgroundColor") < 80) != is_dark
    page.get_by_role("button", name="Color scheme").click()
    assert (brightness(page, "body", "backgroundColor") < 80) == is_dark


#: Least ratio of luminances of text and ground that the WCAG (level AA) ask for.
CONTRAST = 4.5

LUMINANCES = """selectors => {
  const parse = text => (text.match(/[\\d.]+/g) || []).map(Number);
  const light = ([r, g, b]) => [r, g, b].map(v => v / 255)
    .map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const ground = e => {
    for (; e; e = e.parentElement) {
      const color = parse(getComputedStyle(e).backgroundColor);
      if (color.length === 3 || color[3] === 1) return color;
    }
    return [255, 255, 255];
  };
  return selectors.map(s => {
    const e = document.querySelector(s);
    const [a, b] = [light(parse(getComputedStyle(e).color)), light(ground(e))];
    return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  });
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read(visit, iris, scheme):
    page = visit(iris, color_scheme=scheme)
    selectors = [".lead", ".over", "h1", ".figure dt", ".figure small", ".hint", ".count", "footer"]
    selectors += [".chips .up", ".chips .down", "thead th", ".facts dt", ".default td", ".center"]
    found = page.evaluate(LUMINANCES, selectors)
    assert {s: ratio for s, ratio in zip(selectors, found) if ratio < CONTRAST} == {}


@pytest.mark.parametrize("width", [1280, 768, 390])
def test_no_page_is_wider_than_the_screen(visit, iris, digits, width):
    for found in (iris, digits):
        page = visit(found)
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_tabs_of_views_and_cells_in_a_grid(visit):
    X = rows("dense")
    page = visit(report(NonRedundantKMeans((3, 2), effort=0.1, random_state=0).fit(X), X))
    tabs = page.get_by_role("tab")
    assert tabs.all_inner_texts() == ["View 0", "View 1"]
    assert page.locator("#clustering-1").is_hidden()
    tabs.nth(1).click()
    assert page.locator("#clustering-0").is_hidden()
    assert page.locator("#clustering-1").is_visible()
    tabs.nth(1).press("ArrowRight")
    assert page.locator("#clustering-0").is_visible()
    page = visit(report(KhatriRaoKMeans((2, 3), effort=0.1, random_state=0).fit(X), X))
    page.get_by_role("tab").nth(1).click()
    page.locator('.grid button[data-cluster="4"]').click()
    assert page.locator("#clustering-0").is_visible()
    assert selected(page) == [4]


def test_everything_is_printed(visit):
    X = rows("dense")
    page = visit(report(NonRedundantKMeans((3, 2), effort=0.1, random_state=0).fit(X), X))
    page.get_by_role("button", name="Color scheme").click()  # dark, on paper it is not
    page.emulate_media(media="print")
    assert brightness(page, "body", "backgroundColor") > 250
    assert brightness(page, "body", "color") < 80
    assert page.locator("#clustering-1").is_visible()
    assert page.locator("#theme").is_hidden()
    assert len(page.pdf()) > 10_000


def test_screen_readers_get_names(visit, iris):
    page = visit(iris)
    nameless = page.evaluate(
        """() => Array.from(document.querySelectorAll("button, input, [role=img], [role=region]"))
            .filter(e => !(e.getAttribute("aria-label") || e.textContent.trim() ||
                (e.id && document.querySelector(`label[for="${e.id}"]`))))
            .map(e => e.outerHTML.slice(0, 80))"""
    )
    assert nameless == []
    assert page.evaluate("document.documentElement.lang") == "en"
    headings = page.eval_on_selector_all("h1, h2, h3", "found => found.map(h => +h.tagName[1])")
    assert headings[0] == 1
    assert headings.count(1) == 1
    assert all(later <= earlier + 1 for earlier, later in pairwise(headings))


def test_without_scripts_the_content_is_there(visit, iris):
    page = visit(iris, java_script_enabled=False)
    assert page.locator("table.clusters tbody tr").count() == 4
    assert page.locator("circle").count() == 150


def test_a_thousand_hostile_strings_do_nothing(visit):
    names, found = hostile_report(1000)
    page = visit(found)
    n_clusters = found.to_dict()["clusterings"][0]["n_clusters"]
    for cluster in range(n_clusters):  # every string passes through the script once
        page.locator(f'tr[data-cluster="{cluster}"] .pick').dispatch_event("click")
        assert f"Cluster {cluster}" in page.locator(".side h2").inner_text()
    page.evaluate(
        "document.querySelectorAll('circle').forEach(c => c.dispatchEvent("
        "new PointerEvent('pointermove', {bubbles: true})))"
    )
    page.get_by_role("searchbox").fill("<script>")
    page.wait_for_timeout(100)
    assert page.evaluate("window.pwned") is None
    assert page.locator("footer").is_visible()
    assert page.evaluate("document.scripts.length") == 2
    assert page.evaluate("document.querySelectorAll('iframe, link, base, form, style').length") == 1
    assert len(names) == 1000


def test_the_policy_stops_scripts_that_were_put_in(visit, iris, tmp_path, browser):
    """Should a text ever become markup, the page still runs no other script."""
    page_text = iris.html().replace("</footer>", "</footer><script>window.pwned=1</script>")
    path = tmp_path / "changed.html"
    path.write_text(page_text, encoding="utf-8")
    page = browser.new_page()
    page.goto(path.as_uri())
    assert page.evaluate("window.pwned") is None
    page.close()


def test_a_notebook_frame_works(browser, iris, tmp_path):
    path = tmp_path / "notebook.html"
    path.write_text(f"<!doctype html><body>{iris._repr_html_()}</body>", encoding="utf-8")
    page = browser.new_page()
    page.goto(path.as_uri())
    inside = page.frame_locator("iframe")
    inside.locator('tr[data-cluster="2"] .pick').click()
    assert inside.locator("tr.on").count() == 1
    page.close()


def test_rows_on_the_map_are_those_of_the_summary(visit, iris):
    page = visit(iris)
    (content,) = iris.to_dict()["maps"]
    drawn = page.eval_on_selector_all("circle", "points => points.map(p => +p.dataset.i)")
    assert drawn == list(range(len(content["rows"])))
    assert np.unique(content["labels"]).tolist() == [0, 1, 2, 3]
