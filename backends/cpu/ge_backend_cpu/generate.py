"""From a kernel to its code, in this process: generate, verify, optimise, emit, link."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ge_backend_cpu.elf import Code, link
from ge_backend_cpu.emit import new_module
from ge_backend_cpu.isa import Isa, llvm_binding, target_machine
from ge_backend_cpu.kernel import Kernel, generator, is_lean
from ge_core.errors import BackendError


def generate(kernel: Kernel, isa: Isa) -> Code:
    """The code of one kernel, with the one entry point `kernel.symbol`.

    Raises:
        BackendError: the generator made invalid or incomplete code.
    """
    module = new_module(isa)
    generator(kernel.family)(module, kernel.symbol, kernel.parameters, isa)
    code = compile_text(str(module), isa, is_lean(kernel.family))
    if kernel.symbol not in code.symbols:
        raise BackendError(f"the generator of {kernel.family!r} did not make {kernel.symbol}")
    return replace(code, symbols={kernel.symbol: code.symbols[kernel.symbol]})


def compile_text(text: str, isa: Isa, lean: bool = False) -> Code:
    """The code of a module in LLVM's text form.

    Args:
        lean: see `family`.

    Raises:
        BackendError: it is not valid, or uses what is not part of it.
    """
    return link(object_file(text, isa, lean))


def object_file(text: str, isa: Isa, lean: bool = False) -> bytes:
    """The relocatable object of a module in LLVM's text form."""
    machine, module = _optimised(text, isa, lean)
    return bytes(machine.emit_object(module))


def assembly(text: str, isa: Isa, lean: bool = False) -> str:
    """What `object_file` encodes, to be read."""
    machine, module = _optimised(text, isa, lean)
    return str(machine.emit_assembly(module))


def _optimised(text: str, isa: Isa, lean: bool) -> tuple[Any, Any]:
    llvm = llvm_binding()
    machine = target_machine(isa)
    try:
        module = llvm.parse_assembly(text)
        module.verify()
    except RuntimeError as error:
        raise BackendError(f"a generator made invalid code: {error}") from error
    module.data_layout = str(machine.target_data)
    if lean:
        _few_passes(llvm, machine, module)
        return machine, module
    options = llvm.create_pipeline_tuning_options(speed_level=2)
    # generators vectorise and unroll themselves; LLVM would undo the order that they chose
    options.loop_unrolling = options.loop_vectorization = options.slp_vectorization = False
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    return machine, module


def _few_passes(llvm: Any, machine: Any, module: Any) -> None:
    """What code needs whose loops, vectors and registers its generator has laid out.

    Rotated loops make large products a tenth faster. What combining instructions would add takes a fifth of all
    compile time, and no kernel is measurably faster by it.
    """
    passes = llvm.create_new_module_pass_manager()
    passes.add_sroa_pass()
    passes.add_loop_simplify_pass()
    passes.add_lcssa_pass()
    passes.add_loop_rotate_pass()
    passes.add_simplify_cfg_pass()
    passes.run(module, llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=1)))
