"""How each operator runs natively: one module per family, implementations registered by `implementation`."""
