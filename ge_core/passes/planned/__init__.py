"""Passes for planned backends, in fixed order: group, select, relayout; order and placement follow in ge_core.plan."""
