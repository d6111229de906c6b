"""Photograph pages of the built site at two widths, light and dark.

    sphinx-build docs docs/_build/html
    python tools/screenshots.py docs/_build/html --out docs/screenshots

It needs Chromium, playwright (``pip install playwright``; no browser is downloaded) and Pillow,
which comes with matplotlib. It prints what a glance at the pictures may miss, and exits with 1
then: pages that are wider than the window, headers of more than one line, texts of low contrast,
missing pictures, and errors of scripts. Pictures are PNG files of 128 colors, 20 to 80 kilobytes.
"""

import argparse
import io
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PAGES = {
    "start": "index.html",
    "estimator": "generated/polymeans.KMeans.html",
    "gallery": "gallery/index.html",
    "benchmarks": "benchmarks.html#k-means-on-dense-rows",
}
WIDTHS = {1280: 900, 390: 844}
THEMES = ("light", "dark")
COLORS = 128

#: What is wrong with a page, as a list of sentences.
_FAULTS = """() => {
    const found = [];
    const width = document.documentElement.scrollWidth;
    if (width > window.innerWidth + 1) found.push(`${width} pixels wide`);
    const links = [...document.querySelectorAll('.bd-header .navbar-nav > li')];
    const tops = links.filter((link) => link.getClientRects().length)
        .map((link) => Math.round(link.getBoundingClientRect().top));
    if (Math.max(...tops) - Math.min(...tops) > 12) found.push('header of more than one line');
    const parse = (color) => (color.match(/[\\d.]+/g) || []).map(Number);
    const light = (c) => {
        const part = c.slice(0, 3).map((v) => v / 255)
            .map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
        return 0.2126 * part[0] + 0.7152 * part[1] + 0.0722 * part[2];
    };
    const behind = (element) => {
        for (let at = element; at; at = at.parentElement) {
            const color = parse(getComputedStyle(at).backgroundColor);
            if (color.length === 3 || color[3] > 0.5) return color;
        }
        return [255, 255, 255];
    };
    for (const element of document.querySelectorAll('article :is(p, td, th, h1)')) {
        if (!element.textContent.trim() || !element.getClientRects().length) continue;
        const [a, b] = [parse(getComputedStyle(element).color), behind(element)].map(light);
        const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        if (contrast < 4.5) {
            const words = element.textContent.trim().slice(0, 40);
            found.push(`contrast ${contrast.toFixed(1)}: ${words}`);
            break;
        }
    }
    for (const image of document.images) {
        if (image.complete && !image.naturalWidth) found.push(`no image at ${image.src}`);
    }
    return found;
}"""


def photograph(site: Path) -> Iterator[tuple[str, bytes, list[str]]]:
    """Each page at each width in each theme: a name, the picture, and what is wrong with it."""
    from playwright.sync_api import sync_playwright

    names = ("chromium", "chromium-browser", "google-chrome")
    executable = next(filter(None, map(shutil.which, names)), None)
    if executable is None:
        raise SystemExit("Chromium is not installed: apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        for theme in THEMES:
            for width, height in WIDTHS.items():
                size: Any = {"width": width, "height": height}
                scheme: Any = theme
                context = browser.new_context(viewport=size, color_scheme=scheme)
                # Fonts and mathematics come from other sites, which are not waited for.
                context.route(lambda address: not address.startswith("file:"), _refuse)
                for name, address in PAGES.items():
                    page = context.new_page()
                    faults: list[str] = []
                    page.on("pageerror", lambda error, faults=faults: faults.append(str(error)))
                    file, _, anchor = address.partition("#")
                    place = (site / file).resolve().as_uri() + (anchor and f"#{anchor}")
                    page.goto(place, wait_until="load")
                    page.wait_for_timeout(200)
                    faults += page.evaluate(_FAULTS)
                    yield f"{name}-{width}-{theme}", page.screenshot(), faults
                    page.close()
                context.close()
        browser.close()


def _refuse(route: Any) -> None:
    route.abort()


def reduced(picture: bytes) -> bytes:
    """The picture with a palette."""
    from PIL import Image

    made = io.BytesIO()
    image = Image.open(io.BytesIO(picture)).convert("RGB")
    # The method that keeps rare colors, such as those of clusters in a small picture.
    few = image.quantize(COLORS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    few.save(made, "PNG", optimize=True)
    return made.getvalue()


def main() -> int:
    """Write all pictures; 1 if a page has a fault."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("site", type=Path, help="folder of the built pages")
    parser.add_argument("--out", type=Path, default=Path("docs/screenshots"), help="for pictures")
    options = parser.parse_args()
    files = [address.partition("#")[0] for address in PAGES.values()]
    missing = [file for file in files if not (options.site / file).exists()]
    if missing:
        raise SystemExit(f"{options.site} has no {', '.join(missing)}: build the site first")
    options.out.mkdir(parents=True, exist_ok=True)
    n_faults = 0
    for name, picture, faults in photograph(options.site):
        small = reduced(picture)
        (options.out / f"{name}.png").write_bytes(small)
        print(f"{name}: {len(small) / 1e3:.0f} kB", *faults, sep="; ")
        n_faults += len(faults)
    return int(n_faults > 0)


if __name__ == "__main__":
    raise SystemExit(main())
