"""Reports that people can open without Python.

`summarize` turns a fitted model and its table into plain data, `render` turns these into one
self-contained page, `write_report` writes the page to a file. `name_clusters` gives clusters names
that a model keeps, `rules_as_sql` writes short rules for them. `describe` says in a terminal or
notebook what the command prints.
"""

from fwkmeans.reports.in_words import ClusterDescription, describe
from fwkmeans.reports.naming import name_clusters
from fwkmeans.reports.render import render, write_report
from fwkmeans.reports.sql import rules_as_sql
from fwkmeans.reports.summarize import summarize

__all__ = [
    "ClusterDescription",
    "describe",
    "name_clusters",
    "render",
    "rules_as_sql",
    "summarize",
    "write_report",
]
