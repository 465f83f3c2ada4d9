"""IMPORT: policies from the configurations of other tools."""
