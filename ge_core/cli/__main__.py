"""`python -m ge_core.cli` is `ge`."""

from . import main

main()
