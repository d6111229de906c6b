"""Deep k-means with a grid of protocentroids."""

from polymeans.deep.centroids import KhatriRaoCentroids
from polymeans.deep.dkm_loss import DKMLoss
from polymeans.deep.documentation import with_shared_sections


@with_shared_sections
class KhatriRaoDKM(KhatriRaoCentroids):
    """Deep k-means whose centroids are combinations of a few protocentroids.

    **Idea.** As :class:`DKM`, but ``h_1 + ... + h_p`` protocentroids in p sets stand for
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
        How hard rows are assigned: weights are ``softmax(-alpha d²)``. None: 1000, as published.
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
    DKM : Free centroids.
    KhatriRaoIDEC : Soft assignments instead of distances.
    polymeans.KhatriRaoKMeans : The same structure among the rows as they are.

    %(notes_and_references)s

    Examples
    --------
    >>> from polymeans.datasets import make_stick_figures
    >>> from polymeans.deep import KhatriRaoDKM
    >>> images, poses = make_stick_figures(90, random_state=0)
    >>> quick = {"pretrain_epochs": 20, "distill_epochs": 60, "random_state": 0}
    >>> model = KhatriRaoDKM((3, 3), **quick).fit(images)
    >>> [part.shape for part in model.protocentroids_], model.decoded_centroids_.shape
    ([(3, 10), (3, 10)], (9, 400))
    """

    def _loss(self, alpha: float | None) -> DKMLoss:
        return DKMLoss() if alpha is None else DKMLoss(float(alpha))
