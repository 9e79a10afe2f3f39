"""Functions for the forms that operators of the default domain had in older opsets, one file for each family."""
