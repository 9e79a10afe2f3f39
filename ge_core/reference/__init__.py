"""The reference target: numpy kernels by family, the oracle of every other target."""
