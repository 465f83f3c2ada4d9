"""Statistics that models rest on: estimates of who is unique, and how records are drawn; no entries of the catalog."""
