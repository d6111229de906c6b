"""The default decision: clusters that other rows confirm, with valleys between them."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from polymeans.selection.halves import Agreement

#: Share of pairs of the weakest cluster that have to stay together, as Tibshirani and Walther
#: recommend (0.8 to 0.9).
STRENGTH = 0.8

#: Chance that the clearest valley of rows without clusters is taken for one.
LEVEL = 0.01


@dataclass(frozen=True)
class Decision:
    """The number of clusters, or None, and why.

    Parameters
    ----------
    best : int or None
    reason : str
    """

    best: int | None
    reason: str


def has_valley(found: Agreement) -> bool:
    """Whether there is a valley between some of the clusters, all pairs taken into account."""
    return bool(found.deepest > norm.isf(LEVEL / max(1, found.n_pairs)))


def is_confirmed(found: Agreement) -> bool:
    """Whether the halves find the same clusters, and no two of them are one heap of rows."""
    same = found.prediction_strength >= STRENGTH and found.n_empty == 0
    return same and found.shallowest > 0 and has_valley(found)


def decide(values: NDArray[np.int64], halves: list[Agreement]) -> Decision:
    """The largest number of clusters that is confirmed.

    A number is confirmed if clusters of one half of the rows are found in the other half, if there
    is a significant valley between at least two of them, and if no pair of neighbors looks like a
    single heap of rows. The second condition is what rows without clusters do not meet; the third
    one excludes that one cluster is divided, which both halves may do in the same way.

    Parameters
    ----------
    values : ndarray of shape (n_values,)
        Numbers of clusters above one, rising.
    halves : list of Agreement
        For the first of these values, as many as there were rows for.

    Returns
    -------
    Decision
    """
    known = list(zip(values.tolist(), halves))
    confirmed = [(k, found) for k, found in known if is_confirmed(found)]
    if confirmed:
        k, found = confirmed[-1]
        return Decision(
            k,
            f"{k} clusters: both halves of the rows find them (prediction strength "
            f"{found.prediction_strength:.2f}), with valleys between them",
        )
    if not any(has_valley(found) for _, found in known):
        return Decision(
            None, "no clusters: there is no valley between any two parts that k-means makes"
        )
    if not any(found.prediction_strength >= STRENGTH for _, found in known):
        return Decision(
            None,
            "no clusters: rows are not one heap, but two halves of them are never divided alike",
        )
    return Decision(
        None,
        "no clusters of this shape: there are valleys, but not between all clusters of any "
        "partition. Elongated clusters look like this: scale the features or use another estimator",
    )
