"""Chosen views in words: what was found, what came next, and where weaker views may be."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from polymeans.search.views.choice import MAX_REDUNDANCY

#: Runners-up that are listed.
_MOST_RUNNERS_UP = 3

#: Fields of the record of a set of views.
_RECORD = [
    ("n_clusters", object),
    ("gain", np.float64),
    ("redundancy", np.float64),
    ("information", np.float64),
    ("n_components", np.int64),
    ("contrast", "U8"),
    ("chosen", np.bool_),
]

#: Share of the variance that views leave unexplained from which a closer look is advised.
_MUCH_LEFT = 0.2


class SummaryOfViews:
    """Adds ``summary`` to an estimator with views."""

    n_clusters: Any
    resolution: Any
    n_views_: int
    n_clusters_: tuple[int, ...]
    n_dims_: tuple[int, ...]
    explained_variance_ratio_: Any
    _candidates: list[dict[str, Any]]

    @property
    def table_(self) -> NDArray[Any]:
        """All sets of views that were found, the largest gain first: formed at each access."""
        check_is_fitted(self, "n_views_")
        records = [tuple(one[name] for name, _ in _RECORD) for one in self._candidates]
        return np.array(records, dtype=_RECORD)

    def summary(self) -> str:
        """What was chosen, the runners-up, and what else to try, as text.

        Returns
        -------
        text : str
            A few lines for ``print``.
        """
        check_is_fitted(self, "n_views_")
        lines = [self._views_line()]
        for view, (k, m, share) in enumerate(
            zip(self.n_clusters_, self.n_dims_, self.explained_variance_ratio_)
        ):
            where = f"{_counted(k, 'cluster')} in {_counted(m, 'dimension')}"
            lines.append(f"  view {view}: {where}, {share:.1%} of the variance")
        lines += self._runners_up()
        lines += self._advice()
        return "\n".join(lines)

    def _views_line(self) -> str:
        how = "chosen" if isinstance(self.n_clusters, str) else "asked for"
        if self.n_views_ == 0:
            return f"no views {how}: nothing explains more than a single Gaussian"
        left = 1.0 - float(np.sum(self.explained_variance_ratio_))
        count = _counted(self.n_views_, "view")
        return f"{count} {how}; {left:.1%} of the variance is between none of their clusters"

    def _others(self) -> list[dict[str, Any]]:
        """Candidates with other sizes, the largest gain first, each set of sizes once."""
        seen = {tuple(sorted(self.n_clusters_))}
        seen |= {tuple(sorted(one["n_clusters"])) for one in self._candidates if one["chosen"]}
        others = []
        for one in self._candidates:
            sizes = tuple(sorted(one["n_clusters"]))
            if sizes not in seen and one["redundancy"] <= MAX_REDUNDANCY:
                seen.add(sizes)
                others.append(one)
        return others

    def _runners_up(self) -> list[str]:
        others = self._others()[:_MOST_RUNNERS_UP]
        if not others:
            return self._no_runners_up()
        chosen = [one["gain"] for one in self._candidates if one["chosen"]]
        lines = ["runners-up:"]
        for one in others:
            line = f"  views of {_sizes(one)} clusters, gain {one['gain']:.4g}"
            if chosen:
                line += f" ({one['gain'] / chosen[0] - 1:+.1%} of the chosen)"
            lines.append(line)
        return lines

    def _no_runners_up(self) -> list[str]:
        """Why there are none, with the gains of other views of as many clusters."""
        chosen = [one for one in self._candidates if one["chosen"]]
        if not chosen:
            return []
        sizes = sorted(chosen[0]["n_clusters"])
        alike = [
            one["gain"]
            for one in self._candidates
            if not one["chosen"] and sorted(one["n_clusters"]) == sizes
        ]
        if not alike:
            return ["no runners-up: no other set of views was found that does not repeat itself"]
        gains = ", ".join(f"{gain:.4g}" for gain in alike[:_MOST_RUNNERS_UP])
        more = ", ..." if len(alike) > _MOST_RUNNERS_UP else ""
        return [
            f"no runners-up of other sizes: {_counted(len(alike), 'other set')} of views of "
            f"{_sizes(chosen[0])} clusters, gains {gains}{more} ({chosen[0]['gain']:.4g} chosen)"
        ]

    def _advice(self) -> list[str]:
        """What else may be found."""
        advice = []
        more = [one for one in self._others() if len(one["n_clusters"]) > self.n_views_]
        if more:
            advice.append(
                f"weaker views exist: try NonRedundantKMeans({_sizes(more[0])}), which has "
                f"{len(more[0]['n_clusters'])} views"
            )
        left = 1.0 - float(np.sum(self.explained_variance_ratio_))
        if isinstance(self.n_clusters, str) and left > _MUCH_LEFT:
            advice.append(
                f"views with little variance may be hidden: try whiten=True, or "
                f"resolution={float(self.resolution) / 2:g}"
            )
        return advice


def _counted(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def _sizes(candidate: dict[str, Any]) -> str:
    sizes = tuple(int(k) for k in candidate["n_clusters"])
    return str(sizes)
