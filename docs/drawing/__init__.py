"""Pictures of the documentation; ``docs/pictures.py`` draws them.

``style.py`` has colors, sizes and the pieces that several pictures share, ``start_page.py`` the
pictures of the README and the start page, ``estimators.py``, ``tasks.py`` and ``flows.py`` one
function for each guide.
"""
