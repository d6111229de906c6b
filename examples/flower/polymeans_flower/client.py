"""What runs beside the rows of one owner."""

import numpy as np

from polymeans.datasets import make_stick_figures
from polymeans.federated import Rules, client_app


def load_rows(context):
    """The rows of this node: ``rows`` of its configuration is a .npy file, else an example."""
    path = context.node_config.get("rows")
    if path:
        return np.load(path)
    number, n_nodes = (int(context.node_config[key]) for key in ("partition-id", "num-partitions"))
    images, _ = make_stick_figures(600, random_state=0)
    return images[number::n_nodes].astype(np.float32)


# No sum of fewer than five images leaves a node, whatever the server asks for.
app = client_app(load_rows, rules=Rules(min_count=5))
