"""Kernels that only other kernels call: linked into their callers, and optimized there.

numba turns every function it compiles into machine code, which for such a kernel is never run. Here
its library keeps the module alone, optimized function by function. The passes over whole modules,
which put callees into callers, are left to the callers: they would run again there, over all that
is linked, and took a fifth of the time that kernels need to be compiled.
"""

import zlib
from typing import Any

from llvmlite import binding
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler


class LinkedLibrary(JITCodeLibrary):
    """A library of numba's without machine code."""

    def _optimize_final_module(self) -> None:
        """Nothing: callers do it."""

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """Where the function is: nowhere."""
        self._ensure_finalized()
        return 0

    @property
    def codegen(self) -> Any:
        """The code generator, for which there is no environment to be set."""
        return _WithoutEnvironments(self._codegen)

    def serialize_using_object_code(self) -> tuple[Any, ...]:
        """The module, beside no machine code."""
        return (self.name, "object", (b"", self._get_module_for_linking().as_bitcode()))

    @classmethod
    def loaded(cls, generator: Any, name: str, bitcode: bytes) -> "LinkedLibrary":
        """A library whose compressed module is parsed when a caller links it in."""
        library = cls(generator, name)
        library._finalized = True
        parse_late(library, bitcode)
        return library


class LinkingCompiler(Compiler):
    """numba's compiler, with such a library."""

    def __init__(self, typing: Any, target: Any, library: Any, *rest: Any) -> None:
        super().__init__(typing, target, library or LinkedLibrary(target.codegen(), "inner"), *rest)


class _WithoutEnvironments:
    """Environments belong to machine code: those of linked kernels are set for their callers."""

    def __init__(self, generator: Any) -> None:
        self._generator = generator

    def set_env(self, name: str, environment: Any) -> None:
        """Do nothing."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._generator, name)


def set_environments(result: Any) -> None:
    """Set environments of kernels that were linked into one that was just compiled."""
    if not isinstance(result.library, LinkedLibrary):
        for environment in result._find_referenced_environments():
            result.codegen.set_env(environment.env_name, environment)


def parse_late(library: Any, bitcode: bytes) -> None:
    """Let a library parse its compressed module when another one links it in."""

    def module_for_linking() -> Any:
        if library._shared_module is None:
            library._shared_module = binding.parse_bitcode(zlib.decompress(bitcode))
        return library._shared_module

    library._get_module_for_linking = module_for_linking
