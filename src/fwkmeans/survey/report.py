"""The report of the survey as a page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fwkmeans._support.files import replacing
from fwkmeans.reports.figures import series_color, svg
from fwkmeans.reports.page import render_page
from fwkmeans.survey.content import survey_content
from fwkmeans.survey.markdown import READING, about, render_markdown
from fwkmeans.survey.store import Store

# of the lines, in points: solid, dashed, ...
_DASHES = ((1, 0), (5, 2), (6, 2, 1, 2), (1, 1.5), (8, 2), (4, 1, 1, 1, 1, 1))


def write_survey_report(store: Store, html: str | Path, markdown: str | Path) -> list[Path]:
    """Write the results beside the published figures, as a page and as text.

    Parameters
    ----------
    store : Store
        The results.
    html, markdown : str or Path
        The files to write.

    Returns
    -------
    list of Path
        What was written.
    """
    if Path(html).resolve() == Path(markdown).resolve():
        raise ValueError(f"{html} cannot be the page and the text at once. Give two names.")
    content = survey_content(store)
    pages = {Path(html): render_html(content), Path(markdown): render_markdown(content)}
    for path, text in pages.items():
        with replacing(path) as temporary:
            temporary.write_text(text, encoding="utf-8")
    return list(pages)


def render_html(content: dict[str, Any]) -> str:
    """Return the report as one self-contained page."""
    from markupsafe import Markup

    pictures = [
        {
            "title": picture["title"],
            "panels": [
                Markup(_draw(picture, panel, f"curve-{at}-{int(panel['noise'])}"))
                for panel in picture["panels"]
            ],
        }
        for at, picture in enumerate(content["curves"])
    ]
    legend = [
        {
            "name": name,
            "number": number % 10,
            "dashes": " ".join(str(2 * d) for d in _DASHES[number % len(_DASHES)]),
        }
        for number, name in enumerate(content["algorithms"])
    ]
    return render_page(
        "survey.html.jinja",
        title="The survey's experiment, repeated",
        package="fwkmeans.survey",
        about=about(content["run"]),
        reading=READING,
        legend=legend,
        pictures=pictures,
        **content,
    )


def _draw(picture: dict[str, Any], panel: dict[str, Any], name: str) -> str:
    """Return the curves of one table as SVG."""
    lines = panel["lines"]
    noise = "with noise features" if panel["noise"] else "no noise features"

    def draw(axes: Any) -> None:
        for line in lines:
            style = {
                "color": series_color(line["number"]),
                "linestyle": (0, _DASHES[line["number"] % len(_DASHES)]),
                "linewidth": 1.6,
            }
            if line["values"] is None:
                axes.axhline(line["mean"][0], **style)
            else:
                axes.plot(line["values"], line["mean"], **style)
        axes.set_xlabel("parameter")
        axes.set_ylabel("mean ARI")
        axes.set_title(noise, fontsize=10)
        top = max(max(line["mean"]) for line in lines)
        low = min(min(line["mean"]) for line in lines)
        axes.set_ylim(min(0.0, low) - 0.02, max(0.1, 1.08 * top))
        axes.grid(axis="y")

    best = max(lines, key=lambda line: max(line["mean"]))
    at = "" if best["values"] is None else f" at {_argmax(best):g}"
    return svg(
        name,
        draw,
        (4.6, 2.9),
        f"{picture['title']}, {noise}",
        f"Mean adjusted Rand index of {len(lines)} algorithms against their parameter. The highest "
        f"is {max(best['mean']):.2f}, {best['algorithm']}{at}.",
    )


def _argmax(line: dict[str, Any]) -> float:
    return float(line["values"][line["mean"].index(max(line["mean"]))])
