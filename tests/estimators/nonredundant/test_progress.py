"""NonRedundantKMeans: logs, silence and callbacks."""

import logging
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from polymeans import NonRedundantKMeans


def test_nothing_is_printed_and_nothing_warned_about(easy, capfd):
    X, labels = easy
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for rows in (X, X.astype(np.float32), sp.csr_matrix(X)):
            for init in ("search", "random", labels):
                model = NonRedundantKMeans((3, 4), init=init, random_state=0, verbose=2)
                model.fit(rows).predict(rows)
    assert capfd.readouterr() == ("", "")


def test_verbose_logs(easy, caplog):
    with caplog.at_level(logging.INFO, logger="polymeans"):
        model = NonRedundantKMeans((3, 4), random_state=0, verbose=2).fit(easy[0])
    assert len(caplog.records) == model.n_iter_ + 1


class Watch:
    """A callback that keeps what it is shown and stops after some iterations."""

    def __init__(self, stop_after, look):
        self.stop_after, self.look, self.names, self.seen = stop_after, look, [], []

    def setup(self, estimator, context):
        self.names.append("setup")

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context, *, X, fitted_estimator):
        self.names.append(context.task_name)
        if context.task_name == "iter":
            self.seen.append(self.look(fitted_estimator, X))
            return len(self.seen) >= self.stop_after
        return False

    def teardown(self, estimator, context):
        self.names.append("teardown")


@pytest.mark.parametrize("kind", ["dense", "csr"])
@pytest.mark.parametrize(("sizes", "whiten"), [((3, 4), False), (5, False), ((8, 8), 6)])
def test_callbacks_see_iterations_and_can_stop(blobs, sizes, whiten, kind):
    pytest.importorskip("sklearn.callback")
    X = blobs[:800] if kind == "dense" else sp.csr_matrix(blobs[:800])
    # Signs of eigenvectors decide where the third fit begins, which may then be done quickly.
    n_iter = 2 if whiten else 3
    watch = Watch(n_iter, lambda estimator, X: -estimator.score(X))
    model = NonRedundantKMeans(sizes, whiten=whiten, init="random", n_init=1, random_state=2)
    model.set_callbacks(watch).fit(X)
    assert model.n_iter_ == n_iter
    assert watch.names == ["setup", *n_iter * ["iter"], "init", "fit", "teardown"]
    assert watch.seen == sorted(watch.seen, reverse=True)
    assert_allclose(watch.seen[: n_iter - 1], model.history_["inertia"][1:], rtol=1e-9)
    assert watch.seen[-1] == pytest.approx(model.inertia_)
    assert_array_equal(model.predict_views(X), model.labels_per_view_)


@pytest.mark.parametrize("whiten", [False, 6])
def test_callbacks_can_ask_for_labels(blobs, whiten):
    pytest.importorskip("sklearn.callback")
    watch = Watch(2, lambda estimator, X: estimator.predict_views(X).shape)
    model = NonRedundantKMeans((3, 4), whiten=whiten, init="random", n_init=1, random_state=0)
    model.set_callbacks(watch).fit(blobs[:300])
    assert watch.seen == [(300, 2)] * 2
