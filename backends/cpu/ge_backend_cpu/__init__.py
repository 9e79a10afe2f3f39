"""The CPU backend of ge: native code for this machine's processor, generated with llvmlite.

This entry module stays thin: llvmlite is imported when something is compiled or run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ge_core.plugins import PluginInfo, hookimpl

if TYPE_CHECKING:
    from ge_core.backend import Backend

GE_PLUGIN_API = 1


@hookimpl
def ge_plugin_info() -> PluginInfo:
    return PluginInfo(
        name="cpu",
        kind="backend",
        api=GE_PLUGIN_API,
        description="native code for this machine's processor",
        tested="llvmlite>=0.44",
        options={
            "num_threads": "threads of one call; by default the cores that this process may use",
            "isa": "instruction sets to compile for: 'x86-64-v3', or a list; by default the host's",
            "workers": "processes that compile; 0 compiles in this one",
            "share_weights": "True: weights that no kernel wants otherwise stay in the memory of the original",
            "cache": "False keeps compiled kernels and models out of the user's cache",
        },
    )


@hookimpl
def ge_backend() -> Backend:
    from ge_backend_cpu.backend import CpuBackend

    return CpuBackend()
