"""Float32 bounds on numbers of higher precision, rounded outwards.

Bounds on distances and scores are kept in float32 whatever the rows are: they take half the memory,
and a bound that is looser by 1e-6 rules out nearly as much.
"""

import numpy as np

from polymeans.kernels.compile import kernel

#: Factors that round outwards by 2**-21, which is eight roundings of float32 (2**-24 each): more
#: than the conversion to float32, the product itself and an addition take.
UP = np.float32(1 + 2.0**-21)
DOWN = np.float32(1 - 2.0**-21)

#: Below 2**-126, about 1.2e-38, units in the last place of float32 are no longer relative: what is
#: lost there is less than this.
LEAST = np.float32(1e-37)

#: A distance whose square float32 still holds (3.4e38 at most).
FAR = np.float32(1e19)


@kernel(inner=True)
def round_down(value):
    """A float32 that is not above a float64; 2**-22 exceeds the error of the conversion."""
    return np.float32(value - abs(value) * 2.0**-22 - 1e-37)


@kernel(inner=True)
def round_up(value):
    """A float32 that is not below a float64."""
    return np.float32(value + abs(value) * 2.0**-22 + 1e-37)
