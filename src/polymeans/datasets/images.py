"""Small images that are made of independent parts, whose labels are known."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits

from polymeans._validation import check_integer, check_real, check_seed
from polymeans.datasets._common import balanced

#: Points of the figure, across and down, in a square of side one. The waist separates the halves.
_WAIST = 0.6
_HEAD, _HEAD_RADIUS = (0.5, 0.175), 0.1
_NECK, _SHOULDERS, _HIPS = (0.5, 0.28), (0.5, 0.37), (0.5, 0.675)

#: Arms up, out, down: joint and end of the limb on the left and on the right, from the shoulders.
_ARMS = (
    (((0.26, 0.32), (0.14, 0.08)), ((0.74, 0.32), (0.86, 0.08))),
    (((0.30, 0.37), (0.08, 0.37)), ((0.70, 0.37), (0.92, 0.37))),
    (((0.34, 0.44), (0.24, 0.56)), ((0.66, 0.44), (0.76, 0.56))),
)
#: Legs together, apart, one kicking: the same from the hips.
_LEGS = (
    (((0.42, 0.76), (0.40, 0.96)), ((0.58, 0.76), (0.60, 0.96))),
    (((0.36, 0.80), (0.20, 0.96)), ((0.64, 0.80), (0.80, 0.96))),
    (((0.48, 0.80), (0.46, 0.96)), ((0.70, 0.675), (0.92, 0.675))),
)

#: Letters any two of which differ in ten pixels or more, and which have similar numbers of pixels.
_LETTERS = {
    "F": ("#####", "#....", "####.", "#....", "#...."),
    "J": ("..###", "...#.", "...#.", "#..#.", ".##.."),
    "M": ("#...#", "##.##", "#.#.#", "#...#", "#...#"),
    "O": (".###.", "#...#", "#...#", "#...#", ".###."),
    "V": ("#...#", "#...#", "#...#", ".#.#.", "..#.."),
    "Z": ("#####", "...#.", "..#..", ".#...", "#####"),
}
#: Cyan, magenta, yellow: the gray that they have in common exceeds their differences.
_COLORS = np.array([[0.0, 1.0, 1.0], [1.0, 0.0, 1.0], [1.0, 1.0, 0.0]])
_HEIGHT, _WIDTH = 9, 7
#: Marks at the top left, top right, bottom left, bottom right, as rows and columns. Two pixels
#: wide: a single one would be far fainter than letter and color.
_MARKS = (
    (0, slice(0, 2)),
    (0, slice(5, 7)),
    (8, slice(0, 2)),
    (8, slice(5, 7)),
)


def make_stick_figures(
    n_samples: int = 900,
    *,
    size: int = 20,
    noise: float = 0.05,
    random_state: Any = None,
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Images of stick figures, whose nine poses are three pairs of arms times three of legs.

    **Idea.** The arms of a figure are up, out or down; its legs together, apart, or one of them
    kicks. Head and trunk are always the same. Arms and legs share no pixel, so the mean image of
    a pose is exactly an upper body plus a lower body: six images make nine.

    **Use when** you want to illustrate structure among centroids: free centroids are nine figures,
    summed protocentroids three upper and three lower bodies. **Do not use** as a benchmark: it is
    easy. **Cost:** ``n_samples · size²`` draws.

    Parameters
    ----------
    n_samples : int, default=900
        Number of images; all poses are equally frequent, give or take one image.
    size : int, default=20
        Height and width of an image in pixels, at least 16.
    noise : float, default=0.05
        Standard deviation of the pixels. Values are cut off at 0 and 1 afterwards.
    random_state : int, RandomState instance or None, default=None
        Determines the images.

    Returns
    -------
    images : ndarray of shape (n_samples, size * size), float64
        Values from 0 (paper) to 1 (ink). ``images.reshape(-1, size, size)`` can be shown.
    poses : ndarray of shape (n_samples, 2), int64
        Arms (0 up, 1 out, 2 down) and legs (0 together, 1 apart, 2 one kicking).

    See Also
    --------
    make_double_digits : Handwritten digits in pairs.
    make_khatri_rao : Rows without a picture, of any size.

    Examples
    --------
    >>> from polymeans import KMeans
    >>> from polymeans.datasets import make_stick_figures
    >>> from polymeans.metrics import unsupervised_accuracy
    >>> images, poses = make_stick_figures(90, random_state=0)
    >>> images.shape
    (90, 400)
    >>> model = KMeans(9, n_init=5, random_state=0).fit(images)
    >>> unsupervised_accuracy(3 * poses[:, 0] + poses[:, 1], model.labels_)
    1.0
    """
    check_integer("n_samples", n_samples, 1)
    check_integer("size", size, 16, "Smaller figures cannot be told apart.")
    noise = check_real("noise", noise, 0)
    rng = check_seed(random_state)

    upper, lower = _bodies(size)
    poses = np.stack(np.divmod(balanced(rng, n_samples, 9), 3), axis=1)
    images = upper[poses[:, 0]] + lower[poses[:, 1]]
    images += noise * rng.standard_normal(images.shape)
    return np.clip(images, 0.0, 1.0, out=images), poses


