"""The default decision: clusters that other rows confirm, with valleys between them."""

from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from polymeans.selection.halves import Agreement

#: Share of pairs of the weakest cluster that have to stay together, as Tibshirani and Walther
#: recommend (0.8 to 0.9).
STRENGTH = 0.8

#: Criteria that do not look at halves, and how many of them can confirm clusters that overlap.
VOTERS = ("elbow", "silhouette", "calinski_harabasz", "davies_bouldin", "bic", "gap")
VOTES = 2

#: How many of them make up for valleys that overlapping clusters do not have. Of 114 generated sets
#: without clusters, four never named the same number, three did for three sets.
MAJORITY = 4

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


def is_confirmed(found: Agreement, n_votes: int) -> bool:
    """Whether the halves find the same clusters, and no two of them are one heap of rows."""
    same = found.prediction_strength >= STRENGTH and found.n_empty == 0
    apart = has_valley(found) and (found.shallowest > 0 or n_votes >= VOTES)
    return same and (apart or n_votes >= MAJORITY)


def decide(
    values: NDArray[np.int64], halves: list[Agreement], choices: dict[str, int | None]
) -> Decision:
    """The largest number of clusters that is confirmed.

    A number is confirmed if clusters of one half of the rows are found in the other half, if there
    is a significant valley between at least two of them, and if no pair of neighbors looks like a
    single heap of rows, unless two criteria of another kind name the same number. The second
    condition is what rows without clusters do not meet; the third one excludes that one cluster is
    divided, which both halves may do in the same way. Clusters may overlap so much that there is no
    valley: then four of the six other criteria have to name the same number.

    Parameters
    ----------
    values : ndarray of shape (n_values,)
        Numbers of clusters above one, rising.
    halves : list of Agreement
        For the first of these values, as many as there were rows for.
    choices : dict of str to int or None
        Answers of all criteria.

    Returns
    -------
    Decision
    """
    known = list(zip(values.tolist(), halves))
    votes = Counter(choices[name] for name in VOTERS if name in choices)
    confirmed = [(k, found) for k, found in known if is_confirmed(found, votes[k])]
    if confirmed:
        k, found = confirmed[-1]
        why = (
            "there are valleys between them"
            if has_valley(found)
            else f"{votes[k]} of {len(VOTERS)} other criteria name the same number"
        )
        return Decision(
            k,
            f"both halves of the rows find them (prediction strength "
            f"{found.prediction_strength:.2f}), and {why}",
        )
    if not any(has_valley(found) for _, found in known):
        return Decision(
            None,
            "no sign of clusters: there is no valley between any two parts of the rows, and other "
            "criteria do not make up for it",
        )
    if not any(found.prediction_strength >= STRENGTH for _, found in known):
        return Decision(
            None,
            "rows are not one heap, but two halves of them are never divided alike",
        )
    return Decision(
        None,
        "there are valleys, but not between all clusters of any partition. Elongated clusters look "
        "like this: scale the features or use another estimator",
    )
