"""How kernels are compiled: once for each machine, without the GIL, never stale."""

from collections.abc import Callable
from typing import Any

from polymeans._first_import import import_numba, prepare_compiler

import_numba()  # an interrupt must not leave it half imported

from numba import extending, njit, types  # noqa: E402
from numba.core.compiler_lock import global_compiler_lock  # noqa: E402
from numba.core.dispatcher import OmittedArg  # noqa: E402
from numba.core.registry import CPUDispatcher  # noqa: E402

from polymeans.kernels.read_only import as_writable  # noqa: E402

try:
    from polymeans.kernels.cache import KernelCache
    from polymeans.kernels.entries import is_quick
    from polymeans.kernels.linked import LinkingCompiler
except (ImportError, AttributeError):  # a numba that has other parts: its own cache is used
    KernelCache = None


class Kernel(CPUDispatcher):
    """A kernel that is compiled once for numbers of a type, whether they are constants or not.

    numba would compile a kernel that others call with ``0`` and with ``n`` for each of them, and
    all that it calls in turn. LLVM, which puts kernels into their callers, sees constants anyway.
    """

    #: Types of arguments, read-only arrays among them, that are taken by code for writable ones.
    read_only: list[Any]

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """What a call by another kernel is compiled to."""
        plain = {name: types.unliteral(kind) for name, kind in dict(kws).items()}
        return super().get_call_template(tuple(map(types.unliteral, args)), plain)

    def _compilation_chain_init_hook(self) -> None:
        """What numba calls first of all: nothing is done.

        It would import packages that extend numba by types of their own, whichever are installed:
        ``sparse`` alone takes as long as importing numba. Kernels get no such types, and where one
        of them is compiled, the target context loads these packages when it is refreshed.
        """

    def _compile_for_args(self, *args: Any, **kws: Any) -> Any:
        """What numba calls for arguments of types that it has not met here.

        Read-only arrays are taken by the code for writable ones, see
        :mod:`polymeans.kernels.read_only`.
        """
        given = tuple(map(self._kind_of, args))
        kinds = tuple(map(as_writable, given))
        if kinds == given:
            return super()._compile_for_args(*args, **kws)
        entry = self.compile(kinds)
        with global_compiler_lock:
            if given not in self.read_only:
                self._insert([kind._code for kind in given], entry)
                self.read_only.append(given)
        return entry

    def _kind_of(self, value: Any) -> Any:
        if isinstance(value, OmittedArg):
            return types.Omitted(value.value)
        return self.typeof_pyval(value)


class InnerKernel(Kernel):
    """A kernel without an entry for Python, which takes time to compile."""

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Refuse: there is nothing to call, and numba would jump to address zero."""
        raise TypeError(
            f"{self.py_func.__qualname__} is called by other kernels only; to call it from Python, "
            "remove inner=True from its decorator"
        )


def kernel(
    function: Callable[..., Any] | None = None,
    *,
    inner: bool = False,
    allocates: bool = False,
    **options: Any,
) -> Any:
    """``numba.njit`` without the GIL, kept on disk until a source it is made from changes.

    Parameters
    ----------
    function : callable
        Without it, a decorator is returned.
    inner : bool, default=False
        Only other kernels call it. Calling it from Python is an error.
    allocates : bool, default=False
        It makes arrays, or is given some by kernels that do. All others are compiled without
        numba's counting of references: it takes two atomic operations for each row of a matrix that
        is looked at, ten times as long as adding up a row of ten features.
    **options
        Of ``numba.njit``.
    """
    if function is None:
        return lambda function: kernel(function, inner=inner, allocates=allocates, **options)
    how = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True, "_nrt": allocates}
    options = how | options
    if inner:
        options["no_cpython_wrapper"] = True
    if not function.__module__.startswith("polymeans.kernels."):
        return njit(cache=True, **options)(function)
    dispatcher = njit(**options, **_pipeline(inner))(function)
    if not isinstance(dispatcher, CPUDispatcher):  # numba is told not to compile
        return dispatcher
    dispatcher.__class__ = InnerKernel if inner else Kernel
    dispatcher.read_only = []
    if KernelCache is not None:
        dispatcher._cache = KernelCache(dispatcher)
    else:
        prepare_compiler()
        dispatcher.enable_caching()
    return dispatcher


def overload(function: Callable[..., Any], **options: Any) -> Any:
    """``numba.extending.overload``, whose variants are compiled as inner kernels are.

    Parameters
    ----------
    function : callable
        What kernels call.
    **options
        Of ``numba.extending.overload``.
    """
    how = {"no_cfunc_wrapper": True, "_nrt": False, **_pipeline(inner=True)}
    return extending.overload(function, jit_options=how, **options)


def _pipeline(inner: bool) -> dict[str, Any]:
    """How numba compiles a kernel, where that is not as usual."""
    if not inner or KernelCache is None or not is_quick():
        return {}
    return {"pipeline_class": LinkingCompiler}
