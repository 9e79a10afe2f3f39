"""`python -m ge_core.cli` is `ge`."""

from ge_core.cli import main

main()
