"""Reports that people can open without Python."""

from fwkmeans.reports.summarize import summarize

__all__ = ["summarize"]
