"""A site: rows that stay where they are, and rules for what may be said about them."""

import hashlib
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymeans._frame_errors import column_names, errors_that_name_columns
from polymeans._not_rows import refuse_what_are_no_rows
from polymeans._validation import check_integer, check_weights, errors_that_name
from polymeans.core.frame import MeasuredFrame
from polymeans.core.rows import Rows, is_csr
from polymeans.core.sparse_structure import checked_matrix
from polymeans.engine.blocks import Block
from polymeans.engine.placement import Kept, seen_block
from polymeans.engine.prepared import RawBlock, Scaling
from polymeans.engine.survey import Survey, survey_block
from polymeans.federated import masks
from polymeans.federated.frames import frame_of
from polymeans.federated.messages import Message, packed_integers
from polymeans.federated.privacy import Privacy
from polymeans.federated.totals import Totals

logger = logging.getLogger("polymeans")


class RefusedError(Exception):
    """A site will not answer a request; the reason is sent instead."""


@dataclass(frozen=True)
class Rules:
    """What a site may release, whoever asks.

    Parameters
    ----------
    min_count : int, default=1
        No sum of fewer rows leaves the site. Rows of smaller clusters are left out of everything
        in that round.
    secure : bool, default=False
        Totals leave only under masks that cancel in the sum of all sites.
    min_sites : int, default=2
        With ``secure``: sites that take part in a sum, at least. The sum of a single site would
        have no mask.
    privacy : Privacy or None, default=None
        Totals leave only with noise, within this budget.

    See Also
    --------
    Site : Obeys them.
    Privacy : Noise on what leaves a site.

    Examples
    --------
    >>> import numpy as np
    >>> from polymeans import KMeans
    >>> from polymeans.federated import Rules, Site, simulate
    >>> X = np.random.default_rng(0).normal(size=(300, 2)).astype(np.float32)
    >>> X[:100] += 5
    >>> strict = Rules(min_count=10)
    >>> sites = [Site("a", X[:150], rules=strict, seed=0), Site("b", X[150:], rules=strict, seed=1)]
    >>> simulate(KMeans(3, random_state=0), sites, random_state=0).model.cluster_centers_.shape
    (3, 2)
    """

    min_count: int = 1
    secure: bool = False
    min_sites: int = 2
    privacy: Privacy | None = None

    def __post_init__(self) -> None:
        check_integer("min_count", self.min_count, 1)
        check_integer("min_sites", self.min_sites, 1)


