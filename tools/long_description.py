"""README.md as package indexes show it: links and pictures with absolute addresses.

An index has the text alone, so that links to files beside it lead nowhere. When a wheel or sdist is
built, hatchling calls :class:`LongDescription`, which completes them with the addresses of
``[project.urls]``; no address is written here. It needs nothing but hatchling.
"""

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

#: File whose address among the project's URLs tells where all files are.
_KNOWN = "CHANGELOG.md"

#: A link or a picture: an exclamation mark or none, its text, and where it leads.
_LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(([^()\s]+)\)")

#: Blocks of code, which stay as they are.
_CODE = re.compile(r"(^```.*?^```[ ]*$)", re.MULTILINE | re.DOTALL)

_ABSOLUTE = re.compile(r"[a-z][a-z0-9+.-]*:|#|/", re.IGNORECASE)


class LongDescription(MetadataHookInterface):
    """Gives the package the completed text as its description."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Add the text to the metadata, where "readme" is named as dynamic."""
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {
            "content-type": "text/markdown",
            "text": with_addresses(text, metadata["urls"]["Changelog"]),
        }


def with_addresses(text: str, changelog: str) -> str:
    """Markdown in which links to files of the project are absolute.

    Parameters
    ----------
    text : str
        Markdown with links relative to the root of the project.
    changelog : str
        Address of CHANGELOG.md. Other files are beside it; pictures are there, too, but "raw"
        instead of "blob", which is a page around the picture.

    Returns
    -------
    str
    """
    base = changelog.removesuffix(_KNOWN)
    if base == changelog:
        raise ValueError(
            f"Changelog in [project.urls] must end with {_KNOWN}, got {changelog!r}: the address "
            "of other files is found by it."
        )

    def completed(found: re.Match[str]) -> str:
        mark, words, target = found.groups()
        # The words of a link may be a picture.
        words = _LINK.sub(completed, words)
        if not _ABSOLUTE.match(target):
            where = base.replace("/blob/", "/raw/") if mark else base
            target = where + target.removeprefix("./")
        return f"{mark}[{words}]({target})"

    parts = _CODE.split(text)
    return "".join(part if n % 2 else _LINK.sub(completed, part) for n, part in enumerate(parts))
