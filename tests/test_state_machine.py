"""Any sequence of calls: never a crash, never an estimator that is half changed.

Hypothesis draws sequences of fits, failures, interrupts, changed parameters and predictions; after
each of them the fitted attributes are either all new or exactly the old ones.
"""

import copy
import pickle
import threading
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from polymeans import (
    KhatriRaoKMeans,
    KMeans,
    L1KMeans,
    NonRedundantKMeans,
    QuickKMeans,
    TransformedKMeans,
)

MODELS = {
    "kmeans": lambda: KMeans(3, random_state=0),
    "cosine": lambda: KMeans(3, metric="cosine", random_state=0),
    "elkan": lambda: KMeans(4, algorithm="elkan", init="random", n_init=2, random_state=0),
    "sum": lambda: KhatriRaoKMeans((2, 2), effort=0.01, random_state=0),
    "product": lambda: KhatriRaoKMeans((2, 2), aggregator="product", init="random", random_state=0),
    "quick": lambda: QuickKMeans(4, effort=0.1, max_iter=4, random_state=0),
    "l1": lambda: L1KMeans(3, random_state=0),
    "views": lambda: NonRedundantKMeans((2, 2), effort=0.01, random_state=0),
    "transformed": lambda: TransformedKMeans(3, n_init=1, random_state=0),
}

#: Values that each estimator can be changed to between two fits, good ones and bad ones.
CHANGES = [
    ("max_iter", 1),
    ("max_iter", 30),
    ("max_iter", 0),
    ("tol", 0.0),
    ("tol", -1.0),
    ("n_threads", 1),
    ("n_threads", 2),
    ("n_threads", 0),
    ("n_clusters", 2),
    ("n_clusters", 5),
    ("n_clusters", "many"),
    ("n_protocentroids", (3, 2)),
    ("n_protocentroids", (0,)),
    ("init", "nonsense"),
    ("random_state", 7),
]


def rows(n_samples, n_features, sparse, seed):
    """Positive rows, so that every estimator takes them."""
    X = np.random.default_rng(seed).random((n_samples, n_features)) + 0.1
    if sparse:
        X[X < 0.5] = 0.0
        return sp.csr_array(X)
    return X


def frozen(model):
    """Attributes as they are now: the objects, and copies to see changes inside them."""
    state = {name: value for name, value in vars(model).items() if name != "_skl_callbacks"}
    return {name: (id(value), copy.deepcopy(value)) for name, value in state.items()}


def same(one, other):
    """Whether two attributes hold the same."""
    if isinstance(one, np.ndarray):
        return np.array_equal(one, other, equal_nan=one.dtype.kind == "f")
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if sp.issparse(one):
        return (one != other).nnz == 0
    if isinstance(one, int | float | str | bool | None):
        return one == other or one != one
    return True  # objects of the library's own; what they do is seen in predict


def assert_unchanged(model, before):
    """Every attribute is the same object with the same content, none is new or gone."""
    after = {name: value for name, value in vars(model).items() if name != "_skl_callbacks"}
    assert set(after) == set(before)
    for name, (identity, value) in before.items():
        assert id(after[name]) == identity, f"{name} was replaced"
        assert same(value, after[name]), f"{name} was changed"


class Meddler:
    """A callback that stops the fit, or interrupts it, at some iteration."""

    def __init__(self, moment, action):
        self.moment, self.action, self.steps = moment, action, 0

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        self._count()

    def on_fit_task_end(self, estimator, context):
        return self._count()

    def _count(self):
        self.steps += 1
        if self.steps < self.moment:
            return False
        if self.action == "interrupt":
            raise KeyboardInterrupt
        return True