@dataclass
class Site:
    """Rows in one place. It answers requests one by one and knows no server.

    Everything it has to remember between two requests is in ``memory``, arrays and numbers by name,
    so that a process may end after each answer if memory is kept for the next one.

    Parameters
    ----------
    name : str
        Never changes in a run; no other site has it.
    rows : ndarray, frame, table of pyarrow or CSR of shape (n_samples, n_features)
        They stay here. The names of a frame's columns do not: the server compares them.
    weights : array-like of shape (n_samples,), default=None
        None: all are one.
    rules : Rules, default=Rules()
        What may leave the site.
    seed : int or None, default=None
        Of what is drawn here: candidates for a start, local k-means. None: not repeatable.
    memory : dict, default={}
        What an earlier process of this site has left.

    See Also
    --------
    Rules : What may leave it.
    simulate : Takes a sequence of sites.

    Examples
    --------
    >>> import numpy as np
    >>> from polymeans import KMeans
    >>> from polymeans.federated import Site, simulate
    >>> X = np.random.default_rng(0).normal(size=(300, 2)).astype(np.float32)
    >>> X[:100] += 5
    >>> sites = [Site("north", X[:120], seed=0), Site("south", X[120:], seed=1)]
    >>> run = simulate(KMeans(3, random_state=0), sites, random_state=0)
    >>> run.rounds[0].present
    ['north', 'south']
    """

    name: str
    rows: Rows
    weights: Any = None
    rules: Rules = field(default_factory=Rules)
    seed: int | None = None
    memory: Message = field(default_factory=dict)

    def __post_init__(self) -> None:
        if "/" in self.name or "|" in self.name or not self.name:
            raise ValueError(f"name={self.name!r} should be a non-empty text without / and |.")
        self.columns = column_names(self.rows) or []
        self.rows = _checked_rows(self.rows, self.name)
        with errors_that_name(f"weights of {self.name}"):
            checked = check_weights(self.weights, self.rows)
        if self.rules.privacy is not None:
            if is_csr(self.rows) or (checked != 1.0).any():
                raise ValueError("privacy needs dense rows without weights.")
            clipped = self.rules.privacy.clipped(self.rows)
            self.rows = np.ascontiguousarray(clipped, dtype=self.rows.dtype)
        self.weights = checked
        self._frame: tuple[int, MeasuredFrame, Block] | None = None

    @property
    def n_samples(self) -> int:
        return int(self.rows.shape[0])

    def answer(self, request: Message) -> Message:
        """The reply to a request.

        Parameters
        ----------
        request : dict
            ``kind`` names the question, ``round`` is repeated in the reply.

        Returns
        -------
        dict
            With ``refused``, a reason, in place of an answer that the rules do not allow.
        """
        from polymeans.federated.queries import QUERIES

        head: Message = {"round": int(request["round"]), "kind": str(request["kind"])}
        query: Callable[[Site, Message], Message] | None = QUERIES.get(head["kind"])
        if query is None:
            return head | {"refused": f"unknown request {head['kind']!r}"}
        try:
            if self.n_samples < self.rules.min_count:
                raise RefusedError(f"it has fewer rows than min_count={self.rules.min_count}")
            with np.errstate(all="ignore"):
                return head | query(self, request)
        except RefusedError as refusal:
            logger.info("%s refuses %s: %s", self.name, head["kind"], refusal)
            return head | {"refused": str(refusal)}

    # --- what queries use --------------------------------------------------------------------

    def raw(self) -> RawBlock:
        """The rows as they are.

        Returns
        -------
        rows : RawBlock
            With their weights.
        """
        return RawBlock(self.rows, self.weights)

    def survey(self, scaling: Scaling, n_samples: int, assumed: bool) -> Survey:
        """What one look at the rows finds.

        Parameters
        ----------
        scaling : Scaling
            Units of values and weights.
        n_samples : int
            Rows of all sites.
        assumed : bool
            Whether the scaling is only a guess: if values are extreme, nothing is added up.

        Returns
        -------
        survey : Survey
            Ranges, counts and norms.
        """
        return survey_block(self.raw(), Kept(0, self.n_samples), scaling, n_samples, assumed)

    def block(self, request: Message) -> Block:
        """The rows through the frame that a request is about.

        Parameters
        ----------
        request : dict
            A message of the server.

        Returns
        -------
        block : DenseBlock or SparseBlock
            Rows, weights and norms.
        """
        frame_id = int(request["frame_id"])
        if "frame" in request:
            self.memory["frame"], self.memory["frame_id"] = request["frame"], frame_id
        elif self.memory.get("frame_id") != frame_id:
            raise RefusedError("unknown frame")
        if self._frame is None or self._frame[0] != frame_id or "frame" in request:
            frame = frame_of(self.memory["frame"])
            if frame.dtype != self.rows.dtype or frame.n_features != self.rows.shape[1]:
                raise RefusedError("the frame is for rows of another width or dtype")
            scaling = Scaling(
                frame.unit, frame.weight_unit, frame.spherical, frame.zeros_count, frame.guarded
            )
            raw, kept = self.raw(), Kept(0, self.n_samples)
            part = raw.prepared(scaling)
            kept.weights, kept.directionless = part.weights, part.directionless
            self._frame = frame_id, frame, seen_block(raw, kept, frame)
        return self._frame[2]

    def rng(self, *keys: Any) -> np.random.Generator:
        """Random numbers for a purpose: other ones for each site and each of the keys.

        Parameters
        ----------
        *keys : object
            What the numbers are for.

        Returns
        -------
        rng : numpy.random.Generator
            Repeatable if the site has a seed.
        """
        if self.seed is None:
            return np.random.default_rng()
        text = "|".join(map(str, (self.name, *keys))).encode()
        digest = hashlib.sha256(text).digest()
        return np.random.default_rng([self.seed, int.from_bytes(digest[:8], "big")])

    def protected(self, request: Message, totals: Totals) -> Message:
        """Totals as they may leave: packed, or all together under masks.

        Parameters
        ----------
        request : dict
            A message of the server.
        totals : dict of ndarray
            Exact sums by name.

        Returns
        -------
        reply : dict
            The message that leaves.
        """
        if not self.rules.secure:
            return {"totals": {name: packed_integers(part) for name, part in totals.items()}}
        others = [name for name in request.get("participants", []) if name != self.name]
        if len(others) + 1 < max(2, self.rules.min_sites):
            raise RefusedError(f"only {len(others) + 1} sites would take part in a sum")
        label = f"{request['round']}|{request['kind']}"
        if label in self.memory.setdefault("used_masks", []):
            raise RefusedError("masks of this round have been used")
        self.memory["used_masks"].append(label)
        joined: NDArray[np.int64] = np.concatenate([part.ravel() for part in totals.values()])
        return {"masked": masks.masked(joined, self.name, others, self._secrets(others), label)}

    def _secrets(self, others: list[str]) -> dict[str, bytes]:
        keys = self.memory.get("public_keys", {})
        unknown = [name for name in others if name not in keys]
        if unknown or "private_key" not in self.memory:
            raise RefusedError(f"no keys of {', '.join(unknown) or 'its own'}")
        private = bytes.fromhex(self.memory["private_key"])
        return {name: masks.shared_secret(private, keys[name]) for name in others}


def _checked_rows(rows: Any, name: str) -> Rows:
    """Rows of float32 or float64 without missing values."""
    what = f"rows of {name}"
    with errors_that_name(what), errors_that_name_columns(rows, what):
        refuse_what_are_no_rows(rows)
        made: Rows = checked_matrix(rows, what, order="C", ensure_min_samples=0)
    if made.shape[0] == 0:
        raise ValueError(f"There are no {what}. Leave the site out: it would add nothing.")
    return made
