"""Makes the page *What's new* from CHANGELOG.md, whose headings and lists are Markdown."""

import re
from pathlib import Path
from typing import Any

_HEADINGS = {"# ": "=", "## ": "-", "### ": "~"}


def to_rst(text: str) -> str:
    """Markdown of the kind that the changelog has, as reStructuredText.

    Parameters
    ----------
    text : str

    Returns
    -------
    str
    """
    lines = []
    for line in text.splitlines():
        mark = next((mark for mark in _HEADINGS if line.startswith(mark)), None)
        if mark is not None:
            title = re.sub(r"[\[\]]", "", line[len(mark) :])
            title = "What's new" if mark == "# " else title
            lines += [title, _HEADINGS[mark] * len(title)]
            continue
        line = re.sub(r"(?<!`)`([^`]+)`(?!`)", r"``\1``", line)
        lines.append(re.sub(r"\[([^\]]+)\]\((https?:[^)]+)\)", r"`\1 <\2>`__", line))
    return "\n".join(lines) + "\n"


def write_page(app: Any) -> None:
    """Write the page beside the others, before they are read."""
    changelog = Path(app.confdir).parent / "CHANGELOG.md"
    page = Path(app.srcdir) / "whats_new.rst"
    text = to_rst(changelog.read_text(encoding="utf-8"))
    if not page.exists() or page.read_text(encoding="utf-8") != text:
        page.write_text(text, encoding="utf-8")


def setup(app: Any) -> dict[str, bool]:
    """Register the extension."""
    app.connect("builder-inited", write_page, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
