"""What the Ascend targets share: CANN's operators, AIR files, precision modes, and the driving of ATC.

Light at import: everything heavy is imported where it is used.
"""
