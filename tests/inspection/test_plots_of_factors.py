"""Pictures of sparse factors: every entry is there, partners stand in the same place."""

import copy
import re
import sys
from itertools import pairwise, permutations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure
from sklearn.cluster import KMeans as ScikitLearnKMeans
from sklearn.exceptions import NotFittedError

from polymeans import KMeans, L1KMeans, QuickKMeans
from polymeans.factorization import FastOperator, factorize, guaranteed_n_nonzeros
from polymeans.inspection import (
    plot_factors,
    plot_matched_centroids,
    plot_objective,
    plot_operations,
)
from polymeans.inspection.factors import _MOST_PIXELS, _pooled
from polymeans.inspection.matched_centroids import _matched


def rows(n_features=24, n_samples=150):
    rng = np.random.default_rng(0)
    parts = rng.random((4, n_features)) * (rng.random((4, n_features)) < 0.4)
    labels = rng.integers(0, 2, (n_samples, 4))
    return labels @ parts + 0.05 * rng.random((n_samples, n_features))


def fitted(n_clusters=6, n_nonzeros=60, **parameters):
    return QuickKMeans(n_clusters, n_nonzeros=n_nonzeros, random_state=0, **parameters).fit(rows())


@pytest.fixture(scope="module")
def model():
    return fitted()


@pytest.fixture
def ax():
    return Figure().add_subplot()


def shown(ax):
    """Factors as drawn: signs and darkness, NaN where there is nothing."""
    return [np.ma.filled(image.get_array(), np.nan) for image in ax.images]


# --- factors -------------------------------------------------------------------------------------


def test_entries_are_drawn_where_they_are_with_their_sign(ax, model):
    assert plot_factors(model, ax=ax) is ax
    assert len(ax.images) == len(model.factors_)
    for picture, factor in zip(shown(ax), model.factors_):
        values = factor.toarray()
        np.testing.assert_array_equal(np.isfinite(picture), values != 0)
        drawn = values != 0
        np.testing.assert_array_equal(np.sign(picture[drawn]), np.sign(values[drawn]))
        # The larger, the darker, and no entry so faint that it could be taken for none.
        order = np.argsort(np.abs(values[drawn]))
        assert np.all(np.diff(np.abs(picture[drawn])[order]) >= 0)
        assert np.abs(picture[drawn]).min() >= 0.3
        assert np.abs(picture[drawn]).max() == pytest.approx(1.0)


def test_titles_have_shapes_and_numbers_of_entries(ax, model):
    plot_factors(model, ax=ax)
    expected = [
        f"S{q}: {factor.shape[0]} × {factor.shape[1]}\n{factor.nnz} non-zeros"
        for q, factor in enumerate(model.factors_, 1)
    ]
    assert [text.get_text() for text in ax.texts] == expected


def test_whatever_has_factors_can_be_drawn(model):
    target = model.cluster_centers_ - model.offset_
    sparse = L1KMeans(6, random_state=0).fit(rows())
    for thing, n_factors in (
        (model, 2),
        (model.operator_, 2),
        (factorize(target, n_nonzeros=40, random_state=0), 2),
        (list(model.factors_), 2),
        ([np.eye(3), sp.eye_array(3), np.ones((3, 2))], 3),
        (sparse, 1),
    ):
        assert len(plot_factors(thing, ax=Figure().subplots()).images) == n_factors


def test_factors_are_drawn_where_and_as_wanted(ax, model):
    assert plot_factors(model.operator_, ax=ax) is ax
    assert len(ax.images) == 2
    plot_factors(model.operator_, ax=ax, cmap="PiYG")
    assert ax.images[-1].get_cmap().name == "PiYG"


def test_sides_that_are_multiplied_have_the_same_length(ax):
    plot_factors([np.ones((3, 200)), np.ones((200, 7))], ax=ax)
    (l1, r1, b1, t1), (l2, _, b2, t2) = (image.get_extent() for image in ax.images)
    assert r1 - l1 == pytest.approx(b2 - t2)
    assert (r1 - l1) / (b1 - t1) == pytest.approx(4.0)  # 200 to 3 would be a line
    assert l2 > r1 or t2 > b1  # beside, or below


