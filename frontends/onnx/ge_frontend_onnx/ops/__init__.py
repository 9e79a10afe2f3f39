"""Functions for operators that are not the IR's own, one file for each family."""
