"""A compiled kernel as bytes, and back again without waking the compiler.

numba's own way back (``CompileResult._rebuild``) first imports everything that is needed to compile
(a quarter of a second) and parses the bitcode of each kernel, which only a kernel compiled later
that calls this one needs. The quick way does neither. It uses internals of numba; where one of them
is missing, kernels take numba's own way.
"""

import pickle
import sys
import zlib
from importlib import import_module
from typing import Any

from llvmlite import binding
from numba.core import codegen
from numba.core.compiler import CompileResult
from numba.core.environment import Environment, lookup_environment
from numba.core.serialize import dumps

from polymeans.kernels.linked import LinkedLibrary, parse_late

#: What the quick way sets in a ``CompileResult``, in versions of numba that it knows.
_FIELDS = frozenset(
    [
        "typing_context",
        "target_context",
        "entry_point",
        "typing_error",
        "type_annotation",
        "signature",
        "objectmode",
        "lifted",
        "fndesc",
        "library",
        "call_helper",
        "environment",
        "metadata",
        "reload_init",
        "referenced_envs",
    ]
)
_LIBRARY = ("enable_object_caching", "_set_compiled_object", "_finalize_final_module")


def pack(result: Any) -> bytes:
    """The bytes of a compiled kernel.

    Its annotated source, which numba would keep for ``inspect_types``, is left out.
    """
    library, *rest = result._reduce()
    fndesc, environment, signature, objectmode, lifted, _, reload_init, environments = rest
    name, _, (machine_code, bitcode) = library
    module = result.library._get_module_for_linking()
    defined, outside = [], []
    for values in (module.functions, module.global_variables):
        for value in values:
            (outside if value.is_declaration else defined).append(value.name)
    outside = [symbol for symbol in outside if not symbol.startswith("llvm.")]
    code = (name, machine_code, zlib.compress(bitcode, 6), defined, outside)
    others = [(other.globals["__name__"], other.consts, other.env_name) for other in environments]
    about = (fndesc, environment, signature, objectmode, lifted, "", reload_init, others)
    return dumps((code, about))


def unpack(context: Any, data: bytes) -> Any:
    """The compiled kernel, ready to be called; None if it needs what this process does not have."""
    code, about = pickle.loads(data)
    is_linked = not code[1]
    if is_linked and not is_quick():
        return None
    if not is_linked and not (is_quick() and _are_there(context.codegen(), code[-1])):
        context.refresh()
        if not _are_there(context.codegen(), code[-1]):
            return None
    if not is_quick():
        name, machine_code, bitcode, *_ = code
        library = (name, "object", (machine_code, zlib.decompress(bitcode)))
        return CompileResult._rebuild(context, library, *about[:-1], _environments(about[-1]))
    fndesc, environment, signature, objectmode, lifted, annotation, reload_init, others = about
    others = _environments(others)
    for function in reload_init:
        function()
    if is_linked:
        library = LinkedLibrary.loaded(context.codegen(), code[0], code[2])
    else:
        library = _load(context.codegen(), *code[:-1])
    result = CompileResult(
        typing_context=context.typing_context,
        target_context=context,
        entry_point=context.get_executable(library, fndesc, environment),
        typing_error=None,
        type_annotation=annotation,
        signature=signature,
        objectmode=objectmode,
        lifted=lifted,
        fndesc=fndesc,
        library=library,
        call_helper=None,
        environment=environment,
        metadata=None,
        reload_init=reload_init,
        referenced_envs=others,
    )
    for other in () if is_linked else others:
        library.codegen.set_env(other.env_name, other)
    return result


def is_quick() -> bool:
    """Whether this numba has what the quick way uses."""
    return (
        frozenset(CompileResult._fields) == _FIELDS
        and all(hasattr(codegen.JITCodeLibrary, name) for name in _LIBRARY)
        and hasattr(codegen.JitEngine, "is_symbol_defined")
    )


def _are_there(generator: Any, symbols: list[str]) -> bool:
    """Whether symbols from outside can be found: LLVM ends the process over one that cannot."""
    defined = generator._engine.is_symbol_defined
    return all(defined(symbol) or binding.address_of_symbol(symbol) for symbol in symbols)


def _environments(others: list[Any]) -> list[Any]:
    """What kernels that were linked into this one have: constants, and names of their modules.

    Modules are imported for what has constants only. Compiled code looks nothing else up there, and
    most of them are modules of numba for its compiler.
    """
    found = []
    for module, constants, name in others:
        environment = lookup_environment(name)
        if environment is None:
            if constants:
                import_module(module)
            there = sys.modules.get(module)
            environment = Environment({"__name__": module} if there is None else vars(there))
            environment.consts[:] = constants
            environment.env_name = name
            Environment._memo[name] = environment  # weak, and where numba looks for it
        found.append(environment)
    return found


def _load(
    generator: Any, name: str, machine_code: bytes, bitcode: bytes, defined: list[str]
) -> Any:
    """A library of numba's whose bitcode is parsed when another kernel links it in."""
    library = generator.create_library(name)
    library.enable_object_caching()
    library._set_compiled_object(machine_code)
    library._finalize_final_module()
    generator._engine._defined_symbols.update(defined)
    parse_late(library, bitcode)
    return library
