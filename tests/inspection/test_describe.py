"""Tables of clusters: against plain loops, for every estimator and kind of rows."""

import json
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.decomposition import TruncatedSVD
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from polymeans import KMeans, NonRedundantKMeans, TransformedKMeans, describe
from polymeans.blocks import from_sequence
from polymeans.datasets import make_posts
from tests.inspection.models import DEEP, GRIDS, MODELS, N_ROWS, fitted, rows


def slow_features(X, labels, cluster, weights, n, sparse):
    """The features that set a cluster apart, by plain means and deviations."""
    mine = labels == cluster
    if not weights[mine].sum():
        return []
    found = []
    for j in range(X.shape[1]):
        overall = np.average(X[:, j], weights=weights)
        deviation = np.sqrt(np.average((X[:, j] - overall) ** 2, weights=weights))
        mean = np.average(X[mine, j], weights=weights[mine])
        scaled = (mean - overall) / deviation if deviation > 1e-12 else 0.0
        found.append((-(mean - overall) if sparse else -abs(scaled), j, scaled, mean, overall))
    return [each[1:] for each in sorted(found)[:n] if each[0] < 0]


def labels_of(model, kind, name):
    """Labels in a clustering that a table names."""
    X = rows(kind)
    if name.startswith("view"):
        return np.asarray(model.predict_views(X))[:, int(name[5:])]
    if name.startswith("set"):
        return np.asarray(model.predict_protolabels(X))[:, int(name[4:])]
    return np.asarray(model.predict(X))


def places_of(model, kind, name):
    """Rows and centroids in the coordinates of a clustering, and the metric."""
    X = rows(kind)
    if name.startswith("view"):
        view = int(name[5:])
        return (
            np.asarray(model.transform_view(rows("dense"), view)),
            np.asarray(model.transform_view(np.asarray(model.centroids_per_view_[view]), view)),
            "euclidean",
        )
    if getattr(model, "centroids_in_space_", None) is not None:
        inside = model.transform(rows("csr") if "csr" in kind else rows("dense"))
        return np.asarray(inside), model.centroids_in_space_, "euclidean"
    if hasattr(model, "n_latent_"):
        return np.asarray(model.transform(X)), model.cluster_centers_, "euclidean"
    dense = rows("dense")
    cosine = "cosine" in (getattr(model, "metric", ""), getattr(model, "metric_", ""))
    assert X is not None
    return dense, model.cluster_centers_, "cosine" if cosine else "euclidean"


def slow_distances(places, centers, metric):
    if metric == "euclidean":
        return np.sqrt(((places[:, None].astype(float) - centers[None]) ** 2).sum(axis=2))
    lengths = np.linalg.norm(places, axis=1)[:, None] * np.linalg.norm(centers, axis=1)
    return 1 - np.divide(places @ centers.T, lengths, out=np.zeros_like(lengths), where=lengths > 0)


