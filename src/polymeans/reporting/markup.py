"""Elements of a page. Text is escaped unless it is markup already."""

import json
import re
from html import escape
from typing import Any

#: What no page may contain: control characters, halves of a pair, and characters that are none.
_FORBIDDEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]"
)

#: Elements that have no end.
_VOID = {"meta", "input", "img", "br"}

_NAME = re.compile("[a-z][a-z0-9-]*", re.IGNORECASE)


class Markup(str):
    """Text that is part of a page as it is."""

    __slots__ = ()


def text(value: Any) -> Markup:
    """Any text as part of a page: nothing in it is taken for markup.

    Parameters
    ----------
    value : object
        Markup stays as it is.

    Returns
    -------
    Markup
    """
    if isinstance(value, Markup):
        return value
    return Markup(escape(_FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", str(value)), quote=True))


def join(*parts: Any) -> Markup:
    """Texts and markup one after the other; None is left out.

    Parameters
    ----------
    *parts : object or list of object

    Returns
    -------
    Markup
    """
    flat: list[str] = []
    for part in parts:
        if isinstance(part, list | tuple):
            flat.append(join(*part))
        elif part is not None:
            flat.append(text(part))
    return Markup("".join(flat))


def tag(element: str, *content: Any, **attributes: Any) -> Markup:
    """An element of a page.

    Parameters
    ----------
    element : str
    *content : object
        Texts, which are escaped, and markup.
    **attributes : object
        ``cls`` is "class", underscores are hyphens; None and False leave an attribute out, True
        writes it without a value.

    Returns
    -------
    Markup
    """
    written = []
    for key, value in attributes.items():
        name = "class" if key == "cls" else key.rstrip("_").replace("_", "-")
        if not _NAME.fullmatch(name):
            raise ValueError(f"{name!r} is no name of an attribute.")
        if value is None or value is False:
            continue
        written.append(f" {name}" if value is True else f' {name}="{text(value)}"')
    start = f"<{element}{''.join(written)}>"
    return Markup(start if element in _VOID else f"{start}{join(*content)}</{element}>")


def user_text(value: Any, **attributes: Any) -> Markup:
    """A text that came with the data: whatever its direction, it turns nothing else around.

    Parameters
    ----------
    value : object
    **attributes : object

    Returns
    -------
    Markup
    """
    return tag("bdi", text(value), **attributes)


def embedded_json(content: Any) -> Markup:
    """Data for the script of a page, in which no character ends the element.

    Parameters
    ----------
    content : object
        What JSON can hold.

    Returns
    -------
    Markup
    """
    # ASCII only: separators of lines and other characters cannot break the script.
    written = json.dumps(content, separators=(",", ":"), allow_nan=False)
    for character in "<>&":
        written = written.replace(character, f"\\u{ord(character):04x}")
    return Markup(written)
