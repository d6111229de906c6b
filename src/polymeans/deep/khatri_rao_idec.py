"""IDEC with a grid of protocentroids."""

from polymeans.deep.centroids import KhatriRaoCentroids
from polymeans.deep.documentation import with_shared_sections
from polymeans.deep.idec_loss import IDECLoss


@with_shared_sections
class KhatriRaoIDEC(KhatriRaoCentroids):
    """Improved deep embedded clustering with combinations of a few protocentroids.

    **Idea.** As :class:`IDEC`, but ``h_1 + ... + h_p`` protocentroids in p sets stand for
    ``h_1 · ... · h_p`` centroids in the latent space: each is the sum (or product) of one
    protocentroid from every set. Latent spaces do not have such a structure by themselves. With
    ``init="graph"`` it is trained in: each cluster of the graph gets a cell of the grid, and the
    network learns to put the rows there.

    %(use_and_cost)s

    Parameters
    ----------
    n_protocentroids : tuple of int, default=(2, 3)
        Number of protocentroids in each set. One set is free centroids.
    aggregator : {"sum", "product"}, default="sum"
        How protocentroids combine.
    %(network_parameters)s
    alpha : float or None, default=None
        Degrees of freedom of Student's t distribution. None: 1, as published.
    %(training_parameters)s

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,), int32
        Nearest centroid of each row in the latent space, numbered in C order.
    %(vectors)s
    %(grid_vectors)s
    %(fit_attributes)s
    n_parameters_ : int
        Numbers stored: those of the network and of the protocentroids.
    %(history_attributes)s

    See Also
    --------
    IDEC : Free centroids.
    KhatriRaoDKM : Distances instead of soft assignments.
    polymeans.KhatriRaoKMeans : The same structure among the rows as they are.

    %(notes_and_references)s

    Examples
    --------
    >>> from polymeans.datasets import make_stick_figures
    >>> from polymeans.deep import KhatriRaoIDEC
    >>> images, poses = make_stick_figures(90, random_state=0)
    >>> quick = {"pretrain_epochs": 20, "distill_epochs": 60, "random_state": 0}
    >>> model = KhatriRaoIDEC((3, 3), **quick).fit(images)
    >>> [part.shape for part in model.protocentroids_], model.decoded_centroids_.shape
    ([(3, 10), (3, 10)], (9, 400))
    """

    def _loss(self, alpha: float | None) -> IDECLoss:
        return IDECLoss() if alpha is None else IDECLoss(float(alpha))
