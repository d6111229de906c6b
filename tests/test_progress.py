"""Feedback of long calls: logs that are visible without set-up, bars and functions."""

import logging
import subprocess
import sys

import numpy as np
import pytest

from polymeans import (
    KhatriRaoSelector,
    KMeans,
    NonRedundantKMeans,
    choose_n_clusters,
    diagnose_structure,
)
from polymeans._progress import Steps, logger, visible_logs
from polymeans.datasets import make_khatri_rao, make_stick_figures


def in_new_process(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done


FIT = """
import numpy as np
from polymeans import KMeans
KMeans(2, random_state=0, verbose={verbose}).fit(np.array([[0.0], [1.0], [9.0]]))
"""


def test_logs_are_visible_without_any_set_up_if_they_are_asked_for():
    done = in_new_process(FIT.format(verbose=0) + FIT.format(verbose=1) + FIT.format(verbose=0))
    assert done.stderr == "polymeans: start 1 of 1: inertia 0.5 after 2 iterations\n"
    assert done.stdout == ""


def test_logging_that_is_set_up_is_left_alone():
    silent = "import logging; logging.basicConfig(level='ERROR')" + FIT.format(verbose=1)
    set_up = "logging.basicConfig(level='INFO', format='seen %(message)s', force=True)"
    done = in_new_process(silent + set_up + FIT.format(verbose=1))
    assert done.stderr == "seen start 1 of 1: inertia 0.5 after 2 iterations\n"


def test_handlers_are_gone_after_the_call_also_after_errors():
    code = """
import logging
from polymeans._progress import logger, visible_logs
with visible_logs(1):
    with visible_logs(1):
        assert len(logger.handlers) == 1
    assert len(logger.handlers) == 1
assert not logger.handlers and logger.level == logging.NOTSET
try:
    with visible_logs(1):
        raise KeyError
except KeyError:
    pass
assert not logger.handlers
"""
    in_new_process(code)


def test_a_bar_is_drawn_or_the_error_says_what_to_install():
    code = """
import logging, sys
import numpy as np
from polymeans import choose_n_clusters
sys.modules["rich"] = None
try:
    choose_n_clusters(np.random.default_rng(0).random((40, 2)), 3, progress=True)
except ImportError as error:
    assert 'polymeans[progress]' in str(error)
else:
    raise AssertionError
assert not logging.getLogger("polymeans").handlers
del sys.modules["rich"]
choose_n_clusters(np.random.default_rng(0).random((40, 2)), 3, random_state=0, progress=True)
"""
    in_new_process(code)


def test_steps_are_counted_from_several_threads():
    from concurrent.futures import ThreadPoolExecutor

    seen = []
    with (
        Steps("test", 50, 0, lambda *step: seen.append(step)) as steps,
        ThreadPoolExecutor(4) as pool,
    ):
        list(pool.map(lambda i: steps.advance(str(i)), range(50)))
    assert [done for done, _, _ in seen] == list(range(1, 51))


def test_searches_log_their_steps(caplog):
    X, *_ = make_khatri_rao(100, (2, 3), n_features=5, random_state=0)
    with caplog.at_level(logging.INFO, logger="polymeans"):
        KhatriRaoSelector(6, effort=0.05, random_state=0, verbose=1).fit(X)
    assert sum("candidate" in record.getMessage() for record in caplog.records) >= 5
    caplog.clear()
    images, _ = make_stick_figures(150, random_state=0)
    with caplog.at_level(logging.INFO, logger="polymeans"):
        NonRedundantKMeans("auto", random_state=0, verbose=1).fit(images)
    assert sum("components" in record.getMessage() for record in caplog.records) >= 3


def test_a_selector_reports_each_candidate():
    X, *_ = make_khatri_rao(100, (2, 3), n_features=5, random_state=0)
    quiet = KhatriRaoSelector(6, effort=0.05, random_state=0).fit(X)
    seen = []
    told = KhatriRaoSelector(6, effort=0.05, random_state=0)
    told.fit(X, progress=lambda *step: seen.append(step))
    assert {total for _, total, _ in seen} == {3}  # free centroids, sums, products
    counts = [done for done, *_ in seen]
    assert counts == sorted(counts)
    assert counts[-1] == 3
    assert sum("candidate" in text for *_, text in seen) == len(told.table_)
    assert told.best_sizes_ == quiet.best_sizes_
    np.testing.assert_array_equal(told.labels_, quiet.labels_)
    with pytest.raises(TypeError, match="progress must be"):
        told.fit(X[:50], progress="bar")
    assert len(told.labels_) == len(X)


def test_a_selector_is_as_it_was_after_a_failed_fit():
    X, *_ = make_khatri_rao(100, (2, 3), n_features=5, random_state=0)
    model = KhatriRaoSelector(4, effort=0.05, random_state=0)
    with pytest.raises(ValueError, match="too few"):
        model.set_params(free_centroids=False).fit(X[:3])
    assert not hasattr(model, "n_features_in_")


def test_a_diagnosis_reports_progress_and_does_not_depend_on_threads():
    X, *_ = make_khatri_rao(150, (2, 4), n_features=6, random_state=0)
    seen = []
    reports = [
        diagnose_structure(
            X, (2, 4), n_null=3, random_state=0, n_threads=n, progress=lambda *s: seen.append(s)
        )
        for n in (1, 2)
    ]
    assert len(seen) == 16
    assert reports[0] == reports[1]
    assert "Next: " in str(reports[0])


def test_nobody_listens_twice():
    assert logger.hasHandlers()  # pytest's
    before = list(logger.handlers)
    with visible_logs(1):
        assert logger.handlers == before


def test_results_do_not_depend_on_feedback():
    X = np.random.default_rng(0).random((60, 2))
    quiet = choose_n_clusters(X, 3, random_state=0)
    loud = choose_n_clusters(X, 3, random_state=0, verbose=1, progress=lambda *step: None)
    np.testing.assert_array_equal(quiet.table_["valley"], loud.table_["valley"])


@pytest.mark.parametrize("verbose", [0, 1])
def test_an_estimator_is_as_it_was_after_a_failed_fit(verbose):
    model = KMeans(3, verbose=verbose)
    with pytest.raises(ValueError, match="n_samples=2"):
        model.fit([[0.0], [1.0]])
    assert not hasattr(model, "labels_")
