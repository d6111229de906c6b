"""What happened in each round of a federated run."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass
class Round:
    """One exchange between the server and its sites.

    Parameters
    ----------
    number : int
        Rounds before it.
    kind : str
        What was asked.
    bytes_up : int
        Bytes of all replies, refused ones included.
    bytes_down : int
        Bytes of all requests.
    present : list of str
        Sites whose replies count.
    absent : list of str
        Sites that did not answer.
    refused : dict of str to str
        Sites whose replies do not count, and what was wrong.
    n_suppressed : int
        Vectors of all sites with fewer rows than ``min_count``.
    n_left_out : int
        Their rows.
    inertia : float
        Inertia of the rows of those present; NaN if it is not known.

    See Also
    --------
    FederatedRun : Has one of them for each exchange.
    simulate : Makes a run.

    Examples
    --------
    >>> import numpy as np
    >>> from polymeans import KMeans
    >>> from polymeans.federated import simulate
    >>> X = np.random.default_rng(0).normal(size=(300, 2)).astype(np.float32)
    >>> X[:100] += 5
    >>> run = simulate(KMeans(3, random_state=0), [X[:50], X[50:120], X[120:]], random_state=0)
    >>> last = run.rounds[-1]
    >>> last.present, last.absent, last.refused
    (['site-0', 'site-1', 'site-2'], [], {})
    """

    number: int
    kind: str  #: what was asked
    bytes_up: int = 0  #: of all replies, refused ones included
    bytes_down: int = 0
    present: list[str] = field(default_factory=list)  #: sites whose replies count
    absent: list[str] = field(default_factory=list)  #: sites that did not answer
    refused: dict[str, str] = field(default_factory=dict)  #: sites and what was wrong
    n_suppressed: int = 0  #: vectors of all sites with fewer rows than ``min_count``
    n_left_out: int = 0  #: their rows
    inertia: float = np.nan  #: of the rows of those present, if it is known


def history_of(rounds: list[Round]) -> NDArray[Any]:
    """Rounds as a record array."""
    return np.rec.array(
        [
            (r.number, r.kind, r.inertia, r.bytes_up, r.bytes_down, len(r.present), r.n_suppressed)
            for r in rounds
        ],
        dtype=[
            ("round", "i8"),
            ("kind", "U16"),
            ("inertia", "f8"),
            ("bytes_up", "i8"),
            ("bytes_down", "i8"),
            ("n_sites", "i8"),
            ("n_suppressed", "i8"),
        ],
    )
