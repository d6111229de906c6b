"""Relocation in trials: clusters, or protocentroids, without rows get the costliest rows.

A label stands for one member of each of several sets: its member of a set of h is
``label // stride % h``. Plain clusters are a single set with stride 1. The engine has a version
of its own with exact distances and a sort (``polymeans.engine.relocation``).
"""

from polymeans.kernels.compile import kernel


@kernel
def count_members(
    labels,  # IN  (n,)
    weights,  # IN  (n,)
    stride,
    counts,  # OUT (h,) rows of positive weight of each member
):
    """Count the rows of the members of a set; how many members have none."""
    h = counts.shape[0]
    counts[:] = 0
    for i in range(labels.shape[0]):
        if weights[i] > 0.0:
            counts[labels[i] // stride % h] += 1
    n_vacant = 0
    for g in range(h):
        n_vacant += counts[g] == 0
    return n_vacant


@kernel
def fill_vacant(
    labels,  # INOUT (n,)
    stride,
    counts,  # INOUT (h,) from count_members
    costs,  # INOUT (n,) zero for rows that must stay; rows that are taken get zero
):
    """Give each member without rows the costliest row whose own member has others; how many."""
    h = counts.shape[0]
    n_filled = 0
    for g in range(h):
        if counts[g] > 0:
            continue
        worst, most = -1, 0.0
        for i in range(labels.shape[0]):
            if costs[i] > most and counts[labels[i] // stride % h] > 1:
                worst, most = i, costs[i]
        if worst >= 0:
            old = labels[worst] // stride % h
            counts[old] -= 1
            counts[g] = 1
            labels[worst] += (g - old) * stride
            costs[worst] = 0.0
            n_filled += 1
    return n_filled
