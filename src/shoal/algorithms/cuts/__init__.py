"""Cuts through hierarchies, which subtree searches move."""
