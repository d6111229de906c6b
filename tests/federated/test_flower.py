"""Messages as Flower's records; ``flower_run.py`` has the real thing."""

import numpy as np
import pytest

from polymeans.federated import Coordinator, Rules, Site, run_federated
from polymeans.federated.simulation import InProcess
from tests.federated.test_exact import NAMES, assert_same_model, cut, estimators, rows_of

flwr = pytest.importorskip("flwr", reason="needs the extra federated; flower_run.py installs it")


class ThroughRecords(InProcess):
    """Every message becomes a record and back, and sites forget all but their memory."""

    def __init__(self, parts, rules):
        super().__init__([Site(f"node-{i}", part, rules=rules) for i, part in enumerate(parts)])

    def exchange(self, requests):
        from polymeans.federated.flower import message_of, record_of

        replies = []
        for name, request in requests.items():
            old = self._sites[name]
            memory = message_of(record_of(old.memory))
            site = Site(name, old.rows, old.weights, old.rules, memory=memory)
            self._sites[name] = site
            reply = site.answer(message_of(record_of(request)))
            replies.append((name, message_of(record_of(reply))))
        return replies


@pytest.mark.parametrize("secure", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_lost_in_records(name, secure):
    X, sites = cut(rows_of(), 3)
    estimator = estimators(X)[name]
    transport = ThroughRecords(sites, Rules(secure=secure))
    model = run_federated(estimator, Coordinator(transport, secure=secure))
    assert_same_model(model, estimator.fit(X))


def test_apps_are_made():
    from polymeans import KMeans
    from polymeans.federated import client_app, server_app

    assert type(client_app(lambda context: np.ones((3, 2)))).__name__ == "ClientApp"
    assert type(server_app(KMeans(2))).__name__ == "ServerApp"
