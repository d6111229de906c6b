"""Flower apps around sites and server: messages become records, and nothing else.

Needs the extra ``federated`` (Flower 1.41 or newer), which is imported when an app is made.
"""

import logging
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from polymeans.federated.coordinator import Coordinator
from polymeans.federated.messages import Message, flat_items, nested
from polymeans.federated.privacy import Privacy
from polymeans.federated.simulation import FederatedRun, run_federated
from polymeans.federated.site import Rules, Site

logger = logging.getLogger("polymeans")


def client_app(
    load_rows: Callable[[Any], Any],
    *,
    rules: Rules | None = None,
    name: Callable[[Any], str] | None = None,
) -> Any:
    """A Flower ``ClientApp`` that answers for the rows of one site.

    **Use when** each owner of rows runs a SuperNode. What may leave is up to ``rules``, which are
    part of the site's own code: no server can change them.

    Parameters
    ----------
    load_rows : callable
        ``load_rows(context)`` returns the rows of this node, or ``(rows, weights)``. Called for
        each message, since Flower may start a new process for each: let it read a file quickly.
    rules : Rules or None, default=None
        What may leave the site.
    name : callable or None, default=None
        ``name(context)``: a name that no other site has. None: the node's id.

    Returns
    -------
    app : flwr.clientapp.ClientApp
        For a SuperNode to run.

    See Also
    --------
    server_app : The other side.
    Rules : What may leave a site.
    simulate : Both sides in one process.

    Examples
    --------
    >>> import numpy as np
    >>> from polymeans.federated import Rules, client_app
    >>> app = client_app(  # doctest: +SKIP
    ...     lambda context: np.load(context.node_config["rows"]), rules=Rules(min_count=10)
    ... )
    """
    from flwr.app import Message as FlowerMessage
    from flwr.clientapp import ClientApp

    app = ClientApp()

    @app.query()
    def answer(message: Any, context: Any) -> Any:
        part = load_rows(context)
        rows, weights = part if isinstance(part, tuple) else (part, None)
        own = name(context) if name is not None else f"node-{context.node_id}"
        memory = message_of(context.state) if len(context.state) else {}
        site = Site(own, rows, weights, rules or Rules(), memory=memory)
        reply = site.answer(message_of(message.content)) | {"site": own}
        for key, record in record_of(site.memory).items():
            context.state[key] = record
        return FlowerMessage(content=record_of(reply), reply_to=message)

    return app


def server_app(
    estimator: Any,
    *,
    method: str = "exact",
    rounds: int | None = None,
    start: str = "auto",
    min_sites: Any = 2,
    secure: bool = False,
    privacy: Privacy | None = None,
    as_published: bool = False,
    timeout: Any = 600.0,
    on_end: Callable[[FederatedRun, Any], None] | None = None,
) -> Any:
    """A Flower ``ServerApp`` that fits an estimator to the rows of all connected nodes.

    Parameters
    ----------
    estimator : estimator or callable
        Or ``estimator(context)`` that returns one, to read a run's configuration.
    method : {"exact", "local"}, default="exact"
        See :func:`~polymeans.federated.simulate`, also for the parameters below.
    rounds : int or None, default=None
        Iterations at most. None: ``max_iter`` of the estimator ("local": 20 at most).
    start : {"auto", "summaries", "k-means||"}, default="auto"
        Where to begin, if ``init`` of the estimator is a name.
    min_sites : int or callable, default=2
        Nodes to wait for at the beginning, and those whose answers a round needs; or
        ``min_sites(context)``.
    secure : bool, default=False
        Sums leave sites under masks that cancel.
    privacy : Privacy or None, default=None
        Noise that the sites have agreed on.
    as_published : bool, default=False
        "local": FkM as published, with a server that starts anew in every round.
    timeout : float or callable, default=600
        Seconds that a round waits for replies, and who is later is absent in it; or
        ``timeout(context)``.
    on_end : callable or None, default=None
        ``on_end(run, context)`` gets the outcome, to save the model for example.

    Returns
    -------
    app : flwr.serverapp.ServerApp
        For a SuperLink to run.

    See Also
    --------
    client_app : The other side.
    simulate : Both sides in one process.

    Examples
    --------
    >>> import polymeans
    >>> from polymeans.federated import server_app
    >>> app = server_app(  # doctest: +SKIP
    ...     polymeans.KMeans(10, random_state=0),
    ...     min_sites=3,
    ...     on_end=lambda run, context: polymeans.save(run.model, "model.safetensors"),
    ... )
    """
    from flwr.serverapp import ServerApp

    app = ServerApp()

    @app.main()
    def main(grid: Any, context: Any) -> None:
        chosen, needed, patience = (
            given(context) if callable(given) else given
            for given in (estimator, min_sites, timeout)
        )
        transport = FlowerTransport(grid, int(needed), float(patience))
        coordinator = Coordinator(transport, int(needed), secure)
        model = run_federated(
            chosen,
            coordinator,
            method,
            rounds=rounds,
            start=start,
            privacy=privacy,
            as_published=as_published,
        )
        run = FederatedRun(model, coordinator.rounds)
        logger.info("federated run ended: inertia %.6g", getattr(model, "inertia_", np.nan))
        if on_end is not None:
            on_end(run, context)

    return app


