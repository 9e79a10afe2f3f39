"""The operators as tensors: one module per family, one function per operator or group of them."""
