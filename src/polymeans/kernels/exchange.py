"""Moving single rows to other clusters while that lowers ``log det(W + rho I)``.

A row x of weight w leaves cluster a (mass A) for b (mass B): the scatter within loses
``w A / (A - w) v v'`` with ``v = x - m_a`` and gains ``w B / (B + w) u u'`` with ``u = x - m_b``.
Both change the determinant by a factor that needs inner products in the inverse alone.
"""

import numpy as np

from polymeans.kernels.compile import kernel

#: Masses below this share of a cluster's are differences of rounding errors (1e-16 for each row).
_ROUNDING = 1e-12

#: Moves must lower the determinant by more than this share, well above what rounding does to the
#: updated inverse: otherwise rows could be moved back and forth for ever.
_LEAST_GAIN = 1e-10


@kernel(allocates=True)
def exchange(points, weights, means, masses, sizes, inverse, labels, max_sweeps):
    """Sweep over the rows until none moves; all arrays but the first two change in place.

    ``inverse`` is that of ``W + rho I`` in the coordinates of ``points``. Returns the number of
    rows moved.
    """
    n, r = points.shape
    k = means.shape[0]
    image = means @ inverse  # rows: B^-1 m_c
    u, v = np.empty(r), np.empty(r)
    n_moved = 0
    for _ in range(max_sweeps):
        moved = False
        for i in range(n):
            w = weights[i]
            a = labels[i]
            # The rest of a cluster without its only row of weight would be rounding.
            if w == 0.0 or sizes[a] < 2 or masses[a] - w <= _ROUNDING * masses[a]:
                continue
            x = points[i]
            at = inverse @ x
            own = x @ at
            x_a, a_a = x @ image[a], means[a] @ image[a]
            v_v = own - 2.0 * x_a + a_a
            be = w * masses[a] / (masses[a] - w)
            best, b = 1.0 - _LEAST_GAIN, -1
            for c in range(k):
                if c == a or masses[c] == 0.0:
                    continue
                x_c = x @ image[c]
                u_u = own - 2.0 * x_c + means[c] @ image[c]
                u_v = own - x_c - x_a + means[a] @ image[c]
                al = w * masses[c] / (masses[c] + w)
                ratio = (1.0 + al * u_u) * (1.0 - be * v_v) + al * be * u_v * u_v
                if 0.0 < ratio < best:
                    best, b = ratio, c
            if b < 0:
                continue
            moved = True
            n_moved += 1
            for t in range(r):
                v[t] = x[t] - means[a, t]
                u[t] = x[t] - means[b, t]
            _update(inverse, u, w * masses[b] / (masses[b] + w))
            _update(inverse, v, -be)
            for t in range(r):
                means[a, t] -= w / (masses[a] - w) * v[t]
                means[b, t] += w / (masses[b] + w) * u[t]
            masses[a] -= w
            masses[b] += w
            sizes[a] -= 1
            sizes[b] += 1
            labels[i] = b
            np.dot(means, inverse, image)
        if not moved:
            break
    return n_moved


@kernel(inner=True, allocates=True)
def _update(inverse, x, weight):
    """The inverse after ``weight * x x'`` was added."""
    r = x.shape[0]
    image = inverse @ x
    scale = weight / (1.0 + weight * (x @ image))
    for s in range(r):
        for t in range(r):
            inverse[s, t] -= scale * image[s] * image[t]
