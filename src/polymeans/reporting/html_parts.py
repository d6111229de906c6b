"""Parts that several panels of a page have."""

from typing import Any

from polymeans.reporting.markup import Markup, tag


def card(title: str, *content: Any) -> Markup:
    """A panel with a heading.

    Parameters
    ----------
    title : str
    *content : object

    Returns
    -------
    Markup
    """
    return tag("section", tag("h2", title), *content, cls="card", aria_label=title)


def facts(*pairs: tuple[str, Any]) -> Markup:
    """Names and values, one pair a line.

    Parameters
    ----------
    *pairs : tuple of str and object

    Returns
    -------
    Markup
    """
    rows = [tag("div", tag("dt", name), tag("dd", value)) for name, value in pairs]
    return tag("dl", rows, cls="facts")


def scroll(table: Markup, words: str) -> Markup:
    """A table that may be wider than the page.

    Parameters
    ----------
    table : Markup
    words : str
        What it is, for screen readers.

    Returns
    -------
    Markup
    """
    return tag("div", table, cls="scroll", tabindex="0", role="region", aria_label=words)


def share_line(name: Any, share: float | None, value: str, hue: str = "") -> Markup:
    """A name, a bar from 0 to 1, and a value.

    Parameters
    ----------
    name : object
    share : float or None
        Length of the bar.
    value : str
    hue : str, default=""
        Class of a color.

    Returns
    -------
    Markup
    """
    width = 100 * min(1.0, max(0.0, share or 0.0))
    bar = tag("span", cls=f"bar {hue}".strip(), style=f"width:{width:.1f}%")
    return tag(
        "li",
        tag("span", name),
        tag("span", bar, cls="track"),
        tag("span", value, cls="value"),
    )
