"""Lower bounds: what no local recoding can go below, proven."""
