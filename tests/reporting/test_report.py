"""Reports: content as plain data, and its forms, for every estimator and kind of rows."""

import base64
import io
import json
import re
import warnings
from html.parser import HTMLParser

import jsonschema
import numpy as np
import pandas as pd
import pytest
from matplotlib.image import imread
from sklearn.datasets import load_digits
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from polymeans import KMeans, NonRedundantKMeans, TransformedKMeans, describe, relabel, report
from polymeans.datasets import make_posts
from polymeans.reporting import SCHEMA
from polymeans.reporting.html import MOST_BYTES
from tests.inspection.models import DEEP, GRIDS, MODELS, N_ROWS, fitted, rows
from tests.reporting.hostile import hostile_strings

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

#: Elements that need no end.
VOID = {"meta", "input", "img", "br"}


class Page(HTMLParser):
    """Elements of a page; notes those that are not closed in order."""

    def __init__(self, page):
        super().__init__(convert_charrefs=True)
        self.open, self.wrong, self.elements, self.texts = [], [], [], []
        self.feed(page)
        self.close()
        self.wrong += self.open

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)

    def handle_data(self, data):
        self.texts.append(data)

    def named(self, tag):
        return [attributes for element, attributes in self.elements if element == tag]


def check_page(page):
    """A page that loads nothing, is small, and whose elements are closed."""
    assert len(page.encode()) < MOST_BYTES
    parsed = Page(page)
    assert not parsed.wrong
    assert len(parsed.named("script")) == 2
    assert not parsed.named("link")
    assert not parsed.named("iframe")
    for tag, attributes in parsed.elements:
        assert not [name for name in attributes if name.startswith("on")], tag
        for name in ("src", "href", "action", "srcdoc"):
            value = attributes.get(name) or "#"
            assert value.startswith(("#", "data:image/png;base64,")), (tag, value)
    ids = [attributes["id"] for _, attributes in parsed.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    return parsed


@pytest.mark.parametrize("kind", ["dense", "csr", "pandas", "blocks"])
@pytest.mark.parametrize("name", MODELS)
def test_every_estimator_on_every_kind_of_rows(name, kind):
    model = fitted(name, kind)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = report(model, rows(kind), y=np.arange(N_ROWS) % 4)
    summary = json.loads(found.json())
    jsonschema.validate(summary, SCHEMA)
    parsed = check_page(found.html())
    text = " ".join(parsed.texts)
    assert type(model).__name__ in text
    n_listed = sum(part["n_clusters"] for part in summary["clusterings"])
    assert len([a for a in parsed.named("tr") if "data-cluster" in a]) == n_listed
    kinds = {"kmeans": None, "cosine": None, "dkm": None, "idec": None}
    kinds |= dict.fromkeys(GRIDS, "grid")
    kinds |= {"quick": "factors", "quick means": "factors", "l1": "sparse"}
    kinds |= {"views": "views", "whitened": "views"}
    structure = summary["structure"]
    assert (structure and structure["kind"]) == kinds.get(name, "space")
    words = {"grid": "Grid of protocentroids", "factors": "Factors", "sparse": "Sparsity"}
    words |= {"views": "Information that views share", "space": "Learned space", None: ""}
    assert words[kinds.get(name, "space")] in text
    assert ("of a dense network" in text) == ("epoch" in text) == (name in DEEP)
    assert found.markdown().startswith("# ")


def test_the_content_is_that_of_describe():
    model, X = fitted("kmeans"), rows("dense")
    summary = report(model, X, n_features=5, n_rows=5).to_dict()
    table = describe(model, X)
    for ours, theirs in zip(summary["clusterings"][0]["clusters"], table):
        assert ours["size"] == theirs.size
        assert ours["silhouette"] == theirs.silhouette
        assert ours["representatives"] == list(theirs.representatives)
    assert summary["convergence"][-1]["iteration"] == len(model.history_)
    assert summary["model"]["inertia"] == model.inertia_
    changed = [p["name"] for p in summary["model"]["parameters"] if not p["default"]]
    assert changed == ["n_clusters", "random_state"]


def test_the_same_rows_give_the_same_report():
    model, X = fitted("kmeans"), rows("dense")
    one, other = (report(model, X).to_dict() for _ in range(2))
    one["created"] = other["created"] = ""
    assert one == other


def test_the_map_shows_a_sample_of_labeled_rows():
    model, X = fitted("kmeans"), rows("dense")
    (found,) = report(model, X, max_points=50).to_dict()["maps"]
    assert len(found["rows"]) == 50
    assert (model.labels_[found["rows"]] == found["labels"]).all()
    assert 0 <= min(found["x"]) <= max(found["x"]) <= 1000
    assert 0 <= min(found["y"]) <= max(found["y"]) <= 700
    # Rows are near their own centroids on average, in the picture too.
    places = np.column_stack([found["x"], found["y"]])
    centers = np.array(found["centers"])
    own = np.linalg.norm(places - centers[found["labels"]], axis=1)
    others = np.linalg.norm(places[:, None] - centers[None], axis=2).mean(axis=1)
    assert own.mean() < others.mean()


@pytest.mark.parametrize("n_clusters", [1, 2])
def test_maps_of_few_clusters_have_two_directions(n_clusters):
    model = KMeans(n_clusters, random_state=0).fit(rows("dense"))
    (found,) = report(model, rows("dense")).to_dict()["maps"]
    assert np.std(found["x"]) > 1
    assert np.std(found["y"]) > 1


@pytest.mark.parametrize("X", [[[1.0, 2.0]], [[1.0]], [[0.0, 0.0]] * 5, [[3.0], [4.0]]])
def test_tiny_inputs(X):
    model = KMeans(1, random_state=0).fit(X)
    found = report(model, X)
    check_page(found.html())
    jsonschema.validate(found.to_dict(), SCHEMA)


@pytest.mark.parametrize("scale", [1e-300, 1e290])
def test_extreme_values_can_be_written(scale):
    X = rows("dense") * scale
    found = report(KMeans(3, random_state=0).fit(X), X)
    json.loads(found.json())
    check_page(found.html())


def test_no_views():
    X = np.random.default_rng(0).normal(size=(200, 3))
    found = report(NonRedundantKMeans("auto", random_state=0).fit(X), X)
    assert "No views were found" in " ".join(check_page(found.html()).texts)


def test_three_sets_have_three_grids():
    from polymeans import KhatriRaoKMeans

    model = KhatriRaoKMeans((2, 2, 2), effort=0.05, random_state=0).fit(rows("dense"))
    structure = report(model, rows("dense")).to_dict()["structure"]
    assert len(structure["grids"]) == 3
    assert all(np.sum(grid["sizes"]) == N_ROWS for grid in structure["grids"])


def test_views_share_what_their_labels_share():
    from polymeans.metrics import mutual_information_matrix

    model = fitted("views")
    structure = report(model, rows("dense")).to_dict()["structure"]
    expected = mutual_information_matrix(model.labels_per_view_)
    np.testing.assert_allclose(structure["shared"], expected, atol=1e-12)


def decoded(summary, at):
    """A picture of the atlas, from 0 to 1."""
    atlas = summary["pictures"]["atlas"]
    sheet = imread(io.BytesIO(base64.b64decode(atlas["png"].partition(",")[2])), format="png")
    height, width = atlas["height"], atlas["width"]
    top, left = at // atlas["columns"] * height, at % atlas["columns"] * width
    return sheet[top : top + height, left : left + width]


def test_a_model_without_history():
    X = rows("dense")
    model = KMeans(3, random_state=0).partial_fit(X)
    found = report(model, X)
    assert found.to_dict()["convergence"] == []
    assert "keeps no history" in " ".join(check_page(found.html()).texts)


def test_pictures_are_in_the_units_of_the_given_rows():
    X = load_digits().data[:300]
    model = make_pipeline(StandardScaler(), KMeans(3, random_state=0)).fit(X)
    summary = report(model, X, image_shape=(8, 8)).to_dict()
    labels = model.predict(X)
    for c, at in enumerate(summary["pictures"]["centers"]["clusters"]):
        mean = X[labels == c].mean(axis=0).reshape(8, 8)
        np.testing.assert_allclose(decoded(summary, at), mean / X.max(), atol=0.02)
    assert summary["clusterings"][0]["clusters"][0]["features"][0]["name"].startswith("pixel ")


# --- images and texts --------------------------------------------------------------------------


def test_images_are_pictures_of_rows():
    X = load_digits().data[:300]
    model = KMeans(4, random_state=0).fit(X)
    summary = report(model, X, image_shape=(8, 8)).to_dict()
    jsonschema.validate(summary, SCHEMA)
    for row, at in summary["pictures"]["rows"].items():
        expected = X[int(row)].reshape(8, 8) / X.max()
        np.testing.assert_allclose(decoded(summary, at), expected, atol=0.02)
    for cluster in summary["clusterings"][0]["clusters"]:
        assert str(cluster["representatives"][0]) in summary["pictures"]["rows"]


@pytest.mark.parametrize("shape", [(20, 8, 3), (120, 140)])
def test_images_in_color_and_large_ones(shape):
    X = np.random.default_rng(0).random((30, int(np.prod(shape))))
    found = report(KMeans(3, random_state=0).fit(X), X, image_shape=shape)
    atlas = found.to_dict()["pictures"]["atlas"]
    assert max(atlas["height"], atlas["width"]) <= 70
    check_page(found.html())


def test_images_of_blocks_views_and_grids():
    X = load_digits().data[:240]
    from polymeans import KhatriRaoKMeans
    from polymeans.blocks import from_sequence

    blocks = from_sequence(X, block_rows=50)
    model = KMeans(3, random_state=0).fit(X)
    one, other = (report(model, some, image_shape=(8, 8)).to_dict() for some in (X, blocks))
    assert one["pictures"] == other["pictures"]
    for model in (KhatriRaoKMeans((2, 2), effort=0.1), NonRedundantKMeans((2, 2), effort=0.1)):
        found = report(model.fit(X), X, image_shape=(8, 8))
        check_page(found.html())
        jsonschema.validate(found.to_dict(), SCHEMA)


@pytest.mark.parametrize("images", [(8, 9), (8,), "8x8", (8, 8, 4), 8, (0, 7)])
def test_images_that_do_not_fit(images):
    with pytest.raises(ValueError, match="image_shape"):
        report(fitted("kmeans"), rows("dense"), image_shape=images)


def test_texts_are_shown():
    posts, topics = make_posts(200, n_topics=3, random_state=0)
    model = make_pipeline(TfidfVectorizer(), KMeans(3, metric="cosine", random_state=0)).fit(posts)
    found = report(model, posts, y=topics)
    summary = found.to_dict()
    first = summary["clusterings"][0]["clusters"][0]["representatives"][0]
    assert summary["texts"][str(first)].startswith(posts[first][:100])
    assert posts[first][:60] in " ".join(check_page(found.html()).texts)
    assert summary["model"]["steps"] == ["TfidfVectorizer", "KMeans"]
    X = model[0].transform(posts)
    again = report(model[-1], X, model[0].get_feature_names_out(), topics, texts=posts).to_dict()
    assert again["texts"] == summary["texts"]
    with pytest.raises(ValueError, match="one entry for each of 200 rows"):
        report(model, posts, texts=posts[:-1])


def test_a_pipeline_on_a_frame():
    frame = rows("pandas")
    model = make_pipeline(StandardScaler(), KMeans(3, random_state=0)).fit(frame)
    parsed = check_page(report(model, frame).html())
    assert "StandardScaler → KMeans" in " ".join(parsed.texts)


# --- stability ---------------------------------------------------------------------------------


def test_stability_by_seeds():
    X = np.repeat([[0.0, 0.0], [9.0, 0.0], [0.0, 9.0]], 20, axis=0)
    X = X + np.random.default_rng(0).normal(size=X.shape)
    model = KMeans(3, random_state=0, n_init=3).fit(X)
    found = report(model, X, stability=3)
    content = found.to_dict()["stability"]
    assert content["mean"] == 1.0
    assert content["per_cluster"] == [1.0, 1.0, 1.0]
    assert "nearly the same clusters" in " ".join(check_page(found.html()).texts)
    pipeline = make_pipeline(StandardScaler(), model).fit(X)
    assert report(pipeline, X, stability=2).to_dict()["stability"]["mean"] == 1.0


def test_stability_that_is_given():
    class Found:
        scores_ = np.array([0.5, 0.7])
        per_cluster_ = None

    for given in (Found(), {"scores": [0.5, 0.7]}, {"mean": 0.6}):
        found = report(fitted("kmeans"), rows("dense"), stability=given)
        assert found.to_dict()["stability"]["mean"] == pytest.approx(0.6)
        check_page(found.html())

    class Repeated:
        mean_ = 0.8
        scores_ = np.array([[1.0, 0.7], [0.7, 1.0]])
        per_cluster_ = np.array([0.1, 0.2, 0.3, 0.4, 0.5])
        vary_ = "rows"
        estimator_ = relabel(fitted("kmeans"), [4, 3, 2, 1, 0])

    content = report(fitted("kmeans"), rows("dense"), stability=Repeated()).to_dict()["stability"]
    assert content["scores"] == [0.7]
    assert content["per_cluster"] == [0.5, 0.4, 0.3, 0.2, 0.1]
    assert "other rows" in content["method"]
    with pytest.raises(TypeError, match="stability must be"):
        report(fitted("kmeans"), rows("dense"), stability=object())
    with pytest.raises(ValueError, match="stability"):
        report(fitted("kmeans"), rows("dense"), stability=0)


# --- forms -------------------------------------------------------------------------------------


def test_files_are_written_by_their_ends(tmp_path):
    found = report(fitted("kmeans"), rows("dense"), title="A title")
    for name in ("a.html", "a.md", "a.json"):
        path = found.save(tmp_path / name)
        assert "A title" in path.read_text(encoding="utf-8").replace("\\", "")
    with pytest.raises(ValueError, match=r"\.html, \.md or \.json"):
        found.save(tmp_path / "a.pdf")
    assert not (tmp_path / "a.pdf").exists()


def test_a_notebook_shows_it_in_a_frame_that_can_do_nothing():
    shown = report(fitted("kmeans"), rows("dense"))._repr_html_()
    parsed = Page(shown)
    (frame,) = parsed.named("iframe")
    assert frame["sandbox"] == "allow-scripts"
    assert frame["srcdoc"].startswith("<!doctype html>")
    assert "A title" not in repr(shown)


def test_markdown_has_a_table_of_clusters():
    text = report(fitted("kmeans"), rows("pandas")).markdown()
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    assert any(line.startswith("| cluster | rows ") for line in lines)
    widths = {len(re.findall(r"(?<!\\)\|", line)) for line in lines if "typical" in line}
    assert widths == {9}


def test_nothing_is_printed(capfd):
    report(fitted("kmeans"), rows("dense")).html()
    captured = capfd.readouterr()
    assert not captured.out
    assert not captured.err


def test_many_clusters_stay_below_a_megabyte():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 20))
    model = KMeans(1200, max_iter=2, random_state=0).fit(X)
    names = [f"a rather long name of a feature, number {j}" for j in range(20)]
    found = report(model, X, names, texts=["word " * 60] * 3000, max_points=3000)
    parsed = check_page(found.html())
    assert "largest of" in " ".join(parsed.texts)
    assert len(found.to_dict()["clusterings"][0]["clusters"]) == 1200