class FlowerTransport:
    """Sites behind a Flower grid.

    Parameters
    ----------
    grid : flwr.serverapp.Grid
    min_sites : int
        Nodes to wait for before the first request.
    timeout : float
        Seconds that an exchange waits for replies.
    """

    def __init__(self, grid: Any, min_sites: int, timeout: float) -> None:
        self._grid, self._timeout = grid, timeout
        self._nodes = self._wait_for(min_sites)

    @property
    def names(self) -> Sequence[str]:
        """Nodes that were there at the beginning, by id."""
        return list(self._nodes)

    def _wait_for(self, n_nodes: int) -> dict[str, int]:
        import time

        until = time.monotonic() + self._timeout
        while True:
            nodes = sorted(self._grid.get_node_ids())
            if len(nodes) >= n_nodes or time.monotonic() > until:
                return {f"node-{node}": node for node in nodes}
            time.sleep(1.0)

    def exchange(self, requests: dict[str, Message]) -> list[tuple[str, Message]]:
        """Send requests to their nodes and wait for replies."""
        from flwr.app import Message as FlowerMessage

        messages = [
            FlowerMessage(
                content=record_of(request), dst_node_id=self._nodes[name], message_type="query"
            )
            for name, request in requests.items()
        ]
        found = []
        for reply in self._grid.send_and_receive(messages, timeout=self._timeout):
            name = f"node-{reply.metadata.src_node_id}"
            if reply.has_error():
                logger.warning("%s: %s", name, reply.error.reason)
            else:
                found.append((name, message_of(reply.content)))
        return found


def record_of(message: Message) -> Any:
    """A message as a ``RecordDict``: arrays in one record, numbers and names in another."""
    from flwr.app import Array, ArrayRecord, ConfigRecord, RecordDict

    arrays, numbers = {}, {}
    for name, value in flat_items(message):
        if isinstance(value, np.ndarray):
            arrays[name] = Array(np.ascontiguousarray(value))
        elif isinstance(value, np.generic):
            numbers[name] = value.item()
        elif value is not None:
            numbers[name] = value
    return RecordDict({"arrays": ArrayRecord(arrays), "numbers": ConfigRecord(numbers)})


def message_of(record: Any) -> Message:
    """The message of a ``RecordDict``."""
    items: list[tuple[str, Any]] = []
    if "arrays" in record:
        items += [(name, array.numpy()) for name, array in record["arrays"].items()]
    if "numbers" in record:
        items += list(record["numbers"].items())
    return nested(iter(items))
