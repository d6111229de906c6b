"""IDEC with free centroids."""

from polymeans.deep.centroids import FreeCentroids
from polymeans.deep.documentation import with_shared_sections
from polymeans.deep.idec_loss import IDECLoss


@with_shared_sections
class IDEC(FreeCentroids):
    """Improved deep embedded clustering: an autoencoder and soft clusters in its latent space.

    **Idea.** As :class:`DKM`, but rows belong to all clusters to some degree, by Student's t
    distribution of their distance to the centroids. Training makes these degrees more decided than
    they are, while the decoder keeps the latent space faithful to the rows. Where the clusters are
    is decided before: by a graph of nearest neighbors of the rows (``init="graph"``), whose labels
    the network learns, or, as published, by k-means in the latent space (``init="latent"``).

    %(use_and_cost)s

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    %(network_parameters)s
    alpha : float or None, default=None
        Degrees of freedom of Student's t distribution. None: 1, as published.
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
    DKM : Squared distances instead of soft assignments.
    KhatriRaoIDEC : Centroids that are combinations of a few vectors.
    polymeans.KMeans : Clusters of the rows as they are.

    %(notes_and_references)s

    Examples
    --------
    >>> from polymeans.datasets import make_stick_figures
    >>> from polymeans.deep import IDEC
    >>> images, poses = make_stick_figures(90, random_state=0)
    >>> quick = {"pretrain_epochs": 20, "distill_epochs": 60, "random_state": 0}
    >>> model = IDEC(9, **quick).fit(images)
    >>> model.transform(images).shape, model.decoded_centroids_.shape
    ((90, 10), (9, 400))
    """

    def _loss(self, alpha: float | None) -> IDECLoss:
        return IDECLoss() if alpha is None else IDECLoss(float(alpha))
