"""Sphinx configuration: ``sphinx-build docs docs/_build/html``."""

import polymeans

project = "polymeans"
author = "the polymeans developers"
release = version = polymeans.__version__

extensions = [
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.intersphinx",
    "sphinx.ext.mathjax",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "Thumbs.db"]
default_role = "code"
nitpicky = False

html_theme = "pydata_sphinx_theme"
html_title = f"polymeans {release}"
html_theme_options = {"show_prev_next": False, "navigation_with_keys": False}

autosummary_generate = True
autodoc_typehints = "none"  # the numpydoc sections say it in words
numpydoc_show_class_members = True
numpydoc_show_inherited_class_members = False
numpydoc_class_members_toctree = False

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
    "doc_module": ("polymeans",),
    "backreferences_dir": "generated/backreferences",
    "reference_url": {"polymeans": None},
    "show_memory": False,
}
