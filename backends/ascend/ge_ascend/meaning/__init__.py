"""What CANN's operators mean: each as a function that builds the same result from operators of the IR.

The lowering uses them to know the type of what it emits and to have a graph that computes what the file will say;
the reader uses them to import files. `meaning_of(type)` gives the function.
"""

from ge_ascend.meaning.call import MEANINGS, Call, meaning, meaning_of

__all__ = ["MEANINGS", "Call", "meaning", "meaning_of"]
