"""COUNT: a table as a search sees it: distinct combinations of codes, and how often each occurs."""
