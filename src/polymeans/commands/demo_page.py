"""The page of the demo: a table, a picture of each structure, and the reports of all six."""

import html
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from polymeans._version import __version__
from polymeans.commands.demo_problems import Outcome
from polymeans.reporting.pictures import data_uri

#: Pictures of a mosaic at most.
_PICTURES = 20

_MEANING = {
    "numbers": "what the model stores",
    "free": "what as many free centroids would store",
    "found": "purity of the clusters with the known groups; of views, normalized information",
    "seconds": "of the fit, compiling aside",
}

_STYLE = """
:root { color-scheme: light dark; --ground: #f5f6f8; --card: #fff; --ink: #18212c; --soft: #5a6675;
  --line: #dfe4ea; --accent: #2a5fc9; }
@media (prefers-color-scheme: dark) { :root { --ground: #0f1318; --card: #171d25; --ink: #e7ecf2;
  --soft: #9ba8b7; --line: #2a3441; --accent: #8ab2ff; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink);
  font: 15px/1.5 system-ui, "Segoe UI", Roboto, "Liberation Sans", Arial, sans-serif; }
main { max-width: 1200px; margin: 0 auto; padding: 40px 24px; }
h1 { font-size: 30px; margin: 0 0 6px; letter-spacing: -.02em; }
p { color: var(--soft); margin: 0 0 20px; max-width: 75ch; }
table { border-collapse: collapse; width: 100%; background: var(--card);
  font-variant-numeric: tabular-nums; }
th, td { text-align: right; padding: 7px 12px; border-bottom: 1px solid var(--line); }
th:first-child, td:first-child, th:nth-child(2), td:nth-child(2) { text-align: left; }
th { color: var(--soft); font-weight: 600; }
.scroll { overflow-x: auto; border: 1px solid var(--line); border-radius: 12px; }
.cards { display: grid; gap: 16px; margin: 28px 0;
  grid-template-columns: repeat(auto-fill, minmax(340px, 1fr)); }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 12px;
  padding: 16px; text-align: left; font: inherit; color: inherit; cursor: pointer;
  display: flex; flex-direction: column; align-items: flex-start; }
.card:hover, .card[aria-selected=true] { border-color: var(--accent); }
.card:focus-visible { outline: 2px solid var(--accent); }
.card b { display: block; font-size: 16px; }
.card span { color: var(--soft); }
.card img { max-width: 100%; width: 340px; max-height: 150px; object-fit: contain;
  object-position: left; image-rendering: pixelated; border-radius: 6px; margin-top: 8px; }
.card small { display: block; color: var(--soft); margin-top: 4px; }
iframe { width: 100%; height: 1400px; border: 0; background: var(--card); }
section[hidden] { display: none; }
"""

_SCRIPT = """
const cards = [...document.querySelectorAll(".card")];
const reports = [...document.querySelectorAll("section")];
const fit = frame => {
  const page = frame.contentDocument;
  if (page) frame.style.height = (page.documentElement.scrollHeight + 20) + "px";
};
function show(chosen) {
  reports.forEach((report, i) => { report.hidden = i !== chosen; });
  cards.forEach((card, i) => card.setAttribute("aria-selected", i === chosen));
  fit(reports[chosen].querySelector("iframe"));
}
reports.forEach(report => {
  const frame = report.querySelector("iframe");
  frame.addEventListener("load", () => fit(frame));
});
cards.forEach((card, i) => card.addEventListener("click", () => {
  show(i);
  reports[i].scrollIntoView({behavior: "smooth"});
}));
show(0);
"""


def page(outcomes: Sequence[Outcome]) -> str:
    """The page as one text that needs no other file.

    Parameters
    ----------
    outcomes : sequence of Outcome

    Returns
    -------
    str
    """
    head = "".join(
        f'<th scope="col" title="{html.escape(_MEANING.get(name, ""))}">{html.escape(name)}</th>'
        for name in Outcome.HEADER
    )
    lines = "".join(
        f"<tr>{''.join(f'<td>{html.escape(cell)}</td>' for cell in outcome.cells())}</tr>"
        for outcome in outcomes
    )
    cards = "".join(_card(outcome) for outcome in outcomes)
    reports = "".join(
        f'<section aria-label="{outcome.problem.name}"><iframe title="{outcome.problem.name}" '
        f'srcdoc="{html.escape(outcome.html)}"></iframe></section>'
        for outcome in outcomes
    )
    words = ". ".join(f"<b>{name}</b>: {what}" for name, what in _MEANING.items())
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>polymeans demo</title><style>{_STYLE}</style></head><body><main>"
        f"<h1>Six structures of k-means</h1><p>polymeans {__version__} on data that come with the "
        "installation. Choose a structure to see its report.</p>"
        f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table>'
        f'</div><p style="margin-top:10px">{words}.</p><div class="cards">{cards}</div></main>'
        f"{reports}<script>{_SCRIPT}</script></body></html>"
    )


def _card(outcome: Outcome) -> str:
    problem = outcome.problem
    return (
        f'<button class="card" type="button"><b>{problem.name}</b>'
        f"<span>{html.escape(problem.idea)}</span>{_picture(outcome)}</button>"
    )


def _picture(outcome: Outcome) -> str:
    """Centroids as a mosaic; of texts, the words that stand out in some clusters."""
    shape = outcome.problem.settings.get("image_shape")
    if shape is None:
        return _words(outcome)
    model = outcome.model
    centers = (
        np.concatenate(model.centroids_per_view_)
        if hasattr(model, "centroids_per_view_")
        else model.cluster_centers_
    )
    images = np.asarray(centers)[:_PICTURES].reshape(-1, *shape)
    address = data_uri(_mosaic(images))
    return f'<img alt="Centroids of {outcome.problem.rows_are}" src="{address}">'


def _mosaic(images: NDArray[np.float64]) -> NDArray[np.uint8]:
    """Images side by side, in two rows or three, with a gap between them."""
    low, high = float(images.min()), float(images.max())
    pixels = (255 * (images - low) / max(high - low, 1e-300)).astype(np.uint8)
    n_rows = 3 if len(pixels) == 9 else 2
    n_columns = -(-len(pixels) // n_rows)
    height, width = pixels.shape[1] + 1, pixels.shape[2] + 1
    out = np.full((n_rows * height - 1, n_columns * width - 1, *pixels.shape[3:]), 128, np.uint8)
    for i, picture in enumerate(pixels):
        top, left = height * (i // n_columns), width * (i % n_columns)
        out[top : top + height - 1, left : left + width - 1] = picture
    return out


def _words(outcome: Outcome) -> str:
    names = np.asarray(outcome.problem.settings["feature_names"])
    centers = outcome.model.cluster_centers_
    distinct = centers - centers.mean(axis=0)
    lines = [", ".join(names[np.argsort(-row)[:6]]) for row in distinct[:6]]
    return "".join(f"<small>{html.escape(line)}</small>" for line in lines)
