"""The lattice of full-domain recodings, and ways through it."""
