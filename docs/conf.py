import inspect
import json
import re
import textwrap
import tomllib
from importlib.util import find_spec
from pathlib import Path

from docutils import nodes
from sphinx_gallery.scrapers import matplotlib_scraper

from fwkmeans.survey.report import render_html

ROOT = Path(__file__).resolve().parent.parent

project = "fwkmeans"
author = "The fwkmeans developers"
copyright = author
release = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
version = release

# No intersphinx: the documentation builds without a network.
extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.extlinks",
    "sphinx.ext.mathjax",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "survey"]  # the pages in survey are included by others
templates_path = ["_templates"]
suppress_warnings = ["config.cache"]  # the function that saves figures cannot be pickled
default_role = "py:obj"
highlight_language = "python"

autosummary_generate = True
autodoc_typehints = "none"  # types are in the numpydoc sections
numpydoc_class_members_toctree = False
numpydoc_show_class_members = False  # the class template lists methods once, with their text


def scrape_figures(block, block_vars, gallery_conf, **kwargs):
    """Save the figures of an example; what `Figure.set_label` says is their alternative text."""
    from matplotlib import pyplot as plt

    labels = iter([plt.figure(number).get_label() for number in plt.get_fignums()])
    markup = matplotlib_scraper(block, block_vars, gallery_conf, **kwargs)
    return re.sub(r"(?<=:alt: ).*", lambda found: next(labels, "") or found[0], markup)


def describe_thumbnails(app, doctree):
    """Give the pictures in the gallery's overview the titles of their examples as texts."""
    examples = ROOT / "examples"
    for image in doctree.findall(nodes.image):
        found = re.search(r"thumb/sphx_glr_(\w+)_thumb", image["uri"])
        if found and not image.get("alt"):
            image["alt"] = (examples / f"{found[1]}.py").read_text("utf-8").splitlines()[1]


sphinx_gallery_conf = {
    "image_scrapers": (scrape_figures,),
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"plot_",
    "within_subsection_order": "ExampleTitleSortKey",
    "backreferences_dir": "gallery/backreferences",
    "doc_module": ("fwkmeans",),
    "abort_on_example_error": True,
    "download_all_examples": False,
    "image_srcset": ["2x"],
    "min_reported_time": 3600,
    "show_signature": False,
    "thumbnail_size": (480, 330),
    "write_computation_times": False,
}
extlinks = {"doi": ("https://doi.org/%s", "doi:%s")}

html_math_renderer = "mathml" if find_spec("latex2mathml") else "mathjax"
html_theme = "pydata_sphinx_theme"
html_title = f"fwkmeans {release}"
html_theme_options = {
    "header_links_before_dropdown": 8,
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "secondary_sidebar_items": ["page-toc"],
    "show_prev_next": False,
    "show_nav_level": 2,
    "footer_start": ["copyright"],
    "footer_end": [],
}
html_sidebars = {
    page: []
    for page in (
        "index",
        "getting_started",
        "which_algorithm",
        "choosing_parameters",
        "label_free_search",
        "mixed_and_missing",
        "own_weight_rule",
        "rows_in_files",
        "command_line",
        "survey_command",
        "replication",
    )
}
html_static_path = ["_static"]
html_extra_path = ["survey/report"]  # the whole comparison, a page of its own, made from its data
REPORT = ROOT / "docs" / "survey" / "report"
REPORT.mkdir(exist_ok=True)
content = json.loads((REPORT.parent / "content.json").read_text("utf-8"))
(REPORT / "survey.html").write_text(render_html(content), encoding="utf-8")
del content
html_css_files = ["custom.css"]
html_show_sourcelink = False


def clean_docstring(app, what, name, obj, options, lines):
    """Hide from docutils what it would misread, before numpydoc sees the lines."""
    # "shape (n_features_in_,)" is no link
    lines[:] = [re.sub(r"(?<![`\w])(n_\w+)_(?=[,)])", r"\1\\_", line) for line in lines]
    # summaries are quoted in tables, where a citation has no list of references to point at
    lines[:1] = [re.sub(r" \[\d+\]_", "", line) for line in lines[:1]]
    if what == "class" and name.startswith("fwkmeans.typing."):  # the source says it best
        source = textwrap.indent(inspect.getsource(obj), "   ")
        lines += ["", ".. code-block:: python", "", *source.splitlines()]


def hide_signature(app, what, name, obj, options, signature, return_annotation):
    """Show no constructor for records and protocols, whose source is shown instead."""
    return ("", "") if name.startswith("fwkmeans.typing.") else None


def visit_math(self, node):
    """Write MathML, which browsers show without a script, so that pages work offline."""
    from latex2mathml.converter import convert

    block = isinstance(node, nodes.math_block)
    # brackets that fit what they hold, where the source sets their size by hand
    latex = re.sub(r"\\[bB]ig([(\[])", r"\\left\1", node.astext())
    latex = re.sub(r"\\[bB]ig([)\]])", r"\\right\1", latex)
    latex = re.sub(r"\\[bB]ig(?=/)", "", latex)
    markup = convert(latex, display="block" if block else "inline")
    self.body.append(f'<div class="formula">{markup}</div>' if block else markup)
    raise nodes.SkipNode


def setup(app):
    """Connect the functions above; numpydoc has priority 500."""
    app.connect("autodoc-process-docstring", clean_docstring, priority=400)
    app.connect("autodoc-process-signature", hide_signature, priority=400)
    app.connect("doctree-read", describe_thumbnails)
    app.add_html_math_renderer("mathml", (visit_math, None), (visit_math, None))
