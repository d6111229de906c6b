"""Deep k-means with free centroids."""

from polymeans.deep.centroids import FreeCentroids
from polymeans.deep.dkm_loss import DKMLoss
from polymeans.deep.documentation import with_shared_sections


@with_shared_sections
class DKM(FreeCentroids):
    """Deep k-means: an autoencoder and centroids in its latent space, trained together.

    **Idea.** An autoencoder maps rows to ten numbers and back. Centroids live among these numbers;
    network and centroids are trained together to reconstruct rows and to bring them near a
    centroid. Where the clusters are is decided before: by a graph of nearest neighbors of the rows
    (``init="graph"``), whose labels the network learns and then carries to new rows, or, as
    published, by k-means in the latent space (``init="latent"``).

    %(use_and_cost)s

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    %(network_parameters)s
    alpha : float or None, default=None
        How hard rows are assigned: weights are ``softmax(-alpha d²)``. None: 1000, as published.
    %(training_parameters)s

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,), int32
        Nearest centroid of each row in the latent space.
    %(vectors)s
    %(fit_attributes)s
    n_parameters_ : int
        Numbers stored: those of the network and of the centroids.
    %(history_attributes)s

    See Also
    --------
    IDEC : Soft assignments instead of distances.
    KhatriRaoDKM : Centroids that are combinations of a few vectors.
    polymeans.KMeans : Clusters of the rows as they are.

    %(notes_and_references)s

    Examples
    --------
    >>> from polymeans.datasets import make_stick_figures
    >>> from polymeans.deep import DKM
    >>> images, poses = make_stick_figures(90, random_state=0)
    >>> quick = {"pretrain_epochs": 20, "distill_epochs": 60, "random_state": 0}
    >>> model = DKM(9, **quick).fit(images)
    >>> model.transform(images).shape, model.decoded_centroids_.shape
    ((90, 10), (9, 400))
    """

    def _loss(self, alpha: float | None) -> DKMLoss:
        return DKMLoss() if alpha is None else DKMLoss(float(alpha))
