"""Draws the pictures of the README, the start page and the guides: ``python docs/pictures.py``.

Names of guides draw these alone: ``python docs/pictures.py texts choosing``.
"""

import sys

import matplotlib.pyplot as plt
from drawing import estimators, flows, start_page, tasks
from drawing.style import LETTERS


def main(names: list[str]) -> None:
    """Draw everything, or the guides that are named."""
    guides = {**estimators.GUIDES, **tasks.GUIDES, **flows.GUIDES}
    unknown = set(names) - set(guides)
    if unknown:
        raise SystemExit(f"no picture of {', '.join(sorted(unknown))}; one of {', '.join(guides)}")
    plt.switch_backend("Agg")
    plt.rcParams["svg.hashsalt"] = "polymeans"  # the same names in each run
    if not names:
        start_page.draw_cards()
        start_page.draw_overview()
        start_page.draw_speed()
    with plt.rc_context(LETTERS):
        for name in names or guides:
            guides[name]()


if __name__ == "__main__":
    main(sys.argv[1:])