class Life(RuleBasedStateMachine):
    """One estimator and all that can happen to it."""

    def __init__(self):
        super().__init__()
        self.model = None
        self.last = None  #: rows of the last fit that ended, and the labels predict gave them

    # --- what can happen ---------------------------------------------------------------------

    @precondition(lambda self: self.model is None)
    @rule(name=st.sampled_from(sorted(MODELS)))
    def make(self, name):
        self.model = MODELS[name]()

    def _fit(self, X, weights=None):
        """Fit; the estimator is as before if that raises."""
        before = frozen(self.model)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                self.model.fit(X, sample_weight=weights)
        except (ValueError, TypeError):
            assert_unchanged(self.model, before)
            return False
        except KeyboardInterrupt:
            assert_unchanged(self.model, before)
            return False
        self.last = X, self.model.predict(X)
        np.testing.assert_array_equal(self.last[1], self.model.labels_)
        return True

    @precondition(lambda self: self.model is not None)
    @rule(
        n_samples=st.integers(6, 40),
        n_features=st.integers(2, 7),
        sparse=st.booleans(),
        seed=st.integers(0, 3),
        weighted=st.booleans(),
    )
    def fit(self, n_samples, n_features, sparse, seed, weighted):
        X = rows(n_samples, n_features, sparse, seed)
        weights = np.arange(n_samples) % 3 + 0.5 if weighted else None
        self._fit(X, weights)

    @precondition(lambda self: self.model is not None)
    @rule(
        failure=st.sampled_from(["negative", "zeros", "nan", "few", "wrong length", "flat"]),
        n_features=st.integers(1, 9),
        sparse=st.booleans(),
    )
    def fail(self, failure, n_features, sparse):
        X = rows(1 if failure == "few" else 30, n_features, sparse and failure != "nan", 1)
        weights = {
            "negative": -np.ones(30),
            "zeros": np.zeros(30),
            "wrong length": np.ones(7),
        }.get(failure)
        if failure == "nan":
            X[3, 0] = np.nan
        if failure == "flat":
            X = np.ones(5)
        # A single row is enough for grids: they may have more cells than rows.
        fitted = self._fit(X, weights)
        assert not fitted or failure == "few"

    @precondition(lambda self: self.model is not None)
    @rule(change=st.sampled_from(CHANGES))
    def set_params(self, change):
        name, value = change
        if name in self.model.get_params():
            before = frozen(self.model)
            self.model.set_params(**{name: value})
            del before[name]
            after = {key: entry for key, entry in frozen(self.model).items() if key != name}
            assert {key: entry[0] for key, entry in after.items()} == {
                key: entry[0] for key, entry in before.items()
            }

    @precondition(lambda self: self.model is not None)
    @rule(moment=st.integers(1, 12), action=st.sampled_from(["stop", "interrupt"]))
    def meddle(self, moment, action):
        pytest.importorskip("sklearn.callback")
        others = getattr(self.model, "_skl_callbacks", None)
        self.model.set_callbacks(Meddler(moment, action))
        try:
            self._fit(rows(25, 4, False, 2))
        finally:
            if others is None:
                del self.model._skl_callbacks
            else:
                self.model._skl_callbacks = others

    @precondition(lambda self: self.model is not None)
    @rule(method=st.sampled_from(["predict", "transform", "score"]), width=st.integers(1, 9))
    def use(self, method, width):
        X = rows(5, width, False, 3)
        before = frozen(self.model)
        try:
            result = getattr(self.model, method)(X)
        except NotFittedError:
            assert self.last is None
        except ValueError:
            assert self.last is None or self.last[0].shape[1] != width
        else:
            assert self.last is not None
            assert self.last[0].shape[1] == width
            assert method == "score" or len(result) == 5
        assert_unchanged(self.model, before)

    @precondition(lambda self: self.model is not None)
    @rule()
    def pickle_it(self):
        self.model = pickle.loads(pickle.dumps(self.model))

    @precondition(lambda self: self.model is not None)
    @rule()
    def clone_it(self):
        self.model = clone(self.model)
        self.last = None

    @precondition(lambda self: self.model is not None)
    @rule(sparse=st.booleans())
    def fit_in_threads(self, sparse):
        """Clones fit at the same time; each gets what it would get alone."""
        X = rows(30, 4, sparse, 0)
        models = [clone(self.model), clone(self.model), KMeans(2, random_state=1)]
        outcomes = [None] * len(models)

        def fit(number):
            try:
                outcomes[number] = models[number].fit(X).labels_
            except (ValueError, TypeError) as error:
                outcomes[number] = str(error)

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            threads = [threading.Thread(target=fit, args=(i,)) for i in range(len(models))]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        if isinstance(outcomes[0], str):
            assert outcomes[0] == outcomes[1]
        else:
            np.testing.assert_array_equal(outcomes[0], outcomes[1])

    # --- what stays true ---------------------------------------------------------------------

    @invariant()
    def predicts_as_before(self):
        """Whatever happened since the last fit that ended, its labels are the same."""
        if self.last is not None:
            X, labels = self.last
            np.testing.assert_array_equal(self.model.predict(X), labels)


_CHECKS = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]


class TestLife(Life.TestCase):
    """The small version."""

    settings = settings(
        max_examples=25,
        stateful_step_count=12,
        deadline=None,
        derandomize=True,
        suppress_health_check=_CHECKS,
    )


@pytest.mark.long
class TestLongLife(Life.TestCase):
    """The same for longer."""

    settings = settings(
        max_examples=500,
        stateful_step_count=40,
        deadline=None,
        suppress_health_check=_CHECKS,
    )
