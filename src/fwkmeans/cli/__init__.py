"""The command line: ``fwkmeans``.

Commands are imported when they are asked for, and scikit-learn only when they run, so that help
and completion answer at once.
"""

from __future__ import annotations

import click

from fwkmeans import __version__
from fwkmeans.cli.errors import debug_option
from fwkmeans.cli.lazy import LazyGroup

__all__ = ["main"]

COMMANDS = {
    "fit": ("fwkmeans.cli.fit:fit", "Cluster a table; show and save the result."),
    "choose": ("fwkmeans.cli.choose:choose_command", "Compare numbers of clusters; recommend one."),
    "predict": ("fwkmeans.cli.predict:predict", "Assign new rows to the clusters of a model."),
    "compare": ("fwkmeans.cli.compare:compare", "Cluster a table with every algorithm."),
    "report": ("fwkmeans.cli.report:report", "Write a page (HTML) about a model."),
    "explore": ("fwkmeans.cli.explore:explore", "Try settings on a page in the browser."),
    "survey": ("fwkmeans.cli.survey:survey", "Run the experiment of the survey."),
    "demo": ("fwkmeans.cli.demo:demo", "Show what feature weights do, on a bundled table."),
    "data": ("fwkmeans.cli.data:data", "Print a bundled table, to try things on."),
    "completion": ("fwkmeans.cli.completion:completion", "Print a script for shell completion."),
}


@click.group(
    cls=LazyGroup,
    targets=COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Try: fwkmeans demo, then: fwkmeans fit table.csv. "
    "Exit codes: 0 done, 1 something is wrong with the input, 2 wrong usage, 130 Ctrl-C.",
)
@click.version_option(__version__, prog_name="fwkmeans")
@debug_option
def main() -> None:
    """Clustering that learns which columns matter (feature-weighted K-Means)."""
