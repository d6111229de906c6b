"""What happened in each round of a federated run."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass
class Round:
    """One exchange between the server and its sites."""

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
