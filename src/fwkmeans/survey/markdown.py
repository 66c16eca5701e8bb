"""The report of the survey as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from fwkmeans._support.text import count

#: How to read the tables.
READING = (
    "A cell shows mean/standard deviation of the adjusted Rand index over the starts at the best "
    "value of the parameter, the maximum, and that value; below it what the survey printed. Then "
    "the difference of the means ± its standard error (from the starts of both runs, 100 each in "
    "the survey). ≈ says that they agree within two standard errors and the rounding of the "
    "printed figure, ▲ and ▼ that ours is higher or lower. A deterministic algorithm has one "
    "figure and no error: ≈ are the same two decimals. Synthetic data sets were drawn anew, so "
    "there the error is that of the mean over data sets. The draw of the published noise features "
    "is unknown: the error allows for that draw only where we have several draws ourselves."
)


def render_markdown(content: dict[str, Any]) -> str:
    """Return the report as text."""
    return "\n".join(_lines(content)) + "\n"


def _lines(content: dict[str, Any]) -> Iterator[str]:
    run = content["run"]
    yield "# The survey's experiment, repeated"
    yield ""
    yield about(run)
    if content["agreement"]:
        yield ""
        yield READING
    if content["agreement"]:
        yield from section("Agreement with the published figures")
        yield from markdown_table(
            ["algorithm", "figures", "agree", "ours higher", "ours lower", "within 0.05", "median"],
            [
                [
                    row["algorithm"],
                    row["n"],
                    row["agree"],
                    row["higher"],
                    row["lower"],
                    row["within"],
                    "–" if row["median"] is None else f"{row['median']:.3f}",
                ]
                for row in content["agreement"]
            ],
        )
    for block in content["blocks"]:
        yield from section(block["title"])
        rows = [[row["title"], *map(_cell, row["cells"])] for row in block["rows"]]
        yield from markdown_table(["table", *content["algorithms"]], rows)
    if content["short"]:
        yield from section("Clusters that were lost")
        yield "Starts at the best value that ended with fewer clusters than asked for."
        yield ""
        yield from markdown_table(
            ["algorithm", "table", "noise", "starts"],
            [
                [
                    row["algorithm"],
                    row["title"],
                    "with" if row["noise"] else "no",
                    f"{row['short']} of {row['n']}",
                ]
                for row in content["short"]
            ],
        )
    if content["wins"]:
        yield from section("Who is best how often")
        yield "Ours, and in brackets as published. Ties, to two decimals, count for all of them."
        yield ""
        names = [count["algorithm"] for count in content["wins"][0]["counts"]]
        rows = [
            [f"{row['title']} ({row['n']})"]
            + [f"{count['ours']} ({count['published']})" for count in row["counts"]]
            for row in content["wins"]
        ]
        yield from markdown_table(["", *names], rows)
    yield from section("Eight characteristics")
    yield "What the estimators declare of themselves; an asterisk where the survey's table differs."
    yield ""
    rows = [
        [f"{row['algorithm']} (`{row['class']}`)"]
        + [
            ("yes" if answer else "") + ("*" if differs else "")
            for answer, differs in zip(row["declared"], row["differs"], strict=True)
        ]
        for row in content["traits"]
    ]
    yield from markdown_table(["algorithm", *content["trait_names"]], rows)


def about(run: dict[str, Any]) -> str:
    """Return what was run, in a sentence or two."""
    text = (
        f"{count(run['n_algorithms'], 'algorithm')} on {count(run['n_tables'], 'table')}, "
        f"{count(run['starts'], 'random start')} at every value of the parameter"
    )
    if run["data_sets"]:
        text += f", {count(run['data_sets'], 'data set')} of every synthetic configuration"
    if run["draws"]:
        text += f", {count(run['draws'], 'draw')} of the noise features"
    text += "."
    if run["minutes"] is not None:
        return text + f" {run['fits']:,} fits took {run['minutes']:.1f} minutes."
    if run["left_out"]:
        text += (
            f" The file holds {count(run['left_out'], 'other cell')}, of other seeds or fewer "
            "starts, which are not shown."
        )
    return text


def section(title: str) -> Iterator[str]:
    """Yield the heading of a section."""
    yield ""
    yield f"## {title}"
    yield ""


def _cell(cell: dict[str, Any] | None) -> str:
    if cell is None:
        return ""
    mean = cell["max"] if cell["deterministic"] else f"{cell['mean']} max {cell['max']}"
    text = f"{f'**{mean}**' if cell['best'] else mean} at {cell['parameter']}"
    text = text.removesuffix(" at –")
    theirs = cell["published"]
    if theirs is None:
        return text
    printed = f"{theirs['mean']} max {theirs['max']} at {theirs['parameter']}"
    printed = printed.removeprefix("– max ").removesuffix(" at –")
    words = f"<br>{cell['mark']} {cell['words']}" if cell["mark"] else ""
    return f"{text}<br>{printed}{words}"


def markdown_table(header: Sequence[Any], rows: Sequence[Sequence[Any]]) -> Iterator[str]:
    """Yield the lines of a table."""
    yield _row(header)
    yield _row(["---"] * len(header))
    for row in rows:
        yield _row(row)


def _row(cells: Sequence[Any]) -> str:
    return "| " + " | ".join(map(_escaped, cells)) + " |"


def _escaped(cell: Any) -> str:
    """Return text that Markdown shows as it is; line breaks are ours."""
    text = str(cell).replace("|", "\\|").replace("&", "&amp;").replace("<", "&lt;")
    return text.replace("&lt;br>", "<br>")
