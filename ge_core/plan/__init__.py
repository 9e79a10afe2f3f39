"""From a selected graph to an execution plan, and its execution."""
