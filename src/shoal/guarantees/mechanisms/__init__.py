"""Declared mechanisms, each with the tests of what came out: ``test(view, **parameters)``, one file per mechanism."""
