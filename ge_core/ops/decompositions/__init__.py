"""Decompositions of composite operators into simpler ones, by family."""
