"""Views in words."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError

from polymeans import NonRedundantKMeans
from polymeans.datasets import make_stick_figures


def test_chosen_views_and_runners_up_are_named():
    images, _ = make_stick_figures(300, random_state=0)
    model = NonRedundantKMeans("auto", random_state=0).fit(images)
    lines = model.summary().splitlines()
    assert lines[0].startswith("2 views chosen; ")
    assert lines[1].startswith("  view 0: 3 clusters in 2 dimensions, ")
    others = [one for one in model._candidates if not one["chosen"]]
    assert ("runners-up:" in lines) == any(tuple(o["n_clusters"]) != (3, 3) for o in others)


def test_weaker_views_are_pointed_out():
    images, _ = make_stick_figures(300, random_state=0)
    model = NonRedundantKMeans("auto", random_state=0).fit(images)
    more = {**model._candidates[0], "n_clusters": (2, 3, 3), "chosen": False, "redundancy": 0.0}
    model._candidates = [*model._candidates, more]
    assert "weaker views exist: try NonRedundantKMeans((2, 3, 3))" in model.summary()


def test_a_single_answer_of_all_searches():
    model = NonRedundantKMeans("auto", random_state=0).fit(load_iris().data)
    lines = model.summary().splitlines()
    assert lines[1].startswith("  view 0: 2 clusters in 1 dimension, ")
    others = [one for one in model._candidates if not one["chosen"]]
    assert {one["n_clusters"] for one in others} == {(2,)}
    assert lines[2].startswith(f"no runners-up of other sizes: {len(others)} other sets of views")
    assert f"gains {others[0]['gain']:.4g}, " in lines[2]
    model._candidates = [one for one in model._candidates if one["chosen"]]
    assert "no runners-up: no other set of views was found" in model.summary()


def test_no_views():
    X = np.random.default_rng(0).normal(size=(300, 3))
    model = NonRedundantKMeans("auto", random_state=0).fit(X)
    text = model.summary()
    assert text.startswith("no views chosen")
    assert "resolution=0.05" in text


def test_views_that_were_asked_for():
    images, _ = make_stick_figures(150, random_state=0)
    text = NonRedundantKMeans((3, 3), random_state=0).fit(images).summary()
    assert text.startswith("2 views asked for; ")
    assert "runners-up" not in text


def test_only_fitted_models_have_a_summary():
    with pytest.raises(NotFittedError):
        NonRedundantKMeans().summary()
