"""ENGINES: where a table lies (memory, files larger than memory, Spark), and what can be done with it there."""
