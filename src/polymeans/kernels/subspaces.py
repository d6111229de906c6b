"""Orthogonal subspaces for several clusterings of the same rows, found from cluster means alone.

View s of S has k_s clusters and a subspace spanned by orthonormal rows of ``basis``; subspaces of
different views are orthogonal. What view s explains of the rows' scatter is ``Σ |A_s v|²`` over
its basis vectors v, where row c of ``A_s`` is the mean of cluster c, measured from the mean of all
rows, times the root of its mass. Nothing larger than these few means is ever decomposed.
"""

from typing import NamedTuple

import numpy as np

from polymeans.kernels.compile import kernel

#: Lengths below this share of the longest weighted mean are rounding noise, not a direction: six
#: digits above what float64 rounds.
NEGLIGIBLE = 1e-10


class Views(NamedTuple):
    """Where each view's clusters and basis vectors stand."""

    starts: np.ndarray  # (S + 1,) clusters of view s are starts[s] : starts[s + 1]
    places: np.ndarray  # (S + 1,) where basis vectors of view s begin, at most k_s - 1 of them
    dims: np.ndarray  # (S,) how many of them there are
    basis: np.ndarray  # (Σ (k_s - 1), d) orthonormal where used


@kernel(fastmath={"reassoc", "contract"}, inner=True)
def dot(a, b):
    """Inner product; sums in any order, since nothing here decides a tie."""
    total = 0.0
    for t in range(a.shape[0]):
        total += a[t] * b[t]
    return total


@kernel(inner=True)
def project_out(vector, basis, first, last):
    """Remove from ``vector`` what lies in the span of rows first:last of the basis."""
    for b in range(first, last):
        share = dot(vector, basis[b])
        for t in range(vector.shape[0]):
            vector[t] -= share * basis[b, t]


@kernel(inner=True)
def remove_other_views(vector, views, s, t):
    """Remove from ``vector`` what belongs to views other than s and t."""
    for u in range(views.dims.shape[0]):
        if u != s and u != t:
            project_out(vector, views.basis, views.places[u], views.places[u] + views.dims[u])


@kernel(inner=True)
def span(vectors, views, s, t, longest, found):
    """Orthonormal rows that span the vectors (used up on the way), apart from the other views.

    Gram-Schmidt, the longest remainder first. Returns how many there are.
    """
    n, d = vectors.shape
    n_found = np.int64(0)
    for _ in range(min(found.shape[0], d)):
        best, which = 0.0, -1
        for i in range(n):
            length = dot(vectors[i], vectors[i])
            if length > best:
                best, which = length, i
        if not np.sqrt(best) > NEGLIGIBLE * longest:
            break
        vector = found[n_found]
        for r in range(3):
            # A short remainder is mostly rounding: make it orthogonal again once it has length one.
            if r == 0:
                for f in range(d):
                    vector[f] = vectors[which, f]
            length = np.sqrt(dot(vector, vector))
            for f in range(d):
                vector[f] /= length
            if r < 2:
                remove_other_views(vector, views, s, t)
                project_out(vector, found, np.int64(0), n_found)
        n_found += 1
        for i in range(n):
            project_out(vectors[i], found, n_found - 1, n_found)
        vectors[which] = 0.0
    return n_found


@kernel(allocates=True)
def rotate_pair(means, views, s, t):
    """The best subspaces of views s and t while the others keep theirs; s == t: of one view.

    On the complement of the other views, ``tr(V_s' B_s V_s) + tr(V_t' B_t V_t)`` is largest when
    s has the eigenvectors of ``B_s - B_t`` with positive values and t those with negative ones.
    Directions without means of either are noise and belong to no view: only the span of their means
    is looked at, so an eigenvalue is zero only where both views explain equally much.
    """
    d = means.shape[1]
    n_s = views.starts[s + 1] - views.starts[s]
    n_t = views.starts[t + 1] - views.starts[t] if t != s else 0
    both = np.empty((n_s + n_t, d))
    longest = 0.0
    for i in range(n_s + n_t):
        c = views.starts[s] + i if i < n_s else views.starts[t] + i - n_s
        for f in range(d):
            both[i, f] = means[c, f]
        longest = max(longest, np.sqrt(dot(both[i], both[i])))
    if views.dims.shape[0] > 2 or s == t:
        for i in range(n_s + n_t):
            remove_other_views(both[i], views, s, t)
    projected = both.copy()
    found = np.empty((min(n_s + n_t, d), d))
    p = span(projected, views, s, t, longest, found)
    found = found[:p]
    inner = np.zeros((p, p))
    coordinates = np.empty(p)
    for i in range(n_s + n_t):
        sign = 1.0 if i < n_s else -1.0
        for a in range(p):
            coordinates[a] = dot(both[i], found[a])
        for a in range(p):
            for b in range(p):
                inner[a, b] += sign * coordinates[a] * coordinates[b]
    views.dims[s] = 0
    views.dims[t] = 0
    if p == 0:
        return
    values, vectors = np.linalg.eigh(inner)
    # The strongest first. Where both explain equally much, rounding decides which of them gets a
    # direction; if one gets more than its dimension allows, the rest goes to the other.
    for rank in range(p - 1, -1, -1):
        if s == t or values[rank] >= 0.0:
            if not add_vector(views, s, vectors[:, rank], found) and s != t:
                add_vector(views, t, vectors[:, rank], found)
    for rank in range(p):
        if s != t and values[rank] < 0.0:
            if not add_vector(views, t, vectors[:, rank], found):
                add_vector(views, s, vectors[:, rank], found)


@kernel(inner=True)
def add_vector(views, s, weights, rows):
    """One more basis vector for view s, a combination of rows; False if it has k_s - 1 already."""
    place = views.places[s] + views.dims[s]
    if place == views.places[s + 1]:
        return False
    vector = views.basis[place]
    vector[:] = 0.0
    for a in range(rows.shape[0]):
        for f in range(vector.shape[0]):
            vector[f] += weights[a] * rows[a, f]
    views.dims[s] += 1
    return True


@kernel
def explained(means, views):
    """Scatter that the views explain: ``Σ_s Σ_v |A_s v|²``."""
    total = 0.0
    for s in range(views.dims.shape[0]):
        for c in range(views.starts[s], views.starts[s + 1]):
            for b in range(views.places[s], views.places[s] + views.dims[s]):
                share = dot(means[c], views.basis[b])
                total += share * share
    return total


@kernel
def rotate(means, views, max_sweeps, tol):
    """Best subspaces for these weighted means, pair by pair; the scatter they explain."""
    n_views = views.dims.shape[0]
    if n_views == 1:
        rotate_pair(means, views, np.int64(0), np.int64(0))
        return explained(means, views)
    before = -1.0
    now = 0.0
    for _ in range(max_sweeps):
        for s in range(n_views):
            for t in range(s + 1, n_views):
                rotate_pair(means, views, s, t)
        now = explained(means, views)
        # Two views are done at once, since they make a single pair.
        if n_views == 2 or now - before <= tol * now:
            break
        before = now
    return now


@kernel
def flatten_means(means, masses, views, centers):
    """Cluster means within the subspace of their view."""
    centers[:] = 0.0
    for s in range(views.dims.shape[0]):
        for c in range(views.starts[s], views.starts[s + 1]):
            if masses[c] > 0.0:
                root = np.sqrt(masses[c])
                for b in range(views.places[s], views.places[s] + views.dims[s]):
                    share = dot(means[c], views.basis[b]) / root
                    for t in range(centers.shape[1]):
                        centers[c, t] += share * views.basis[b, t]
