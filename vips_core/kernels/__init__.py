"""Pure numba kernels: arrays in, arrays out, no randomness, no threads of their own."""
