"""What kernels are compiled for."""

from numba import types

from polymeans.kernels.small_seeding import share_of


def test_a_constant_is_no_reason_to_compile_again():
    for number in (types.int64, types.literal(7), types.literal(8)):
        _, _, arguments, _ = share_of.get_call_template((types.float64, number), {})
        assert tuple(arguments) == (types.float64, types.int64)
    named = {"total": types.literal(9)}
    _, _, arguments, _ = share_of.get_call_template((types.float64,), named)
    assert tuple(arguments) == (types.float64, types.int64)
    assert not any(isinstance(kind, types.Literal) for s in share_of.signatures for kind in s)
