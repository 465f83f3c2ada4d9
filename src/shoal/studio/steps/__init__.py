"""The steps of the work, a file for each: what its page shows, and what its forms change."""
