"""The documents as a site; ``make docs`` builds it, offline, with warnings as errors.

The sources are the Markdown files of this folder, which read well on their own. Sphinx, because the
reference comes from docstrings in NumPy's style, for which autodoc and numpydoc are the tools that
scikit-learn, pandas and SciPy use and keep; MyST, because the pages stay plain Markdown; the pydata theme,
because our readers know its pages. Material for MkDocs, the other candidate, reads such docstrings less
faithfully.
"""

from __future__ import annotations

import re

import vbcgcd

project, author, copyright = "vbcgcd", "the authors of vbcgcd", "the authors of vbcgcd"
version = release = vbcgcd.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "numpydoc"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build"]
templates_path = ["_templates"]

myst_heading_anchors = 4
myst_enable_extensions = ["dollarmath"]

autosummary_generate = True
autodoc_typehints = "none"  # the docstrings say more
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
toc_object_entries_show_parents = "hide"
default_role = "code"  # names in backquotes, as docstrings write them

html_theme = "pydata_sphinx_theme"
html_title = "vbcgcd"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_sidebars = {"index": [], "tutorial": []}
html_theme_options = {
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "show_toc_level": 2,
    "footer_start": ["copyright"],
    "footer_end": [],
    "navbar_end": ["theme-switcher"],
    "secondary_sidebar_items": {"index": [], "**": ["page-toc"]},
}

#: Pages of the repository's root, and where the site has them.
ROOT_PAGES = {"SECURITY.md": "security", "CONTRIBUTING.md": "contributing", "CHANGELOG.md": "changelog"}


def site_links(app, docname, source):
    """Links out of this folder: to the site's own copy of a page, or no link to a file that is not on it."""

    def replace(match):
        text, target = match[1], match[2]
        page = ROOT_PAGES.get(target)
        return f"[{text}](/site/{page}.md)" if page else text

    source[0] = re.sub(r"\[([^\]]*)\]\(\.\./([^)]*)\)", replace, source[0])


def root_links(app, relative_path, parent, source):
    """The same for included pages of the root, whose links begin there."""
    source[0] = re.sub(r"\]\(docs/([^)]*)\)", r"](/\1)", source[0])
    for name, page in ROOT_PAGES.items():
        source[0] = source[0].replace(f"]({name})", f"](/site/{page}.md)")


def without_scikit_learn(app, what, name, obj, skip, options):
    """Leave out what scikit-learn adds to every estimator: its documents have it."""
    return skip or str(getattr(obj, "__module__", "")).startswith("sklearn")


def setup(app):
    """Mend links while sources are read, and choose members."""
    app.connect("autodoc-skip-member", without_scikit_learn)
    app.connect("source-read", site_links)
    app.connect("include-read", root_links)
