"""Sums of features over blocks of very different ranges: the same bits as over all rows."""

from fractions import Fraction

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from polymeans.engine.block_runner import BlockRunner
from polymeans.engine.placement import Held

#: From one end of the range to the other, with gaps that no number of 53 bits spans.
VALUES = st.builds(
    lambda sign, digits, exponent: sign * float(digits) * 2.0**exponent,
    st.sampled_from([-1, 1]),
    st.integers(1, 2**20),
    st.integers(-200, 200) | st.sampled_from([0, 1, 2, 400, -400]),
)


@settings(deadline=None)
@given(st.lists(VALUES, min_size=2, max_size=12), st.data())
def test_means_do_not_depend_on_blocks(values, data):
    X = np.array(values)[:, None]
    cuts = sorted(data.draw(st.sets(st.integers(1, len(values) - 1))))
    parts = [(part, np.ones(len(part))) for part in np.split(X, cuts)]
    whole, cut = BlockRunner(Held([(X, np.ones(len(X)))])), BlockRunner(Held(parts))
    assert whole.frame.ladder == cut.frame.ladder
    np.testing.assert_array_equal(whole.frame.mean, cut.frame.mean)
    assert whole.frame.spread == cut.frame.spread
    exact = sum(map(Fraction, (X[:, 0] / whole.frame.unit).tolist())) / len(values)
    scale = float(np.abs(X).max()) / whole.frame.unit
    assert abs(whole.frame.mean[0] - float(exact)) <= 1e-15 * scale
