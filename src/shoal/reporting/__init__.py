"""REPORT: an audit in, one self-contained page out."""

from shoal.reporting.html import render, report

__all__ = ["render", "report"]
