"""Sphinx configuration: ``sphinx-build docs docs/_build/html``.

``-D plot_gallery=0`` shows the examples of the gallery without running them, which the tests do.
"""

import os
import re
import sys
from pathlib import Path
from typing import Any

import polymeans

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_extensions"))

project = "polymeans"
author = "the polymeans developers"
copyright = author
release = version = polymeans.__version__

extensions = [
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.doctest",
    "sphinx.ext.intersphinx",
    "sphinx.ext.mathjax",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "benchmark_tables",
    "whats_new",
]
templates_path = ["_templates"]
exclude_patterns = ["_build", "Thumbs.db"]
default_role = "code"
nitpicky = False

html_theme = "pydata_sphinx_theme"
html_title = "polymeans"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": "polymeans"},
    "header_links_before_dropdown": 7,
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "navbar_persistent": ["search-button"],
    "show_prev_next": False,
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "footer_start": ["copyright"],
    "footer_end": ["sphinx-version"],
}
html_sidebars = {
    "index": [],
    "tutorial": [],
    "which_estimator": [],
    "benchmarks": [],
    "whats_new": [],
    "coming_from": [],
}

autosummary_generate = True
autodoc_typehints = "none"  # the numpydoc sections say it in words
autodoc_inherit_docstrings = True
numpydoc_show_class_members = False  # the template of a class shows all methods
numpydoc_class_members_toctree = False
toc_object_entries_show_parents = "hide"  # fit(), not KMeans.fit(): the margin is narrow

# References to other projects become links if their inventories can be fetched. Builds without a
# network, such as the test of this site, leave them as plain names.
intersphinx_mapping = {}
if os.environ.get("POLYMEANS_DOCS_ONLINE"):
    intersphinx_mapping = {
        "numpy": ("https://numpy.org/doc/stable", None),
        "python": ("https://docs.python.org/3", None),
        "scipy": ("https://docs.scipy.org/doc/scipy", None),
        "sklearn": ("https://scikit-learn.org/stable", None),
    }

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "ignore_pattern": r"flower",
    "doc_module": ("polymeans",),
    "backreferences_dir": "generated/backreferences",
    "reference_url": {"polymeans": None},
    "show_memory": False,
    "show_signature": False,
    "download_all_examples": False,
    "remove_config_comments": True,
    "default_thumb_file": str(HERE / "_static" / "card-kmeans.png"),
}


def literal_shapes(
    app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]
) -> None:
    """In "of shape (n_samples, n_clusters_)", keep names that end with an underscore from links."""
    for number, line in enumerate(lines):
        if " shape (" in line or " shapes (" in line:
            lines[number] = re.sub(r"(?<![`\w])(\w+_)(?=[,)])", r"``\1``", line)


def plain_references(
    app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]
) -> None:
    """Turn references into scikit-learn's own pages, in methods that come from it, into text."""
    home = getattr(obj, "__module__", None) or ""
    if not home.startswith("sklearn"):
        return
    for number, line in enumerate(lines):
        line = re.sub(r":ref:`([^`<]+?)\s*<[^`>]+>`", r"\1", line)
        line = re.sub(r":ref:`([^`]+)`", r"*\1*", line)
        lines[number] = re.sub(r":term:`([^`]+)`", r"*\1*", line)


def setup(app: Any) -> None:
    """Connect what this file adds."""
    app.connect("autodoc-process-docstring", literal_shapes, priority=100)  # before numpydoc
    app.connect("autodoc-process-docstring", plain_references, priority=900)
