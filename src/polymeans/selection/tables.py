"""Tables of results as text and as HTML."""

from collections.abc import Sequence
from html import escape


def text_table(header: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """Columns aligned to the right, the first one to the left."""
    table = [list(header), *map(list, lines)]
    widths = [max(len(line[c]) for line in table) for c in range(len(header))]
    shown = []
    for line in table:
        cells = [line[0].ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(line[1:], widths[1:])]
        shown.append("  ".join(cells).rstrip())
    return "\n".join(shown)


def html_table(
    header: Sequence[str],
    lines: Sequence[Sequence[str]],
    caption: str = "",
    marked: int | None = None,
) -> str:
    """The same for notebooks; all texts are escaped, and one line may be marked."""
    top = "".join(
        f'<th scope="col" style="text-align:right">{escape(name)}</th>' for name in header
    )
    rows = []
    for number, line in enumerate(lines):
        first, *others = line
        weight = "font-weight:bold" if number == marked else "font-weight:normal"
        cells = f'<th scope="row" style="text-align:right;{weight}">{escape(first)}</th>'
        cells += "".join(
            f'<td style="text-align:right;{weight}">{escape(cell)}</td>' for cell in others
        )
        rows.append(f"<tr>{cells}</tr>")
    title = f"<caption>{escape(caption)}</caption>" if caption else ""
    return f"<table>{title}<thead><tr>{top}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def number_text(value: float, digits: int = 3) -> str:
    """A number with few digits; nothing for NaN."""
    if value != value:
        return ""
    return f"{value:.{digits}g}" if abs(value) < 1e5 else f"{value:.3e}"
