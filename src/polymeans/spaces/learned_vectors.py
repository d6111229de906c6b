"""What a fit of clusters and their metric leaves for labels of new rows."""

from typing import Any

import numpy as np

from polymeans.codebooks.learned_metric import LearnedMetricCodebook
from polymeans.core.frame import Frame
from polymeans.spaces.fitting import Fitting
from polymeans.spaces.learned_metric import LearnedMetric


def learned_vectors(
    fitting: Fitting, codebook: LearnedMetricCodebook, frame: Frame
) -> dict[str, Any]:
    """Attributes of the estimator: the space, the metric in it, and centroids there.

    Parameters
    ----------
    fitting : Fitting
    codebook : LearnedMetricCodebook
    frame : Frame
        Of the rows that were clustered.

    Returns
    -------
    dict of str to object
        ``cluster_centers_`` is None: the means of rows among the features follow from the labels.
    """
    slopes = codebook.slopes
    if fitting.space is None:
        slopes = frame.external_directions(slopes)
    vectors: dict[str, Any] = {
        "_slopes": np.ascontiguousarray(slopes.T),
        "_offsets": codebook.offsets.copy(),
        "_space": fitting.space,
        "_learned_metric": None,
        "_unit": fitting.unit,
        "_origin": fitting.origin,
        "metric_": "cosine" if fitting.spec.spherical else "euclidean",
        "n_components_": fitting.n_dims,
        "centroids_in_space_": None,
        "cluster_centers_": None,
    }
    if fitting.space is not None:
        scale = np.sqrt(fitting.space.squares + fitting.rho)
        metric = LearnedMetric(scale, codebook.weighted, fitting.rho)
        vectors["_learned_metric"], vectors["n_components_"] = metric, len(scale)
        inside = metric.transform(codebook.means * scale)
        vectors["centroids_in_space_"] = inside * fitting.space.length
    return vectors
