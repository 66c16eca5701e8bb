"""Reports that people can open without Python.

`summarize` turns a fitted model and its table into plain data, `render` turns these into one
self-contained page, `write_report` writes the page to a file.
"""

from fwkmeans.reports.render import render, write_report
from fwkmeans.reports.summarize import summarize

__all__ = ["render", "summarize", "write_report"]
