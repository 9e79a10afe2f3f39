"""The functions that convert MindSpore's primitives, a file for each family."""
