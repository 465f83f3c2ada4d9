"""HTML"""

from __future__ import annotations


def render(a, m=None):
    return ""


def report(a, p=None):
    return ""