def check_rows(table, name, model, kind):
    labels = labels_of(model, kind, name)
    described = table.of(name)
    sizes = np.bincount(labels, minlength=len(described))
    assert [row.size for row in described] == sizes.tolist()
    np.testing.assert_allclose([row.share for row in described], sizes / N_ROWS)
    dense = rows("dense")
    for row in described:
        expected = slow_features(dense, labels, row.cluster, np.ones(N_ROWS), 3, "csr" in kind)
        found = [(f.index, f.difference, f.mean, f.overall) for f in row.features]
        assert [f[0] for f in found] == [f[0] for f in expected]
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
        assert all(labels[i] == row.cluster for i in (*row.representatives, *row.suspects))
        assert len(row.representatives) == min(4, row.size)
    if name.startswith("set"):
        return
    places, centers, metric = places_of(model, kind, name)
    table_of = slow_distances(places, centers, metric)
    own = table_of[np.arange(N_ROWS), labels]
    for row in described:
        mine = own[labels == row.cluster]
        if not len(mine):
            continue
        assert row.spread == pytest.approx(mine.mean(), rel=1e-4, abs=1e-5)
        near, far = np.sort(mine)[:4], np.sort(mine)[::-1][:4]
        np.testing.assert_allclose(own[list(row.representatives)], near, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(own[list(row.suspects)], far, rtol=1e-4, atol=1e-5)
        others = np.delete(table_of[labels == row.cluster], row.cluster, axis=1).min(axis=1)
        silhouettes = (others - mine) / np.maximum(np.maximum(others, mine), 1e-300)
        assert row.silhouette == pytest.approx(silhouettes.mean(), rel=1e-4, abs=1e-4)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    "kind", ["dense", "float32", "csr", "pandas", "polars", "blocks", "csr blocks"]
)
@pytest.mark.parametrize("name", MODELS)
def test_every_estimator_on_every_kind_of_rows(name, kind):
    model = fitted(name, kind)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table = describe(model, rows(kind), n_features=3, n_rows=4)
    names = [part.name for part in table.clusterings]
    expected = {"views": ["view 0", "view 1"], "whitened": ["view 0", "view 1"]}
    expected |= {key: ["cells", "set 0", "set 1"] for key in GRIDS}
    assert names == expected.get(name, ["clusters"])
    for each in names:
        check_rows(table, each, model, kind)
    assert ("distances in the latent space of" in str(table)) == (name in DEEP)
    assert "<table>" in table._repr_html_()
    json.dumps(table.to_dict(), allow_nan=False)
    if kind in ("pandas", "polars"):
        assert table.rows[0].features[0].name.startswith("f")
        assert type(table.to_frame()).__module__.startswith(kind)


def test_weights_count_in_means_and_shares():
    X, rng = rows("dense"), np.random.default_rng(1)
    weights = rng.random(N_ROWS)
    model = KMeans(4, random_state=0).fit(X, sample_weight=weights)
    table = describe(model, X, sample_weight=weights, n_features=2)
    labels = model.labels_
    for row in table:
        assert row.weight == pytest.approx(weights[labels == row.cluster].sum())
        expected = slow_features(X, labels, row.cluster, weights, 2, False)
        np.testing.assert_allclose(
            [(f.index, f.difference) for f in row.features], [f[:2] for f in expected], rtol=1e-6
        )
    blocks = from_sequence(X, weights=weights, block_rows=50)
    for ours, theirs in zip(table, describe(model, blocks, n_features=2)):
        assert theirs.share == pytest.approx(ours.share)
        assert theirs.representatives == ours.representatives


def test_blocks_are_read_once():
    from tests.out_of_core.sources import uneven

    X = rows("dense")[:240]
    source = uneven(np.ascontiguousarray(np.concatenate([X, X])[:300]))
    model = KMeans(3, random_state=0).fit(X)
    describe(model, source, y=np.arange(300) % 2)
    assert source.reads == list(range(len(source)))


@pytest.mark.parametrize("n", [1, 2, 3])
def test_few_rows(n):
    X = rows("dense")[:n]
    model = KMeans(1, random_state=0).fit(X)
    table = describe(model, X)
    assert [row.size for row in table] == [n]
    assert table.clusterings[0].silhouette is None
    assert table.rows[0].nearest == -1


def test_clusters_without_rows_are_listed():
    X = np.repeat([[0.0, 1.0], [5.0, 5.0]], 10, axis=0)
    with pytest.warns(Warning, match="distinct"):
        model = KMeans(4, random_state=0).fit(X)
    table = describe(model, X)
    assert len(table) == 4
    assert table.clusterings[0].n_empty == 2
    empty = [row for row in table if not row.size]
    assert all(row.features == row.representatives == row.suspects == () for row in empty)


def test_no_views_are_one_cluster():
    X = np.random.default_rng(0).normal(size=(200, 3))
    model = NonRedundantKMeans("auto", random_state=0).fit(X)
    assert model.n_views_ == 0
    table = describe(model, X)
    assert [row.size for row in table] == [200]
    assert "No views" in table.notes[0]


