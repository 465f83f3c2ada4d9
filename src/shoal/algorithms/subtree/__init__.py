"""Subtree recoding: each value of a column is published the same way everywhere, by a cut through its hierarchy."""
