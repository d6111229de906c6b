"""A clustering as a document."""

import json
from collections.abc import Sequence
from copy import deepcopy
from html import escape
from os import PathLike
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from polymeans.reporting.html import render_html
from polymeans.reporting.markdown import render_markdown
from polymeans.reporting.summary import summarize


class Report:
    """What there is to say about a fitted clustering, as HTML, Markdown, JSON or plain data.

    Made by :func:`polymeans.report`. It shows itself in a notebook.

    Parameters
    ----------
    summary : dict
        Content, as ``polymeans.reporting.SCHEMA`` describes it.

    See Also
    --------
    polymeans.report : Makes it.
    polymeans.describe : The table of clusters alone.

    Examples
    --------
    >>> from polymeans import KMeans, report
    >>> from sklearn.datasets import load_iris
    >>> iris = load_iris()
    >>> model = KMeans(3, random_state=0).fit(iris.data)
    >>> found = report(model, iris.data, iris.feature_names, title="Iris")
    >>> found.markdown().splitlines()[0]
    '# Iris'
    """

    def __init__(self, summary: dict[str, Any]) -> None:
        self._summary = summary

    def to_dict(self) -> dict[str, Any]:
        """The content as plain data.

        Returns
        -------
        summary : dict
            As ``polymeans.reporting.SCHEMA`` describes it; a copy.
        """
        return deepcopy(self._summary)

    def html(self) -> str:
        """The content as one page without any other file.

        Returns
        -------
        page : str
            HTML of less than 1 MB. Where the content would exceed that, fewer points and rows are
            shown, and the page says so.
        """
        return render_html(self._summary)

    def markdown(self) -> str:
        """The content as Markdown, without the map and pictures.

        Returns
        -------
        text : str
            Headings and tables.
        """
        return render_markdown(self._summary)

    def json(self) -> str:
        """The content as JSON.

        Returns
        -------
        text : str
            As ``polymeans.reporting.SCHEMA`` describes it.
        """
        return json.dumps(self._summary, ensure_ascii=False, allow_nan=False)

    def save(self, path: str | PathLike[str]) -> Path:
        """Write the report to a file.

        Parameters
        ----------
        path : path
            The form follows from its end: ``.html``, ``.md`` or ``.json``.

        Returns
        -------
        path : Path
            Where it was written.
        """
        path = Path(path)
        forms = {".html": self.html, ".htm": self.html, ".md": self.markdown, ".json": self.json}
        write = forms.get(path.suffix.lower())
        if write is None:
            raise ValueError(
                f"path must end in .html, .md or .json, got {str(path)!r}. The end decides in "
                "which form the report is written."
            )
        # Characters that no file can hold, such as halves of a pair, become question marks.
        path.write_bytes(write().encode("utf-8", "replace"))
        return path

    def __repr__(self) -> str:
        return f"<Report: {self._summary['title']}; save('report.html') writes it>"

    def _repr_html_(self) -> str:
        page = escape(self.html(), quote=True)
        style = "width:100%;height:720px;border:0;border-radius:8px"
        title = escape(self._summary["title"], quote=True)
        return (
            f'<iframe sandbox="allow-scripts" title="{title}" style="{style}" '
            f'srcdoc="{page}"></iframe>'
        )


def report(
    model: Any,
    X: Any,
    feature_names: Sequence[Any] | None = None,
    y: Any = None,
    *,
    image_shape: Sequence[int] | None = None,
    texts: Sequence[Any] | None = None,
    stability: Any = None,
    title: str | None = None,
    max_points: int = 1500,
    n_features: int = 6,
    n_rows: int = 6,
    sample_weight: ArrayLike | None = None,
) -> Report:
    """A fitted clustering as one HTML file: what was fitted, what is in it, how good it is.

    **Idea.** The content is computed once, as plain data, and written as HTML, Markdown or JSON.
    The page has a table of the clusters that can be sorted and searched, a map of a sample of the
    rows that is linked to it, sizes, convergence, quality, and a panel for the structure: the grid
    of protocentroids, factors, views and what they share, the learned space. It loads nothing, has
    less than 1 MB, follows the light or dark scheme of the reader, and can be printed.

    **Use when** you want to look into a clustering, hand it to a colleague, or keep it beside the
    model. **Do not use** to choose among models: a report is about one.

    **Cost.** That of :func:`polymeans.describe`: one pass over the rows. Then a fraction of a
    second for the page. Blocks whose rows are shown as images are read a second time where
    they have such rows. ``stability=n`` takes n fits.

    Parameters
    ----------
    model : estimator
        A fitted clustering, or a Pipeline that ends in one.
    X : array-like, CSR matrix or array, frame, Blocks or Dask collection
        Rows to describe, as ``predict`` takes them. Of a Pipeline, features are those of X if all
        of them are numbers, else those that the last step sees.
    feature_names : sequence of str, default=None
        Names of the features. None: the columns of a frame, what the Pipeline or the fit knows,
        else numbers.
    y : array-like of shape (n_samples,), frame, dict or str, default=None
        A column to compare with, such as known classes, or several named ones; each gives a
        crosstab. A column of more than 30 different numbers gives their mean and standard deviation
        in each cluster (pass codes of so many classes as text). A name: that column of the frame X,
        if the model was not fitted to it.
    image_shape : tuple of int, default=None
        Rows are images of (height, width), or (height, width, 3) for colors: centroids and rows
        are shown as such, large values bright.
    texts : sequence of str, default=None
        Text of each row. None: X itself, where it is a list of texts for a Pipeline.
    stability : None, int, dict or object, default=None
        An integer: as many fits with other seeds are compared with this one. A dict, or an object
        with attributes (a final underscore is allowed): ``scores`` (agreement of each run, or of
        each pair of runs as a square, 1 for the same clusters), ``mean`` of them, ``per_cluster``
        and ``method`` in words; one of the first two is enough. Where ``estimator`` is there,
        ``per_cluster`` is about its clusters, which are matched with those of the model.
    title : str, default=None
        Of the page. None: the estimator and its number of clusters.
    max_points : int, default=1500
        Rows on the map, drawn at random if there are more.
    n_features : int, default=6
        Features of each cluster to list. Dense rows: those whose mean differs most from that of all
        rows, in standard deviations. CSR rows: those whose mean exceeds that of all rows most.
    n_rows : int, default=6
        Nearest and farthest rows of each cluster to list.
    sample_weight : array-like of shape (n_samples,), default=None
        How much each row counts. None: all alike.

    Returns
    -------
    report : Report
        ``save("report.html")`` writes it; in a notebook it shows itself.

    See Also
    --------
    describe : The table of clusters alone.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from polymeans import KMeans, report
    >>> iris = load_iris()
    >>> model = KMeans(3, random_state=0).fit(iris.data)
    >>> found = report(model, iris.data, iris.feature_names, iris.target_names[iris.target])
    >>> found
    <Report: KMeans with 3 clusters; save('report.html') writes it>
    >>> len(found.html()) < 1_000_000, found.to_dict()["data"]["n_samples"]
    (True, 150)
    """
    return Report(
        summarize(
            model,
            X,
            feature_names,
            y,
            images=image_shape,
            texts=texts,
            stability=stability,
            title=title,
            max_points=max_points,
            n_features=n_features,
            n_rows=n_rows,
            sample_weight=sample_weight,
        )
    )
