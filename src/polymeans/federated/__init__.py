"""Fits to rows that cannot leave their owners.

Sites hold rows and decide what leaves them; a server holds centroids. Both are plain functions of
messages, dictionaries of arrays and numbers: :func:`simulate` hands them over in one process,
:func:`client_app` and :func:`server_app` carry them with Flower (the extra ``federated``), and any
other transport can take their place (:class:`Coordinator`, :class:`Site`).

Nothing here computes distances or sums of its own: sites use the engine's kernels, the server the
engine's loop.
"""

from polymeans.federated.coordinator import Coordinator, TooFewSitesError, Transport
from polymeans.federated.flower import client_app, server_app
from polymeans.federated.privacy import Privacy
from polymeans.federated.rounds import Round
from polymeans.federated.simulation import FederatedRun, run_federated, simulate
from polymeans.federated.site import Rules, Site

__all__ = [
    "Coordinator",
    "FederatedRun",
    "Privacy",
    "Round",
    "Rules",
    "Site",
    "TooFewSitesError",
    "Transport",
    "client_app",
    "run_federated",
    "server_app",
    "simulate",
]
