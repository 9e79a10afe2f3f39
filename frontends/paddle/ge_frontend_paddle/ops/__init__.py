"""Conversions of operators, one file for each family."""
