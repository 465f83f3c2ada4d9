"""``python -m shoal``: the command line where the command itself is not on the path."""

from shoal.cli import run

if __name__ == "__main__":
    run()
