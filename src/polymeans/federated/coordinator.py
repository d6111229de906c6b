"""The server's side of every exchange: who is asked, whose reply counts, what all add up to."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from polymeans.core.frame import MeasuredFrame
from polymeans.federated import masks
from polymeans.federated.checks import (
    Announcement,
    common_kind,
    describe,
    other_columns,
)
from polymeans.federated.frames import frame_message
from polymeans.federated.messages import (
    InvalidMessageError,
    Message,
    checked_array,
    n_bytes,
    unpacked_integers,
)
from polymeans.federated.rounds import Round
from polymeans.federated.totals import Totals

logger = logging.getLogger("polymeans")

#: How often a round is tried in which too few sites answered, and in which some that had masked
#: did not: each time with those that answered the last one.
_PATIENCE, _PATIENCE_WITH_MASKS = 3, 12

Shapes = dict[str, tuple[int, ...]]
Check = Callable[[str, Totals], None]


class TooFewSitesError(RuntimeError):
    """Fewer sites than ``min_sites`` gave an answer that counts, several times in succession.

    See Also
    --------
    simulate : Raises it; ``min_sites`` says how many are needed.
    Coordinator : Repeats a round a few times before.

    Examples
    --------
    >>> import numpy as np
    >>> from polymeans import KMeans
    >>> from polymeans.federated import TooFewSitesError, simulate
    >>> X = np.random.default_rng(0).normal(size=(300, 2)).astype(np.float32)
    >>> X[:100] += 5
    >>> try:
    ...     simulate(KMeans(3), [X[:150], X[150:]], min_sites=2, dropout=1.0, random_state=0)
    ... except TooFewSitesError as error:
    ...     print(type(error).__name__)
    TooFewSitesError
    """


class Transport(Protocol):
    """How requests get to sites and replies back: in a process, by Flower, or in any other way.

    See Also
    --------
    Coordinator : Asks sites through it.
    run_federated : Runs a fit.
    client_app, server_app : The same by Flower.

    Examples
    --------
    >>> import numpy as np
    >>> from polymeans import KMeans
    >>> from polymeans.federated import Coordinator, Site, run_federated
    >>> class InOneProcess:
    ...     def __init__(self, sites):
    ...         self.sites = {site.name: site for site in sites}
    ...         self.names = list(self.sites)
    ...
    ...     def exchange(self, requests):
    ...         return [(name, self.sites[name].answer(asked)) for name, asked in requests.items()]
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> transport = InOneProcess([Site("north", X[:120]), Site("south", X[120:])])
    >>> coordinator = Coordinator(transport, min_sites=2)
    >>> model = run_federated(KMeans(3, init=X[:3]), coordinator)
    >>> model.cluster_centers_.shape
    (3, 2)
    """

    @property
    def names(self) -> Sequence[str]:
        """Sites that can be asked."""

    def exchange(self, requests: dict[str, Message]) -> list[tuple[str, Message]]:
        """Replies with the names of their sites; sites may be missing, or be there twice."""


@dataclass
class Answers:
    """Replies of one round that count."""

    replies: dict[str, Message]
    totals: Totals = field(default_factory=dict)  #: of all of them, where integers were asked for

    @property
    def sites(self) -> list[str]:
        return sorted(self.replies)


class Coordinator:
    """Asks sites, checks what they say, and keeps the history.

    Parameters
    ----------
    transport : Transport
        How requests get to sites and replies back.
    min_sites : int, default=1
        A round counts if so many sites have answered.
    secure : bool, default=False
        Totals come under masks; what single sites have added up is not known, nor checked.

    See Also
    --------
    run_federated : Runs a fit through it.
    Transport : How it reaches sites.

    Examples
    --------
    >>> import numpy as np
    >>> from polymeans import KMeans
    >>> from polymeans.federated import Coordinator, Site, run_federated
    >>> class InOneProcess:
    ...     def __init__(self, sites):
    ...         self.sites = {site.name: site for site in sites}
    ...         self.names = list(self.sites)
    ...
    ...     def exchange(self, requests):
    ...         return [(name, self.sites[name].answer(asked)) for name, asked in requests.items()]
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> transport = InOneProcess([Site("north", X[:120]), Site("south", X[120:])])
    >>> coordinator = Coordinator(transport, min_sites=2)
    >>> model = run_federated(KMeans(3, init=X[:3]), coordinator)
    >>> coordinator.rounds[-1].kind, coordinator.rounds[-1].present
    ('step', ['north', 'south'])
    """

    def __init__(self, transport: Transport, min_sites: int = 1, secure: bool = False) -> None:
        self.transport, self.min_sites, self.secure = transport, min_sites, secure
        self.rounds: list[Round] = []
        self.announced: dict[str, Announcement] = {}
        self._frame: Message | None = None
        self._frame_id = 0
        self._informed: set[str] = set()
        self._n_asked = 0

    # --- who takes part ----------------------------------------------------------------------

    def gather(self) -> tuple[int, np.dtype, bool, int]:
        """Ask all sites what they have; width, dtype, container and rows of those that fit.

        Sites that do not answer are asked again; without an announcement they have no part in the
        run, since the server could not check what they say later.

        Returns
        -------
        n_features : int
            Width of the rows.
        dtype : numpy.dtype
            Type of the rows.
        sparse : bool
            Whether rows are CSR.
        n_samples : int
            Rows of all these sites.
        """
        for _ in range(_PATIENCE):
            missing = [name for name in self.transport.names if name not in self.announced]
            if not missing:
                break
            answers = self._exchange("announce", {}, missing)
            for name, reply in list(answers.replies.items()):
                self._accept(name, reply, lambda n, r: self.announced.update({n: self._said(n, r)}))
        if not self.announced:
            raise TooFewSitesError(
                "No site has announced its rows. Check that the sites are running and reachable."
                + self._reasons()
            )
        kind = common_kind(self.announced)
        for name in sorted(self.announced):
            if self.announced[name].kind != kind:
                other = describe(self.announced[name].kind)
                self._refuse(name, f"it has {other}, others {describe(kind)}")
                del self.announced[name]
        for name, difference in other_columns(self.announced).items():
            self.exclude(name, difference)
        self._require(len(self.announced))
        if self.secure:
            self._agree_on_masks()
        n_samples = sum(said.n_samples for said in self.announced.values())
        return kind[0], np.dtype(kind[1]), kind[2], n_samples

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the features, if all sites of the run have said them, as texts; else empty."""
        known = {said.columns if said.are_texts else () for said in self.announced.values()}
        return known.pop() if len(known) == 1 else ()

    def _said(self, name: str, reply: Message) -> Announcement:
        if bool(reply.get("secure")) != self.secure:
            raise InvalidMessageError(f"it {'wants' if reply.get('secure') else 'has no'} masks")
        return Announcement.of(reply)

    def _agree_on_masks(self) -> None:
        offered = self.ask("keys", {})
        public = {
            name: str(reply["public_key"])
            for name, reply in offered.replies.items()
            if "public_key" in reply
        }
        self.announced = {name: self.announced[name] for name in public}
        self.ask("keys", {"public_keys": public})

    def exclude(self, name: str, reason: str) -> None:
        """Ask a site no more.

        Parameters
        ----------
        name : str
            The site.
        reason : str
            What was wrong, for the history.
        """
        self._refuse(name, reason)
        self.announced.pop(name, None)

    # --- one round ---------------------------------------------------------------------------

    def ask(
        self,
        kind: str,
        payload: Message,
        shapes: Shapes | None = None,
        check: Check | None = None,
        frame: bool = False,
        check_reply: Callable[[str, Message], None] | None = None,
    ) -> Answers:
        """Ask all sites of the run, and again if too few have answered.

        Parameters
        ----------
        kind : str
            Name of the question.
        payload : dict
            The same for all sites.
        shapes : dict, default=None
            Integers that replies have; their totals are returned.
        check : callable, default=None
            ``check(name, totals)`` raises if a site's own totals cannot be true.
        frame : bool, default=False
            The question is about rows seen through the frame.
        check_reply : callable, default=None
            ``check_reply(name, reply)`` raises if a reply without integers cannot be true.

        Returns
        -------
        answers : Answers
            Replies that count, and their totals.
        """
        all_sites = sorted(self.announced)
        names = all_sites
        masked = self.secure and shapes is not None
        for _ in range(_PATIENCE_WITH_MASKS if masked else _PATIENCE):
            answers = self._exchange(kind, payload, names, frame)
            record = self.rounds[-1]
            if check_reply is not None:
                for name, reply in list(answers.replies.items()):
                    self._accept(name, reply, check_reply, answers)
            if masked and shapes is not None:
                parts = self._masked_parts(answers, shapes)
                if len(parts) == len(names) >= self.min_sites:
                    answers.totals = _split(masks.unmasked_sum(parts), shapes)
                    return self._noted(answers, record)
                # Masks of sites that are not there stay in the sum: ask the others for new ones.
                names = answers.sites if len(answers.replies) >= self.min_sites else all_sites
                continue
            if shapes is not None:
                self._add_up(answers, shapes, check)
            if len(answers.replies) >= self.min_sites:
                return self._noted(answers, record)
        last = self.rounds[-1]
        raise TooFewSitesError(
            f"Round {last.number} ({kind}): {len(last.present)} sites gave an answer that counts, "
            f"min_sites={self.min_sites}. Absent: {last.absent}; refused: {last.refused}. Remove "
            "the reasons given, wait for the sites that are absent, or lower min_sites; with init "
            "as an array, sites are not asked for a start."
        )

    def ask_again(
        self,
        kind: str,
        payload: Message,
        found: dict[str, Any],
        check_reply: Callable[[str, Message], None],
    ) -> None:
        """Ask sites that are not among those ``found`` yet, as often as others were.

        Parameters
        ----------
        kind : str
            Name of the question.
        payload : dict
            The same for all sites.
        found : dict
            Replies so far, by the names of sites; further ones are added.
        check_reply : callable
            ``check_reply(name, reply)`` raises if a reply cannot be true.
        """
        for _ in range(_PATIENCE - 1):
            missing = sorted(set(self.announced) - set(found))
            if not missing:
                return
            answers = self._exchange(kind, payload, missing)
            for name, reply in list(answers.replies.items()):
                self._accept(name, reply, check_reply, answers)

    def show(self, frame: MeasuredFrame) -> None:
        """Have rows seen through this frame from now on.

        Parameters
        ----------
        frame : MeasuredFrame
            Units, origin and ladders of all rows.
        """
        self._frame, self._frame_id, self._informed = (
            frame_message(frame),
            self._frame_id + 1,
            set(),
        )

    def _exchange(
        self, kind: str, payload: Message, names: Sequence[str], frame: bool = False
    ) -> Answers:
        self._n_asked += 1
        record = Round(self._n_asked, kind)
        self.rounds.append(record)
        requests = {}
        for name in names:
            request: Message = {"round": record.number, "kind": kind, **payload}
            if self.secure:
                request["participants"] = list(names)
            if frame:
                request["frame_id"] = self._frame_id
                if name not in self._informed:
                    request["frame"] = self._frame
            requests[name] = request
            record.bytes_down += n_bytes(request)
        answers = Answers({})
        for name, reply in self.transport.exchange(requests):
            record.bytes_up += n_bytes(reply)
            if name not in requests:
                record.refused[name] = "it was not asked"
            elif reply.get("round") != record.number or reply.get("kind") != kind:
                record.refused[name] = f"it answers round {reply.get('round')}, too late"
            elif name in answers.replies:
                record.refused[name] = "it has answered twice; the first answer counts"
            elif "refused" in reply:
                record.refused[name] = str(reply["refused"])
                if reply["refused"] == "unknown frame":
                    self._informed.discard(name)
            else:
                answers.replies[name] = reply
                if frame:
                    self._informed.add(name)
        record.present = answers.sites
        record.absent = [n for n in names if n not in answers.replies and n not in record.refused]
        for name, reason in record.refused.items():
            logger.warning("round %d (%s): %s refused: %s", record.number, kind, name, reason)
        return answers

    def _add_up(self, answers: Answers, shapes: Shapes, check: Check | None) -> None:
        for name in answers.sites:

            def take(name: str, reply: Message) -> None:
                parts = reply.get("totals")
                if not isinstance(parts, dict) or set(parts) != set(shapes):
                    raise InvalidMessageError("its totals are not those that were asked for")
                own = {
                    part: unpacked_integers(parts[part], shape) for part, shape in shapes.items()
                }
                if check is not None:
                    check(name, own)
                for part, values in own.items():
                    known = answers.totals.get(part)
                    answers.totals[part] = values if known is None else known + values

            self._accept(name, answers.replies[name], take, answers)

    def _masked_parts(self, answers: Answers, shapes: Shapes) -> list[np.ndarray]:
        n, parts = sum(int(np.prod(shape)) for shape in shapes.values()), []

        def take(name: str, reply: Message) -> None:
            parts.append(checked_array(reply, "masked", (n,), "u").astype(np.uint64))

        for name in answers.sites:
            self._accept(name, answers.replies[name], take, answers)
        return parts

    def _accept(
        self,
        name: str,
        reply: Message,
        take: Callable[[str, Message], None],
        answers: Answers | None = None,
    ) -> None:
        """Have a reply taken; if it cannot be true, it does not count."""
        try:
            take(name, reply)
        except (InvalidMessageError, KeyError, TypeError, AttributeError) as error:
            self._refuse(name, str(error))
            if answers is not None:
                answers.replies.pop(name, None)

    def _refuse(self, name: str, reason: str) -> None:
        record = self.rounds[-1]
        logger.warning("round %d (%s): %s refused: %s", record.number, record.kind, name, reason)
        record.refused.setdefault(name, reason)  # the first reason is the cause
        record.present = [n for n in record.present if n != name]

    def _require(self, n_sites: int) -> None:
        if n_sites < self.min_sites:
            raise TooFewSitesError(
                f"{n_sites} sites take part, min_sites={self.min_sites}. Wait until more sites are "
                "there, or lower min_sites." + self._reasons()
            )

    def _reasons(self) -> str:
        """Why sites were refused so far, to be added to an error; empty if none was."""
        reasons = {name: why for record in self.rounds for name, why in record.refused.items()}
        return f" Refused: {reasons}. Remove the reasons given." if reasons else ""

    def _noted(self, answers: Answers, record: Round) -> Answers:
        for reply in answers.replies.values():
            record.n_suppressed += int(reply.get("n_suppressed", 0))
            record.n_left_out += int(reply.get("n_left_out", 0))
        logger.info(
            "round %d (%s): %d of %d sites, %d bytes up, %d down",
            record.number,
            record.kind,
            len(answers.replies),
            len(self.announced),
            record.bytes_up,
            record.bytes_down,
        )
        return answers


def _split(joined: np.ndarray, shapes: Shapes) -> Totals:
    totals, first = {}, 0
    for name, shape in shapes.items():
        n = int(np.prod(shape))
        totals[name] = joined[first : first + n].reshape(shape)
        first += n
    return totals
