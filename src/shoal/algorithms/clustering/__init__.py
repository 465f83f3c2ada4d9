"""Records as boxes, units, groups and sequences: what local searches build classes with."""
