"""Tables in memory, of any dataframe library, and files that fit into it."""