def test_large_pictures_stay_below_a_megabyte():
    X = np.random.default_rng(0).random((1500, 48 * 48))  # noise cannot be compressed
    found = report(KMeans(30, max_iter=2, random_state=0).fit(X), X, image_shape=(48, 48))
    check_page(found.html())


# --- hostile texts -----------------------------------------------------------------------------


def hostile_report(n=1000):
    """A report all of whose names, values and texts are hostile."""
    rng = np.random.default_rng(0)
    names = hostile_strings(n)
    X = np.abs(rng.normal(size=(n, n)))
    for j in range(n):  # each feature is large in one row, so that all of them are listed
        X[j, j] += 50
    model = KMeans(n // 20, max_iter=3, random_state=0).fit(X)
    y = {names[i]: rng.choice(names[:40], n) for i in range(3)}
    y = {str(key).encode("utf-8", "replace").decode(): value for key, value in y.items()}
    return names, report(model, X, names, y, texts=names, title=names[0], n_features=12, n_rows=12)


@pytest.fixture(scope="module")
def hostile():
    return hostile_report()


def test_hostile_strings_leave_the_page_intact(hostile):
    _, found = hostile
    parsed = check_page(found.html())
    assert {element for element, _ in parsed.elements} == {
        element
        for element, _ in Page(
            report(fitted("kmeans"), rows("dense"), y=["a"] * N_ROWS).html()
        ).elements
    } | {"bdi"}
    text = "".join(parsed.texts)
    assert "<script>window.pwned=1</script>" in text  # shown as text


def test_hostile_strings_stay_in_their_cells(hostile):
    _, found = hostile
    text = found.markdown()
    assert "<script" not in text.replace("\\<", "")
    lines = [line for line in text.splitlines() if line.startswith("|")]
    widths = [len(re.findall(r"(?<!\\)\|", line)) for line in lines]
    assert set(widths[5:40]) == {9}
    jsonschema.validate(json.loads(found.json()), SCHEMA)


def test_kernels_without_centroids_have_a_map():
    X = rows("dense")
    model = TransformedKMeans(3, kernel="rbf", n_init=1, random_state=0).fit(X)
    (found,) = report(model, pd.DataFrame(X)).to_dict()["maps"]
    assert len(found["rows"]) == N_ROWS
