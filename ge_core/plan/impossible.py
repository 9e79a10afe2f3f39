"""What a call cannot compute because of its inputs' sizes.

The size of a convolution's result falls below zero when its input is smaller than its window; two factors of a
product may have different sizes. A branch that does not run may hold such values; whatever runs may not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ge_core.errors import SizeBoundError
from ge_core.plan.placement import Placement
from ge_core.plan.plan import AllocStep, CopyStep, ExecutionPlan, HostStep, KernelStep, Step, ViewStep

Check = Callable[[Placement], None]


def refusal(plan: ExecutionPlan, steps: Sequence[Step]) -> Check:
    """A function that refuses placements in which one of these steps, branches and bodies aside, makes an impossible
    value.

    Raises (the function):
        SizeBoundError: there is such a value.
    """
    makers: dict[int, Step] = {}
    for step in steps:
        for value in _made(step):
            makers.setdefault(value, step)

    def check(placement: Placement) -> None:
        for value, why in placement.impossible.items():
            step = makers.get(value)
            if step is not None:
                sizes = ", ".join(f"{name} = {size}" for name, size in placement.env.items())
                raise SizeBoundError(
                    f"%{plan.values[value].name} {why}",
                    where=step.loc,
                    expected=f"inputs of other sizes than {sizes}",
                )

    return check


def _made(step: Step) -> Iterator[int]:
    """The values that a step gives a content."""
    if isinstance(step, (KernelStep, HostStep)):
        yield from (v for v in step.outputs if v >= 0)
    elif isinstance(step, (ViewStep, AllocStep)):
        yield step.value
    elif isinstance(step, CopyStep):
        yield step.target
