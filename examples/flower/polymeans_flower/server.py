"""What runs at the server: it never sees a row."""

import logging
from pathlib import Path

import numpy as np

from polymeans import KhatriRaoKMeans
from polymeans.federated import FederatedRun, server_app

logger = logging.getLogger("polymeans")  # one line for each round
logger.setLevel(logging.INFO)
logger.addHandler(logging.StreamHandler())


def estimator(context):
    """The model of a run, from its configuration."""
    config = context.run_config
    sizes = tuple(int(h) for h in str(config["protocentroids"]).split(","))
    return KhatriRaoKMeans(
        sizes,
        aggregator=str(config["aggregator"]),
        max_iter=int(config["rounds"]),
        random_state=int(config["seed"]),
    )


def save(run: FederatedRun, context) -> None:
    """Keep the protocentroids, and who was there in each round."""
    sets = {f"set_{q}": part for q, part in enumerate(run.model.protocentroids_)}
    present = np.array([",".join(record.present) for record in run.rounds])
    path = Path(str(context.run_config["output"]))
    np.savez(path, inertia=run.model.inertia_, history=run.history, present=present, **sets)


app = server_app(
    estimator,
    min_sites=lambda context: int(context.run_config["min-sites"]),
    timeout=lambda context: float(context.run_config["timeout"]),
    on_end=save,
)