def test_a_precomputed_kernel_has_no_features():
    X = rows("dense")
    gram = X @ X.T
    model = TransformedKMeans(3, kernel="precomputed", n_init=1, random_state=0).fit(gram)
    table = describe(model, gram)
    assert all(not row.features for row in table)
    assert "precomputed" in table.notes[0]
    assert sum(row.size for row in table) == N_ROWS


# --- columns -----------------------------------------------------------------------------------


def test_crosstab_counts_rows():
    model, X = fitted("kmeans"), rows("dense")
    values = np.where(np.arange(N_ROWS) % 3 == 0, "a", "b")
    table = describe(model, X, y=values)
    (crosstab,) = table.crosstabs
    assert crosstab.values == ("a", "b")
    for c, counts in enumerate(crosstab.weights):
        mine = values[model.labels_ == c]
        assert counts.tolist() == [np.sum(mine == "a"), np.sum(mine == "b")]
    frame = table.crosstab_frame(library="polars")
    assert frame["a"].sum() == np.sum(values == "a")


def test_columns_may_be_missing_mixed_and_many():
    model, X = fitted("kmeans"), rows("dense")
    columns = {
        "numbers": np.where(np.arange(N_ROWS) < 5, np.nan, np.arange(N_ROWS) % 12),
        "mixed": [1 if i % 2 else "one" for i in range(N_ROWS)],
        "empty": [None] * N_ROWS,
        "dates": pd.to_datetime(["2020-01-01", "2021-01-01"] * (N_ROWS // 2)),
    }
    table = describe(model, X, y=columns)
    found = {part.column: part for part in table.crosstabs}
    assert found["numbers"].values[-1] == "missing"
    # In the order of numbers, not of their digits.
    assert [float(v) for v in found["numbers"].values[:-1]] == list(map(float, range(12)))
    assert found["empty"].values == ("missing",)
    assert all(part.weights.sum() == N_ROWS for part in table.crosstabs)
    values = ["x"] * N_ROWS
    (crosstab,) = describe(model, X, y=pd.Series(values, name="sort")).crosstabs
    assert crosstab.column == "sort"
    assert len(describe(model, X, y=pl.DataFrame({"a": values, "b": values})).crosstabs) == 2


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"y": [1, 2]}, "one value for each of 240 rows"),
        ({"y": np.arange(N_ROWS).astype(str)}, "240 distinct values"),
        ({"feature_names": ["a"]}, "one entry for each of 7 features"),
        ({"n_features": -1}, "n_features must be"),
        ({"n_rows": 1.5}, "n_rows must be"),
    ],
)
def test_errors_say_what_to_do(options, words):
    with pytest.raises((ValueError, TypeError), match=words):
        describe(fitted("kmeans"), rows("dense"), **options)


def test_models_that_cannot_be_described():
    with pytest.raises(NotFittedError):
        describe(KMeans(3), rows("dense"))
    with pytest.raises(TypeError, match="fitted clustering"):
        describe("KMeans", rows("dense"))
    with pytest.raises(TypeError, match="centroids"):
        describe(StandardScaler().fit(rows("dense")), rows("dense"))
    with pytest.raises(ValueError, match="7 features"):
        describe(fitted("kmeans"), rows("dense")[:, :3])


# --- pipelines ---------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["dense", "pandas", "blocks"])
def test_features_of_a_pipeline_are_those_that_were_given(kind):
    X = rows("dense")
    model = make_pipeline(StandardScaler(), KMeans(4, random_state=0)).fit(X)
    table = describe(model, rows(kind), n_features=2)
    labels = model.predict(X)
    for row in table:
        expected = slow_features(X, labels, row.cluster, np.ones(N_ROWS), 2, False)
        np.testing.assert_allclose([f.mean for f in row.features], [f[2] for f in expected])
    scaled = slow_distances(
        StandardScaler().fit_transform(X), model[-1].cluster_centers_, "euclidean"
    )
    assert table.rows[0].spread == pytest.approx(scaled[labels == 0, 0].mean())


