"""Hot loops: arrays in, arrays out.

Compiled by numba when a search first needs them (once per machine: the result is cached on disk), each with a
plain twin in :mod:`shoal.kernels.plain` that tests compare with it.
"""