@settings(max_examples=30, deadline=None)
@given(
    sides=st.lists(st.integers(1, 300), min_size=2, max_size=12),
    full=st.booleans(),
)
def test_factors_of_any_shape_stay_apart_and_inside(sides, full):
    factors = [np.ones((a, b)) if full else sp.csr_array((a, b)) for a, b in pairwise(sides)]
    ax = plot_factors(factors, ax=Figure().subplots())
    (left, right), (bottom, top) = ax.get_xlim(), ax.get_ylim()
    boxes = [image.get_extent() for image in ax.images]
    assert len(boxes) == len(factors)
    for l1, r1, b1, t1 in boxes:
        assert left <= l1 < r1 <= right
        assert top <= t1 < b1 <= bottom
    for i, (l1, r1, b1, t1) in enumerate(boxes):
        for l2, r2, b2, t2 in boxes[:i]:
            assert r1 <= l2 or r2 <= l1 or b1 <= t2 or b2 <= t1


def test_of_large_factors_no_entry_is_lost():
    factor = sp.random_array((3 * _MOST_PIXELS + 5, 4), density=0.02, rng=np.random.default_rng(0))
    factor = FastOperator([factor]).factors[0]
    picture = _pooled(factor)
    assert picture.shape == (_MOST_PIXELS, 4)
    dense = factor.toarray()
    for pixel, block in enumerate(np.arange(len(dense)) * _MOST_PIXELS // len(dense)):
        for column in np.flatnonzero(dense[pixel]):
            assert abs(picture[block, column]) >= abs(dense[pixel, column])
    assert np.isin(picture[np.isfinite(picture)], factor.data).all()


def test_factors_without_entries_are_blank(ax):
    plot_factors([np.zeros((3, 2)), np.zeros((2, 4))], ax=ax)
    assert not any(np.isfinite(picture).any() for picture in shown(ax))
    assert ax.texts[0].get_text() == "S1: 3 × 2\n0 non-zeros"
    ax.figure.canvas.draw()


def test_things_without_factors_are_refused(ax):
    with pytest.raises(TypeError, match=r"operator must have factors to draw.*got ndarray"):
        plot_factors(np.eye(3), ax=ax)
    with pytest.raises(TypeError, match="needs operator_, which KMeans does not have"):
        plot_factors(KMeans(3, random_state=0).fit(rows()), ax=ax)
    with pytest.raises(NotFittedError):
        plot_factors(QuickKMeans(3), ax=ax)


# --- centroids -----------------------------------------------------------------------------------


def tiles(ax, n_clusters, n_columns, image_shape):
    """The pictures of a mosaic, one for each place; they are enlarged and have gaps."""
    mosaic = np.ma.filled(ax.images[0].get_array(), np.nan)
    n_rows = -(-n_clusters // n_columns)
    gap = -(-max(image_shape) * -(-12 // max(image_shape)) // 12)
    height = (mosaic.shape[0] + gap) // n_rows
    width = (mosaic.shape[1] + gap) // n_columns
    found = []
    for place in range(n_clusters):
        top, left = place // n_columns * height, place % n_columns * width
        part = mosaic[top : top + height, left : left + width]
        part = part[~np.isnan(part).all(axis=1)][:, ~np.isnan(part).all(axis=0)]
        times = part.shape[0] // image_shape[0]
        found.append(part[::times, ::times].ravel())
    return np.array(found)


def test_partners_stand_in_the_same_place():
    plain = KMeans(6, random_state=0).fit(rows())
    order = np.random.default_rng(1).permutation(6)
    other = KMeans(6, init=plain.cluster_centers_[order], random_state=0).fit(rows())
    axes = plot_matched_centroids([plain, other], (4, 6), n_columns=3, axes=Figure().subplots(1, 2))
    first, second = (tiles(ax, 6, 3, (4, 6)) for ax in axes)
    np.testing.assert_allclose(first, plain.cluster_centers_)
    np.testing.assert_allclose(second, first, atol=1e-12)


@settings(max_examples=25, deadline=None)
@given(n=st.integers(1, 5), seed=st.integers(0, 1000), exponent=st.integers(-200, 200))
def test_no_other_pairing_is_closer(n, seed, exponent):
    rng = np.random.default_rng(seed)
    first, other = rng.normal(size=(2, n, 3))
    cost = ((first[:, None] - other[None]) ** 2).sum(axis=2)
    found = _matched(first * 10.0**exponent, other * 10.0**exponent)
    least = min(cost[np.arange(n), list(p)].sum() for p in permutations(range(n)))
    assert cost[np.arange(n), found].sum() == pytest.approx(least)


def test_some_clusters_can_be_chosen(model):
    axes = plot_matched_centroids([model], (4, 6), clusters=[4, 1], axes=Figure().subplots())
    np.testing.assert_allclose(tiles(axes[0], 2, 2, (4, 6)), model.cluster_centers_[[4, 1]])


def test_titles_say_what_it_is(model):
    plain = KMeans(6, random_state=0).fit(rows())
    theirs = ScikitLearnKMeans(6, n_init=1, random_state=0).fit(rows())
    axes = plot_matched_centroids([plain, theirs, model], (4, 6), axes=Figure().subplots(1, 3))
    titles = [ax.get_title() for ax in axes]
    assert titles == [
        "KMeans 0\n144 numbers",
        "KMeans 1\n144 numbers",
        f"QuickKMeans\n{model.n_nonzeros_} non-zeros",
    ]
    axes = plot_matched_centroids(
        [plain, model], (4, 6), names=["a", "b"], axes=Figure().subplots(1, 2)
    )
    assert [ax.get_title() for ax in axes] == ["a", "b"]


def test_colors_are_comparable(model):
    plain = KMeans(6, random_state=0).fit(rows())
    axes = plot_matched_centroids([plain, model], (4, 6), axes=Figure().subplots(1, 2))
    assert axes[0].images[0].get_clim() == axes[1].images[0].get_clim()
    axes = plot_matched_centroids(
        [plain, model], (4, 6), limits=(0, 2), axes=Figure().subplots(1, 2)
    )
    assert axes[1].images[0].get_clim() == (0, 2)
    plot_matched_centroids([plain, model], (2, 4, 3), axes=Figure().subplots(1, 2))


def test_clusters_without_rows_are_dimmed(model):
    other = copy.copy(model)
    other.labels_ = np.zeros_like(model.labels_)
    (ax,) = plot_matched_centroids(other, (4, 6), n_columns=6, axes=Figure().subplots())
    opacity = np.unique(ax.images[0].get_alpha())
    np.testing.assert_allclose(opacity, [0.0, 0.2, 1.0])


def test_centroids_that_do_not_fit_are_refused(model):
    axes = Figure().subplots(1, 2)
    other = KMeans(5, random_state=0).fit(rows())
    with pytest.raises(ValueError, match=r"got shape \(6, 24\) and, from models\[1\], \(5, 24"):
        plot_matched_centroids([model, other], (4, 6), axes=axes)
    with pytest.raises(ValueError, match=r"image_shape=.* makes 20 numbers"):
        plot_matched_centroids([model], (4, 5), axes=axes[:1])
    with pytest.raises(ValueError, match="clusters must be numbers from 0 to 5, got"):
        plot_matched_centroids([model], (4, 6), clusters=[6], axes=axes[:1])
    with pytest.raises(TypeError, match="clusters must be a list of cluster numbers"):
        plot_matched_centroids([model], (4, 6), clusters="all", axes=axes[:1])
    with pytest.raises(ValueError, match="axes must be one for each model, got 2 for 1"):
        plot_matched_centroids([model], (4, 6), axes=axes)
    with pytest.raises(ValueError, match="n_columns must be an integer of at least 1, got 0"):
        plot_matched_centroids([model], (4, 6), n_columns=0, axes=axes[:1])
    with pytest.raises(ValueError, match="names must have one entry for each of 1 curve, got 2"):
        plot_matched_centroids([model], (4, 6), names=["a", "b"], axes=axes[:1])


# --- objective -----------------------------------------------------------------------------------


def test_objectives_and_the_level_of_kmeans(ax, model):
    other = fitted(n_nonzeros=40)
    assert plot_objective([model, other], names=["60", "40"], ax=ax) is ax
    for line, drawn in zip(ax.lines, (model, other)):
        np.testing.assert_array_equal(line.get_ydata(), drawn.history_["inertia"])
        np.testing.assert_array_equal(line.get_xdata(), np.arange(1, len(drawn.history_) + 1))
    assert model.kmeans_inertia_ == other.kmeans_inertia_
    assert [line.get_ydata()[0] for line in ax.lines[2:]] == [model.kmeans_inertia_]
    assert [text.get_text() for text in ax.get_legend().texts] == ["60", "40", "k-means"]


def test_starts_that_differ_have_their_own_level(ax, model):
    other = QuickKMeans(7, n_nonzeros=60, random_state=1).fit(rows())
    plot_objective([model, other], ax=ax)
    assert len(ax.lines) == 4
    names = [text.get_text() for text in ax.get_legend().texts]
    assert names == ["QuickKMeans 0", "QuickKMeans 1", "k-means"]


def test_one_model_without_a_level(ax):
    plain = KMeans(6, random_state=0).fit(rows())
    plot_objective(plain, ax=ax)
    assert len(ax.lines) == 1
    with pytest.raises(
        ValueError, match=r"relative=True needs a kmeans_inertia_ .* KMeans has not"
    ):
        plot_objective(plain, relative=True, ax=ax)


def test_objectives_relative_to_kmeans(ax, model):
    plot_objective(model, relative=True, ax=ax)
    curve = model.history_["inertia"] / model.kmeans_inertia_
    np.testing.assert_allclose(ax.lines[0].get_ydata(), curve)
    assert ax.lines[1].get_ydata()[0] == 1.0
    assert ax.get_ylabel() == "inertia over that of k-means"


# --- operations ----------------------------------------------------------------------------------


def test_operations_are_those_of_the_models(ax):
    models = [fitted(k, 8 * k) for k in (8, 4)]
    assert plot_operations(models, sparsity_level=2, ax=ax) is ax
    own, dense = ax.lines
    assert list(own.get_xdata()) == [4, 8]
    assert list(own.get_ydata()) == [models[1].flops_per_row_, models[0].flops_per_row_]
    assert list(dense.get_ydata()) == [2 * k * 24 + 2 * k for k in (4, 8)]
    corners = ax.collections[0].get_paths()[0].vertices
    for k in (4, 8):
        least = guaranteed_n_nonzeros((k, 24), 2)
        heights = corners[corners[:, 0] == k, 1]
        assert {2 * least + 2 * k, 4 * least + 2 * k} == set(heights)


def test_several_curves(ax):
    curves = {
        "factors": [fitted(k, 8 * k) for k in (4, 6)],
        "sparse": [L1KMeans(k, random_state=0).fit(rows()) for k in (4, 8)],
    }
    plot_operations(curves, sparsity_level=None, ax=ax)
    labels = [text.get_text() for text in ax.get_legend().texts]
    assert labels == ["factors", "sparse", "dense centroids"]
    assert list(ax.lines[2].get_xdata()) == [4, 6, 8]
    assert ax.lines[1].get_ydata()[0] == 2 * curves["sparse"][0].n_nonzeros_ + 2 * 4
    assert not ax.collections
    ax.figure.canvas.draw()


def test_operations_that_cannot_be_drawn_are_refused(ax, model):
    with pytest.raises(TypeError, match="needs operator_, which KMeans does not have"):
        plot_operations([KMeans(4, random_state=0).fit(rows())], ax=ax)
    with pytest.raises(ValueError, match="sparsity_level must be an integer of at least 1, got 0"):
        plot_operations([model], sparsity_level=0, ax=ax)
    narrow = QuickKMeans(4, n_nonzeros=20, random_state=0).fit(rows()[:, :10])
    with pytest.raises(ValueError, match=r"same number of features, got \[10, 24\]"):
        plot_operations([model, narrow], ax=ax)
    for nothing in ([], {}, {"a": []}):
        with pytest.raises(ValueError, match="at least one fitted model, got none"):
            plot_operations(nothing, ax=ax)
    with pytest.raises(TypeError, match=r"models must be a fitted model .* got str"):
        plot_operations(["quick"], ax=ax)


# --- all of them ---------------------------------------------------------------------------------

DRAW = {
    "factors": plot_factors,
    "images": lambda model: plot_matched_centroids([model], (4, 6)),
    "objective": plot_objective,
    "operations": plot_operations,
}


@pytest.mark.parametrize("draw", DRAW.values(), ids=DRAW)
def test_new_axes_where_none_are_given(draw, model):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("Agg")
    ax = np.ravel(draw(model))[0]
    assert ax.figure.number in pyplot.get_fignums()
    ax.figure.canvas.draw()
    pyplot.close(ax.figure)


@pytest.mark.parametrize("draw", DRAW.values(), ids=DRAW)
def test_without_matplotlib_it_says_how_to_get_it(draw, model, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=re.escape('pip install "polymeans[plot]"')):
        draw(model)


def test_nothing_is_changed(model):
    before = [factor.copy() for factor in model.factors_]
    plot_factors(model, ax=Figure().subplots())
    plot_matched_centroids([model], (4, 6), axes=Figure().subplots())
    plot_objective(model, ax=Figure().subplots())
    for factor, old in zip(model.factors_, before):
        np.testing.assert_array_equal(factor.toarray(), old.toarray())
