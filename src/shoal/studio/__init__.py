"""STUDIO: a door in the browser, for people who do not program; policy in, release out, no privacy logic.

What is clicked changes the policy, whose YAML stands beside it; what is long is done by child processes, which call
what the command line calls.
"""