def test_terms_of_texts():
    posts, topics = make_posts(300, n_topics=4, random_state=0)
    model = make_pipeline(
        TfidfVectorizer(), KMeans(4, metric="cosine", n_init=3, random_state=0)
    ).fit(posts)
    table = describe(model, posts, y=topics)
    words = set(" ".join(posts).lower().split())
    top = [[feature.name for feature in row.features] for row in table]
    assert all(word in words for line in top for word in line)
    assert len({line[0] for line in top}) == 4
    X = model[0].transform(posts)
    assert sp.issparse(X)
    means = X[model[-1].labels_ == 0].mean(axis=0) - X.mean(axis=0)
    names = model[0].get_feature_names_out()
    assert table.rows[0].features[0].name == names[np.asarray(means).argmax()]


def test_a_step_that_names_nothing():
    class Nameless(TruncatedSVD):
        def get_feature_names_out(self, input_features=None):
            raise AttributeError

    posts, _ = make_posts(100, n_topics=3, random_state=0)
    model = make_pipeline(TfidfVectorizer(), Nameless(5), KMeans(3, random_state=0)).fit(posts)
    assert describe(model, posts).rows[0].features[0].name.startswith("feature ")


def test_a_clustering_of_another_library():
    from sklearn.cluster import KMeans as Other

    X = rows("dense")
    model = Other(3, random_state=0, n_init=1).fit(X)
    assert sum(row.size for row in describe(model, X)) == N_ROWS


def test_what_a_selector_has_chosen():
    from polymeans import KhatriRaoSelector

    X = rows("dense")
    model = KhatriRaoSelector(6, effort=0.05, random_state=0).fit(X)
    table = describe(model, X)
    assert table.model == type(model.best_estimator_).__name__
    assert sum(row.size for row in table.of(table.clusterings[0].name)) == N_ROWS


def test_models_that_were_kept_or_learned_from_batches():
    import pickle

    X = rows("dense")
    model = KMeans(3, random_state=0).partial_fit(X[:100]).partial_fit(X[100:])
    table = describe(model, X)
    assert [row.size for row in table] == np.bincount(model.predict(X)).tolist()
    again = describe(pickle.loads(pickle.dumps(model)), X)
    assert again.to_dict() == table.to_dict()


# --- hostile values ----------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1e160, 1e290])
def test_extreme_values_give_no_nan(scale):
    X = rows("dense") * scale
    table = describe(KMeans(4, random_state=0).fit(X), X)
    usual = describe(KMeans(4, random_state=0).fit(rows("dense")), rows("dense"))
    for ours, theirs in zip(table, usual):
        assert ours.size == theirs.size
        assert ours.silhouette == pytest.approx(theirs.silhouette, abs=1e-6)
        assert [f.index for f in ours.features] == [f.index for f in theirs.features]
        differences = [f.difference for f in ours.features]
        np.testing.assert_allclose(differences, [f.difference for f in theirs.features], rtol=1e-6)


def test_names_may_be_anything():
    names = ["<script>", "a\nb", 5, None, "\u202e", "x" * 500, ""]
    table = describe(fitted("kmeans"), rows("dense"), names)
    assert "<script>" not in table._repr_html_()
    assert all("\n" not in line for line in str(table).splitlines())


def test_to_frame_names_what_is_missing(monkeypatch):
    from polymeans.inspection import cluster_table

    def refuse(name):
        raise ImportError(name)

    table = describe(fitted("kmeans"), rows("dense"))
    monkeypatch.setattr(cluster_table, "import_module", refuse)
    with pytest.raises(ImportError, match="pip install pandas"):
        table.to_frame()
    with pytest.raises(ValueError, match="library must be one of"):
        table.to_frame("arrow")