def make_double_digits(
    n_samples: int = 1000, *, random_state: Any = None
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Images of two handwritten digits side by side, all hundred pairs of them.

    **Idea.** Two images are drawn independently from scikit-learn's digits. A pair is a left half
    plus a right half, so its hundred mean images are sums of ten left and ten right ones.

    **Use when** you need structure of this kind in real images. **Do not use** to judge methods on
    digits: all rows are made of the same 1797 images, so training and test rows share them.
    **Cost:** copying the images.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of images.
    random_state : int, RandomState instance or None, default=None
        Determines the pairs.

    Returns
    -------
    X : ndarray of shape (n_samples, 128), float64
        Values from 0 (paper) to 1 (ink). ``X.reshape(-1, 8, 16)`` can be shown.
    digits : ndarray of shape (n_samples, 2), int64
        The digit on the left and the one on the right.

    See Also
    --------
    make_stick_figures : Images with exact structure.
    sklearn.datasets.load_digits : Where the digits come from.

    Examples
    --------
    >>> from polymeans.datasets import make_double_digits
    >>> X, digits = make_double_digits(500, random_state=0)
    >>> X.shape, digits.shape
    ((500, 128), (500, 2))
    """
    check_integer("n_samples", n_samples, 1)
    rng = check_seed(random_state)
    values, names = load_digits(return_X_y=True)
    pairs = rng.randint(len(values), size=(n_samples, 2))
    # Row by row of the image: eight pixels of the left digit, then eight of the right one.
    images = (values / 16.0).reshape(-1, 8, 8)
    X = np.concatenate([images[pairs[:, 0]], images[pairs[:, 1]]], axis=2)
    return X.reshape(n_samples, 128), names[pairs].astype(np.int64)


def _bodies(size: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Three upper and three lower bodies, one flat image each."""
    trunk = [(_NECK, _HIPS)]
    above = (np.arange(size) + 0.5)[:, np.newaxis] < _WAIST * size
    head = _ink(np.abs(_distance(size, _HEAD, _HEAD) - _HEAD_RADIUS * size), size)
    upper = [
        np.where(above, np.maximum(head, _draw(size, trunk + _limbs(_SHOULDERS, arms))), 0.0)
        for arms in _ARMS
    ]
    lower = [np.where(above, 0.0, _draw(size, trunk + _limbs(_HIPS, legs))) for legs in _LEGS]
    return np.reshape(upper, (3, -1)), np.reshape(lower, (3, -1))


def _limbs(root: Any, pair: Any) -> list[Any]:
    """Lines from the root over the joint to the end of both limbs."""
    return [line for joint, end in pair for line in ((root, joint), (joint, end))]


def _draw(size: int, lines: list[Any]) -> NDArray[np.float64]:
    return _ink(np.min([_distance(size, *line) for line in lines], axis=0), size)


def _ink(distance: NDArray[np.float64], size: int) -> NDArray[np.float64]:
    """Full ink on a line, none away from it, a ramp of one pixel between (anti-aliasing)."""
    half_width = max(0.5, 0.03 * size)
    return np.clip(half_width + 0.5 - distance, 0.0, 1.0)


def _distance(size: int, start: Any, end: Any) -> NDArray[np.float64]:
    """Distance of each pixel's middle, in pixels, from the line between two points."""
    start, end = size * np.array(start), size * np.array(end)
    down = np.arange(size) + 0.5
    # The figure's axis is in the middle of a column; between two, the trunk would be two gray ones.
    across = np.arange(size) - size // 2 + size / 2
    pixels = np.stack(np.meshgrid(across, down), axis=-1)
    along = end - start
    length = along @ along
    # The nearest point of the line, as a share of the way; a line may be a single point.
    share = np.clip((pixels - start) @ along / length, 0.0, 1.0) if length > 0 else 0.0
    nearest = start + np.asarray(share)[..., np.newaxis] * along
    return np.linalg.norm(pixels - nearest, axis=-1)


def make_colored_letters(
    n_samples: int = 1000, *, noise: float = 0.1, random_state: Any = None
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Small images of a letter, in a color, with a mark in a corner: three clusterings at once.

    **Idea.** On a black ground stands one of six letters in one of three colors, and one of the
    four corners is marked white. Every combination is equally frequent, so images can be grouped
    by letter, by color or by corner, and the groupings are independent. The mark has separate
    pixels; a letter and its color share theirs, and their effects multiply.

    **Use when** you want to illustrate several clusterings of the same rows: centers of each are
    pictures of a letter, a color or a corner. **Do not use** to judge methods on images: equal
    letters differ by noise only. **Cost:** 189 draws for each image.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of images; all 72 combinations are equally frequent, give or take one image.
    noise : float, default=0.1
        Standard deviation of the pixels. Values are cut off at 0 and 1 afterwards.
    random_state : int, RandomState instance or None, default=None
        Determines the images. The same seed with other ``noise`` draws the same letters.

    Returns
    -------
    images : ndarray of shape (n_samples, 189), float64
        Red, green and blue from 0 to 1. ``images.reshape(-1, 9, 7, 3)`` can be shown.
    labels : ndarray of shape (n_samples, 3), int64
        Letter (0 to 5 for F, J, M, O, V, Z), color (0 cyan, 1 magenta, 2 yellow) and corner (0
        top left, 1 top right, 2 bottom left, 3 bottom right).

    See Also
    --------
    make_nonredundant : Rows without a picture, with any number of clusterings.
    make_stick_figures : Images that are sums of two parts.

    Examples
    --------
    >>> from polymeans.datasets import make_colored_letters
    >>> images, labels = make_colored_letters(720, random_state=0)
    >>> images.reshape(-1, 9, 7, 3).shape, labels.shape
    ((720, 9, 7, 3), (720, 3))
    >>> (labels.max(axis=0) + 1).tolist()
    [6, 3, 4]
    """
    check_integer("n_samples", n_samples, 1)
    noise = check_real("noise", noise, 0)
    rng = check_seed(random_state)

    letters, marks = _letter_masks(), _corner_masks()
    kinds = (len(letters), len(_COLORS), len(marks))
    cells = balanced(rng, n_samples, int(np.prod(kinds)))
    labels = np.stack(np.unravel_index(cells, kinds), axis=1).astype(np.int64)
    letter, color, corner = labels.T
    images = letters[letter][..., np.newaxis] * _COLORS[color][:, np.newaxis, np.newaxis]
    images += marks[corner][..., np.newaxis]  # white: the same in all three channels
    images += noise * rng.standard_normal(images.shape)
    np.clip(images, 0.0, 1.0, out=images)
    return images.reshape(n_samples, -1), labels


def _letter_masks() -> NDArray[np.float64]:
    """For each letter 1 where its ink is, in the middle of the image, and 0 elsewhere."""
    masks = np.zeros((len(_LETTERS), _HEIGHT, _WIDTH))
    for mask, rows in zip(masks, _LETTERS.values()):
        mask[2:7, 1:6] = [[pixel == "#" for pixel in row] for row in rows]
    return masks


def _corner_masks() -> NDArray[np.float64]:
    """For each corner 1 where its mark is and 0 elsewhere."""
    masks = np.zeros((len(_MARKS), _HEIGHT, _WIDTH))
    for mask, where in zip(masks, _MARKS):
        mask[where] = 1.0
    return masks
