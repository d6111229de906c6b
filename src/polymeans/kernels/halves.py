"""IEEE halves, which numba has no type for: their bits, and whether they are worth using."""

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from polymeans.kernels.emit import F32, I16


def has_fast_halves() -> bool:
    """Whether this processor converts halves in hardware (else a float32 table is faster)."""
    import platform

    from llvmlite import binding

    if platform.machine().lower() in ("arm64", "aarch64"):
        return True
    try:
        return bool(binding.get_host_cpu_features().get("f16c", False))
    except RuntimeError:  # features unknown on this platform
        return False


@intrinsic
def half_as_float32(typingctx, bits):
    """The value of an IEEE half given by its bits."""
    signature = types.float32(types.uint16)

    def codegen(context, builder, signature, args):
        return builder.fpext(builder.bitcast(args[0], ir.HalfType()), F32)

    return signature, codegen


@intrinsic
def as_half_bits(typingctx, value):
    """The bits of ``value`` (float32) rounded to an IEEE half."""
    signature = types.uint16(types.float32)

    def codegen(context, builder, signature, args):
        return builder.bitcast(builder.fptrunc(args[0], ir.HalfType()), I16)

    return signature, codegen
