"""The shell of every page: one file that needs nothing else, not even a network."""

from __future__ import annotations

import base64
import hashlib
from importlib.resources import files
from typing import Any

from fwkmeans._support.optional import require
from fwkmeans._support.text import count, number, percent, rounded, shortened, two_decimals

_HOME = "fwkmeans.reports"


def render_page(template: str, *, title: str, package: str = _HOME, **context: Any) -> str:
    """Return a self-contained page.

    A template extends ``base.html.jinja`` and fills its block ``content`` (and, if the page needs
    them, ``title``, ``header`` and ``footer``). Style and script are put into the page. The script
    serves all pages, by attributes:

    * ``<table class="sortable">``: headers with ``data-sort`` become buttons that sort by the
      ``data-value`` of the cells, or their text.
    * ``<button data-toggle="id">``: shows and hides the element with that id; it starts hidden if
      the button has ``data-start="hidden"``. In print everything is shown.
    * ``<button data-toggle-all="class">``: shows or hides all of a class that have toggles.
    * ``<button data-layer="id">``: shows and hides a part of a picture.
    * ``<table data-most="10">``: only so many rows are shown until ``<button data-more="id">`` is
      pressed, and always all of them on paper.
    * ``<select data-axis="x">``: redraws the map by a column of the element ``map-data``.

    Buttons have the classes ``control needs-script``, toggles a ``<span class="verb">`` in them.
    Wide tables go into ``<div class="scroll" tabindex="0" role="region" aria-label="...">``, the
    text of a caption into a span. Cells of class ``heat`` and bars
    (``<span class="meter"><span>``) show the value of ``--w``, from 0 to 1. Colors are the
    variables of the stylesheet.

    Parameters
    ----------
    template : str
        File name of the template in the folder ``templates`` of `package`.
    title : str
        Title of the page.
    package : str, default="fwkmeans.reports"
        Package that has the template.
    **context : object
        What the template shows. All text is escaped; `markupsafe.Markup` is not.

    Returns
    -------
    page : str
        The page.

    Raises
    ------
    ImportError
        If jinja2 is not installed.
    """
    jinja2 = require("jinja2", "Reports", "report")
    markup = require("markupsafe", "Reports", "report").Markup
    packages = dict.fromkeys((package, _HOME))
    environment = jinja2.Environment(
        loader=jinja2.ChoiceLoader([jinja2.PackageLoader(name, "templates") for name in packages]),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "number": number,
        "percent": percent,
        "rounded": rounded,
        "shortened": shortened,
        "two_decimals": two_decimals,
    }
    environment.globals |= {"count": count}
    script = _read("page.js")
    page: str = environment.get_template(template).render(
        title=title,
        stylesheet=markup(_read("page.css")),
        script=markup(script),
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        **context,
    )
    return page


def _read(name: str) -> str:
    return files(_HOME).joinpath("templates", name).read_text("utf-8").strip()
