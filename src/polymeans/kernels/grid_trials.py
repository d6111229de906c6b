"""Trials of a search for grids: descend, perhaps from a grid perturbed for a few iterations.

A trial is one call and one kernel. Descents, noise and soft assignments share all that an iteration
consists of, and a kernel for each of them would compile all of it again.
"""

import numpy as np

from polymeans.kernels.compile import kernel
from polymeans.kernels.grid_descent import (
    assign_nearest,
    pack_centroids,
    refit_protocentroids,
    relocate_unused,
    sum_cells,
)
from polymeans.kernels.grid_moves import add_noise, sum_softly

#: Iterations with noise, and with soft assignments; found by experiment, see
#: docs/explanation/constants.rst.
NOISE_ITERATIONS, ANNEALING_ITERATIONS = 6, 10

#: The temperature that annealing ends at, relative to the mean distance: assignments are hard by
#: then.
_LAST_TEMPERATURE = 0.05

#: A descent is given up if this many more steps that gain as much as the last would not make it
#: better than its rival; tested from the third step (number 2) on, since the first ones gain most.
#: Found by experiment, see docs/explanation/constants.rst.
_STEPS_AHEAD, _FIRST_TESTED = 5.0, 2


@kernel
def lloyd_descent(
    theta,  # INOUT
    problem,
    workspace,
    noise,  # IN  strength, relative to the spread of each set, that fades; 0: none
    seed,  # IN  of the noise
    hottest,  # IN  temperature of soft assignments at first, relative to the scale; 0: none
    scale,  # IN  the present mean distance
    max_iter,  # IN  after iterations with noise or soft assignments
    tol,
    rival,
):
    """Descend in place; the objective and the number of passes.

    Temperatures fall geometrically to 0.05 times the mean distance (deterministic annealing).

    Ends when a step gains less than ``tol`` of the objective, or when five more steps that gain as
    much as the last would not bring it below ``rival``.
    """
    n_noisy = NOISE_ITERATIONS if noise > 0.0 else 0
    n_soft = ANNEALING_ITERATIONS if hottest > 0.0 else 0
    if n_noisy > 0:
        np.random.seed(seed)
    before = np.inf
    value = np.inf
    n_ahead = n_noisy + n_soft
    for m in range(n_ahead + max_iter):
        if m < n_noisy:
            add_noise(theta, problem.sizes, noise * (1.0 - m / NOISE_ITERATIONS))
        pack_centroids(theta, problem, workspace)
        if n_noisy <= m < n_ahead:
            share = (m - n_noisy) / (ANNEALING_ITERATIONS - 1)
            ratio = (_LAST_TEMPERATURE / hottest) ** share
            sum_softly(problem, workspace, max(hottest * ratio * scale, 1e-300))
        else:
            assign_nearest(problem, workspace)
            relocate_unused(problem, workspace)
            sum_cells(problem, workspace)
        value = refit_protocentroids(theta, problem, workspace)
        n = m - n_ahead
        if n < 0:
            continue
        gain = before - value
        if n > 0 and gain <= tol * value:
            return value, m + 1
        if n >= _FIRST_TESTED and value - _STEPS_AHEAD * gain > rival:
            return value, m + 1
        before = value
    return value, n_ahead + max_iter
