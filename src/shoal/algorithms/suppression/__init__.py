"""Cell suppression: which tuples are near each other, groups around centres, and what no grouping goes below."""
