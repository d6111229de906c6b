"""Numbers, counts and names as readers expect them."""

from typing import Any

#: A thin space that lines are not broken at.
_THIN = "\N{NARROW NO-BREAK SPACE}"


def whole(value: Any) -> str:
    """An integer with groups of three digits."""
    return f"{round(float(value)):,}".replace(",", _THIN) if value is not None else "–"


def short(value: Any, digits: int = 3) -> str:
    """A number with few digits; a dash if there is none."""
    if value is None:
        return "–"
    number = float(value)
    if number and (abs(number) >= 1e6 or abs(number) < 1e-3):
        mantissa, exponent = f"{number:.{digits - 1}e}".split("e")
        return f"{mantissa}e{int(exponent)}".replace("-", "\N{MINUS SIGN}")
    if abs(number) >= 10 ** (digits - 1):
        return whole(number).replace("-", "\N{MINUS SIGN}")
    # Trailing zeros stay, so that numbers of a column line up.
    written = f"{number:#.{digits}g}" if number else "0"
    return written.rstrip(".").replace("-", "\N{MINUS SIGN}")


def apart(low: float, high: float) -> tuple[str, str]:
    """Two ends of a scale with as many digits as it takes to tell them apart."""
    for digits in range(4, 12):
        ends = short(low, digits), short(high, digits)
        if ends[0] != ends[1]:
            break
    return ends


def percent(value: Any) -> str:
    """A share in per cent."""
    if value is None:
        return "–"
    share = 100 * float(value)
    if 0 < share < 0.05:
        return f"<0.1{_THIN}%"
    return f"{share:.0f}{_THIN}%" if share >= 9.95 or share == 0 else f"{share:.1f}{_THIN}%"


def hundredths(value: Any) -> str:
    """A measure between -1 and 1, with two decimals."""
    return "–" if value is None else f"{float(value):.2f}".replace("-", "\N{MINUS SIGN}")


def signed(value: Any) -> str:
    """A difference with its sign."""
    if value is None:
        return "–"
    return f"{float(value):+.1f}".replace("-", "\N{MINUS SIGN}")


def clipped(value: Any, longest: int = 100) -> str:
    """A text that is cut where it is longer than a reader would want."""
    written = str(value)
    return written if len(written) <= longest else written[: longest - 1] + "…"


def plural(number: int, thing: str) -> str:
    """Number and noun, in the plural unless the number is one."""
    return f"{whole(number)} {thing}{'' if number == 1 else 's'}"


def length_of_fit(summary: dict[str, Any]) -> tuple[str, int | None]:
    """What a fit consists of, and how many of them; epochs of all phases for a network."""
    if summary["model"]["n_latent"] is None:
        return "iterations", summary["model"]["n_iter"]
    steps = summary["convergence"]
    return "epochs", steps[-1]["iteration"] if steps else None


def separation_words(silhouette: float | None) -> str:
    """What a simplified silhouette says about the clusters."""
    if silhouette is None:
        return "There is only one cluster, so there is nothing to compare it with."
    if silhouette >= 0.7:
        return "Rows are much nearer to their own centroid than to the next: clusters are apart."
    if silhouette >= 0.5:
        return "Most rows are clearly nearer to their own centroid than to the next."
    if silhouette >= 0.25:
        return "Clusters touch: many rows are not much nearer to their own centroid."
    return "Clusters overlap: most rows are nearly as near to another centroid."


def stability_words(mean: float | None) -> str:
    """What the agreement of several fits says."""
    if mean is None:
        return ""
    if mean >= 0.9:
        return "Other starts find nearly the same clusters."
    if mean >= 0.6:
        return "Other starts find most of the clusters again, not all."
    return "Other starts find other clusters: do not rely on single ones."
