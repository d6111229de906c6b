"""Colors, markers and words that several plots share."""

from typing import Any

from polymeans.inspection._matplotlib import load

#: Two hues that differ in gray and for color-blind readers.
MAIN, SECOND = "#1f5a8a", "#d1721c"

#: Hue of the level or curve that others are compared with.
GRAY = "0.45"

#: How curves are drawn, in turn: hue, marker and dashes, each of which is enough to identify one.
CURVES = ((MAIN, "o", "-"), (SECOND, "s", "--"), ("#3d8b5f", "^", "-."), ("#8a4f9e", "D", ":"))

#: Hues of clusters, in turn: they differ in normal vision and in three kinds of color blindness.
HUES = (
    "#1f5a8a",
    "#d1721c",
    "#3d8b5f",
    "#c9a0dc",
    "#ecd04a",
    "#222222",
    "#6d88eb",
    "#b11a2a",
)

#: Markers of clusters: the next one each time the hues begin again.
MARKERS = "o^sDvP"


def count(number: int, thing: str) -> str:
    """Number and noun, in the plural unless the number is one."""
    return f"{number} {thing}{'' if number == 1 else 's'}"


def plain_logarithms(axis: Any) -> None:
    """Label a logarithmic axis with plain numbers at 1, 2, 5, 10, 20 and so on."""
    ticker = load("matplotlib.ticker")
    axis.set_major_locator(ticker.LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_major_formatter(ticker.StrMethodFormatter("{x:g}"))
    axis.set_minor_formatter(ticker.NullFormatter())


def plain_numbers(axis: Any) -> None:
    """Label a logarithmic axis with plain numbers if it spans less than a power of ten."""
    low, high = axis.get_view_interval()
    if high / low < 10:
        ticker = load("matplotlib.ticker")
        axis.set_major_locator(ticker.MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]))
        axis.set_major_formatter(ticker.StrMethodFormatter("{x:g}"))
        axis.set_minor_formatter(ticker.NullFormatter())
