"""One function for each torch operator; one file for each family, named as in `ge_core.ops`."""
