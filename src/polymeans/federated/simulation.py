"""Federated runs in one process: sites are objects, messages are handed over."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from polymeans._frame_errors import column_names
from polymeans._validation import check_choice, check_integer, check_seed, shown
from polymeans.federated.coordinator import Coordinator
from polymeans.federated.messages import Message
from polymeans.federated.privacy import Privacy
from polymeans.federated.rounds import Round, history_of
from polymeans.federated.site import Rules, Site

logger = logging.getLogger("polymeans")

METHODS = ("exact", "local")

#: ``dropout(round, site, kind)`` says whether a site's reply is lost.
Dropout = Callable[[int, str, str], bool]


@dataclass
class FederatedRun:
    """The outcome of a federated fit.

    Parameters
    ----------
    model : estimator
        The fitted estimator, without labels of rows.
    rounds : list of Round
        Who was there in each round, who was not, what was refused and why.

    See Also
    --------
    simulate : Makes it.
    Round : One exchange of the run.

    Examples
    --------
    >>> import numpy as np
    >>> from polymeans import KMeans
    >>> from polymeans.federated import simulate
    >>> X = np.random.default_rng(0).normal(size=(300, 2)).astype(np.float32)
    >>> X[:100] += 5
    >>> run = simulate(KMeans(3, random_state=0), [X[:50], X[50:120], X[120:]], random_state=0)
    >>> run.model.cluster_centers_.shape, run.bytes_up > 0, len(run.history) == len(run.rounds)
    ((3, 2), True, True)
    """

    model: Any  #: the fitted estimator, without labels of rows
    rounds: list[Round]  #: who was there in each round, who was not, what was refused and why

    @property
    def history(self) -> NDArray[Any]:
        """One record for each round: round, kind, inertia, bytes_up, bytes_down, n_sites."""
        return history_of(self.rounds)

    @property
    def bytes_down(self) -> int:
        """From the server to all sites."""
        return sum(r.bytes_down for r in self.rounds)

    @property
    def bytes_up(self) -> int:
        """From all sites to the server."""
        return sum(r.bytes_up for r in self.rounds)


class InProcess:
    """A transport that calls sites in turn, and may lose their replies.

    Parameters
    ----------
    sites : sequence of Site
    dropout : callable or None, default=None
        ``dropout(round, site, kind)``: whether the reply of a site is lost.
    """

    def __init__(self, sites: Sequence[Site], dropout: Dropout | None = None) -> None:
        self._sites = {site.name: site for site in sites}
        if len(self._sites) != len(sites):
            raise ValueError("Sites need different names.")
        self._dropout = dropout

    @property
    def names(self) -> list[str]:
        return list(self._sites)

    def exchange(self, requests: dict[str, Message]) -> list[tuple[str, Message]]:
        """Replies of all sites that are asked."""
        replies = []
        for name, request in requests.items():
            reply = self._sites[name].answer(request)
            lost = self._dropout is not None and self._dropout(
                int(request["round"]), name, str(request["kind"])
            )
            if not lost:
                replies.append((name, reply))
        return replies


def simulate(
    estimator: Any,
    sites: Sequence[Any],
    method: str = "exact",
    *,
    rounds: int | None = None,
    start: str = "auto",
    min_count: int = 1,
    min_sites: int = 1,
    dropout: float | Dropout = 0.0,
    secure: bool = False,
    privacy: Privacy | None = None,
    random_state: Any = None,
    as_published: bool = False,
) -> FederatedRun:
    """Fit an estimator to rows that stay at their sites, all of them in this process.

    **Idea.** A fit needs its rows only through sums. With ``method="exact"`` each site sends the
    sums, counts and squares of its rows for the present centroids, the server refits and sends new
    centroids: the result is, bit for bit, that of all rows in one place from the same start, as
    long as no cluster loses all its rows. With ``method="local"`` sites run k-means steps of their
    own and send means with sizes, which the server clusters (FkM; with
    :class:`~polymeans.KhatriRaoKMeans` KR-FkM): fewer bytes up, no exactness.

    **Use when** you want to know what a federated fit would give and cost before you set one up,
    or to test sites that fail. Real ones: :func:`~polymeans.federated.client_app` and
    :func:`~polymeans.federated.server_app`, or a transport of your own.

    **Do not use when** the rows may be in one place: ``fit`` takes them in one piece or in blocks.

    **Cost.** As the fit of all rows, plus preparing messages. A round sends
    ``n_clusters * n_features`` numbers to each site and back; for sums of protocentroids ``Σh *
    n_features`` in both directions and the rows of each pair.

    Parameters
    ----------
    estimator : KMeans, KhatriRaoKMeans, L1KMeans or QuickKMeans
        Its parameters; it is not changed. "local": KMeans (Euclidean) and KhatriRaoKMeans.
    sites : sequence of arrays, frames, CSR matrices, (rows, weights) or Site
        Rows of each site; columns of frames must have the same names in the same order, texts and
        numbers each among themselves. Sites are
        named "site-0", "site-1", ... unless they are :class:`~polymeans.federated.Site`, which have
        names and rules of their own.
    method : {"exact", "local"}, default="exact"
        See above.
    rounds : int or None, default=None
        Iterations at most. None: ``max_iter`` of the estimator ("local": 20 at most).
    start : {"auto", "summaries", "k-means||"}, default="auto"
        Where to begin, if ``init`` of the estimator is a name, see
        :mod:`polymeans.federated.starts`. "auto": "k-means||" if ``init`` is, else "summaries".
    min_count : int, default=1
        No sum of fewer rows leaves a site; rows of smaller clusters are left out and counted.
    min_sites : int, default=1
        Sites whose answers a round needs. It is repeated a few times, then the run fails.
    dropout : float or callable, default=0
        Probability that an answer is lost, or ``dropout(round, site, kind)`` that says whether.
    secure : bool, default=False
        Sums leave sites under masks that cancel, see :mod:`polymeans.federated.masks`.
    privacy : Privacy or None, default=None
        Noise on all that leaves a site, see :class:`~polymeans.federated.Privacy`.
    random_state : int, RandomState instance or None, default=None
        Determines what sites draw, and which answers are lost.
    as_published : bool, default=False
        "local": FkM as published, with a server that starts anew in every round.

    Returns
    -------
    FederatedRun
        With ``model``, ``history`` and ``rounds``.

    See Also
    --------
    client_app, server_app : The same with real sites, by Flower.
    run_federated : The same over a transport of your own.
    FederatedRun : What it returns.

    Examples
    --------
    >>> import numpy as np
    >>> from polymeans import KMeans
    >>> from polymeans.federated import simulate
    >>> X = np.random.default_rng(0).normal(size=(300, 2)).astype(np.float32)
    >>> X[:100] += 5
    >>> run = simulate(KMeans(3, init=X[[0, 150, 299]]), [X[:50], X[50:120], X[120:]])
    >>> central = KMeans(3, init=X[[0, 150, 299]]).fit(X)
    >>> bool((run.model.cluster_centers_ == central.cluster_centers_).all())
    True
    """
    check_choice("method", method, METHODS)
    check_integer("min_sites", min_sites, 1)
    if rounds is not None:
        check_integer("rounds", rounds, 1)
    if isinstance(sites, Mapping):
        raise TypeError(
            "sites must be a sequence of the rows of each site, got a mapping. Pass [Site(name, "
            "rows) for name, rows in sites.items()], or list(sites.values())."
        )
    if column_names(sites) is not None or sp.issparse(sites):
        raise TypeError(
            "sites must be a sequence of the rows of each site, got a single "
            f"{type(sites).__name__}. Cut it into the rows of each site, or pass [rows] if there "
            "is one site only."
        )
    if len(sites) == 0:
        raise ValueError("sites is empty. Give the rows of one site at least.")
    rng = check_seed(random_state)
    seed = int(rng.randint(2**31))
    rules = Rules(min_count, secure, min_sites, privacy)
    made = [
        part if isinstance(part, Site) else _site(f"site-{number}", part, rules, seed)
        for number, part in enumerate(sites)
    ]
    transport = InProcess(made, _dropout(dropout, rng))
    coordinator = Coordinator(transport, min_sites, secure)
    model = run_federated(
        estimator,
        coordinator,
        method,
        rounds=rounds,
        start=start,
        privacy=privacy,
        as_published=as_published,
    )
    return FederatedRun(model, coordinator.rounds)


def run_federated(
    estimator: Any,
    coordinator: Coordinator,
    method: str = "exact",
    *,
    rounds: int | None = None,
    start: str = "auto",
    privacy: Privacy | None = None,
    as_published: bool = False,
) -> Any:
    """Fit an estimator to the rows of sites that any transport reaches.

    Parameters
    ----------
    estimator : KMeans, KhatriRaoKMeans, L1KMeans or QuickKMeans
        Its parameters; it is not changed.
    coordinator : Coordinator
        Asks the sites.
    method : {"exact", "local"}, default="exact"
        See :func:`~polymeans.federated.simulate`, also for the parameters below.
    rounds : int or None, default=None
        Iterations at most. None: ``max_iter`` of the estimator ("local": 20 at most).
    start : {"auto", "summaries", "k-means||"}, default="auto"
        Where to begin, if ``init`` of the estimator is a name.
    privacy : Privacy or None, default=None
        Noise that the sites have agreed on.
    as_published : bool, default=False
        "local": FkM as published, with a server that starts anew in every round.

    Returns
    -------
    model : estimator
        Fitted, without labels of rows.

    See Also
    --------
    simulate : The same with sites in one process.
    Coordinator : Asks the sites.

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
    >>> central = KMeans(3, init=X[:3]).fit(X)
    >>> bool((model.cluster_centers_ == central.cluster_centers_).all())
    True
    """
    from polymeans.federated.exact import fit_exactly
    from polymeans.federated.local import fit_locally
    from polymeans.federated.noisy import fit_privately

    check_choice("method", method, METHODS)
    _check_estimator(estimator)
    if method == "local":
        if privacy is not None or coordinator.secure:
            raise ValueError(
                'method="local" sends means of single sites, which neither masks nor noise are '
                'made for. Use method="exact".'
            )
        model = fit_locally(estimator, coordinator, rounds=rounds, as_published=as_published)
        return _with_names(model, coordinator)
    if as_published:
        raise ValueError(
            f'as_published=True is about method="local", got method={method!r}. '
            "Change one of the two."
        )
    if privacy is not None:
        return _with_names(fit_privately(estimator, coordinator, privacy), coordinator)
    model = fit_exactly(estimator, coordinator, start=start, rounds=rounds)
    return _with_names(model, coordinator)


def _check_estimator(estimator: Any) -> None:
    """Raise unless sums of rows are all that an estimator needs of them."""
    from polymeans.khatri_rao import KhatriRaoKMeans
    from polymeans.kmeans import KMeans
    from polymeans.l1 import L1KMeans
    from polymeans.quick import QuickKMeans

    if not isinstance(estimator, KMeans | KhatriRaoKMeans | L1KMeans | QuickKMeans):
        raise TypeError(
            "estimator must be KMeans, KhatriRaoKMeans, L1KMeans or QuickKMeans, got "
            f"{shown(estimator)}. Others need more of the rows than sums."
        )


def _with_names(model: Any, coordinator: Coordinator) -> Any:
    """A model that knows the names of its features, if all sites have said them."""
    columns = coordinator.columns
    if columns:
        model.feature_names_in_ = np.array(columns, dtype=object)
    return model


def _site(name: str, part: Any, rules: Rules, seed: int) -> Site:
    rows, weights = part if isinstance(part, tuple) else (part, None)
    return Site(name, rows, weights, rules, seed)


def _dropout(dropout: float | Dropout, rng: Any) -> Dropout | None:
    if callable(dropout):
        return dropout
    if not 0 <= float(dropout) <= 1:
        raise ValueError(f"dropout={dropout!r} should be a probability from 0 to 1, or a callable.")
    if dropout == 0:
        return None
    return lambda number, name, kind: bool(rng.random_sample() < dropout)
