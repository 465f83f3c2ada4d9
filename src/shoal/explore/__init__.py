"""EXPLORE: what if: lattices, comparisons, hierarchies, draft policies."""
