"""Plain twins of the compiled kernels: slow, obvious, and what tests compare them with."""
