"""One file for each family of operators, imported on first use of the registry."""
