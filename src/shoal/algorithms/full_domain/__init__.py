"""Full-domain recoding: one level for each column, chosen from a lattice."""
