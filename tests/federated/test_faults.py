"""Sites that fail, are late, or say what cannot be true."""

import numpy as np
import pytest

from polymeans import KhatriRaoKMeans, KMeans
from polymeans.federated import Coordinator, Site, TooFewSitesError, run_federated, simulate
from polymeans.federated.messages import packed_integers
from polymeans.federated.simulation import InProcess
from tests.federated.test_exact import assert_same_model, cut, rows_of, spread_out

STAGES = ("announce", "keys", "ranges", "survey", "step", "measure", "summary")


class Tampering(InProcess):
    """Changes what the last site says."""

    def __init__(self, sites, change):
        super().__init__(sites)
        self.change, self.old = change, []

    def exchange(self, requests):
        replies = []
        for name, reply in super().exchange(requests):
            replies += self.change(self, name, reply) if name == "site-2" else [(name, reply)]
        return replies


def run_with(change, parts, estimator, **options):
    sites = [Site(f"site-{i}", part) for i, part in enumerate(parts)]
    coordinator = Coordinator(Tampering(sites, change), min_sites=2)
    return run_federated(estimator, coordinator, **options), coordinator.rounds


@pytest.fixture
def parts():
    return cut(rows_of(), 3)[1]


@pytest.fixture
def estimator():
    return KMeans(4, init=spread_out(rows_of(), 4))


@pytest.mark.parametrize("secure", [False, True])
@pytest.mark.parametrize("stage", STAGES)
def test_a_site_that_drops_out_at_any_stage(parts, stage, secure):
    def lost(number, name, kind):
        return name == "site-1" and kind == stage

    run = simulate(
        KMeans(4, random_state=0), parts, dropout=lost, secure=secure, min_sites=2, random_state=0
    )
    asked = [r for r in run.rounds if r.kind == stage]
    assert all("site-1" not in r.present for r in asked)
    assert any("site-1" in r.absent for r in asked) or not asked
    assert np.isfinite(run.model.cluster_centers_).all()


def test_a_site_that_comes_back_counts_again(parts, estimator):
    def lost(number, name, kind):
        return name == "site-1" and kind == "step" and number < 7

    run = simulate(estimator, parts, dropout=lost, min_sites=2)
    everything = np.concatenate(parts)
    assert 2 in run.history.n_sites
    assert run.history.n_sites[-1] == 3
    # Converged with all of them, to a minimum of all rows.
    again = KMeans(4, init=run.model.cluster_centers_).fit(everything)
    np.testing.assert_allclose(again.inertia_, run.model.inertia_, rtol=1e-6)


def test_a_site_that_drops_out_is_as_if_it_had_not_been_there(parts, estimator):
    def lost(number, name, kind):
        return name == "site-1"

    run = simulate(estimator, parts, dropout=lost, min_sites=2)
    assert_same_model(run.model, simulate(estimator, [parts[0], parts[2]]).model)


@pytest.mark.parametrize("secure", [False, True])
def test_random_dropout(parts, secure):
    run = simulate(
        KMeans(3, random_state=0),
        parts * 2,
        dropout=0.2,
        secure=secure,
        min_sites=2,
        rounds=8,
        random_state=1,
    )
    assert len(np.unique(run.history.n_sites)) > 1
    assert np.isfinite(run.model.cluster_centers_).all()


def test_too_few_sites_end_the_run(parts, estimator):
    with pytest.raises(TooFewSitesError, match="min_sites=3"):
        simulate(estimator, parts, dropout=lambda n, name, kind: name == "site-0", min_sites=3)

    def lost(number, name, kind):
        return name == "site-0" and kind == "step"

    with pytest.raises(TooFewSitesError, match=r"step.*min_sites=3.*Absent: \['site-0'\]"):
        simulate(estimator, parts, dropout=lost, min_sites=3)


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        (np.ones((30, 5), np.float32), "5 features of float32, others 9 features of float32"),
        (rows_of(np.float64), "9 features of float64, others 9 features of float32"),
    ],
)
def test_a_site_of_another_width_or_dtype_is_refused(parts, estimator, rows, reason):
    run = simulate(estimator, [*parts[:2], rows], min_sites=2)
    assert reason in run.rounds[0].refused["site-2"]
    assert_same_model(run.model, simulate(estimator, parts[:2]).model)


def twice(transport, name, reply):
    return [(name, reply), (name, reply)]


def late(transport, name, reply):
    transport.old.append((name, reply))
    return transport.old[-2:-1]


def silent(transport, name, reply):
    return []


def changed(kind, **values):
    def change(transport, name, reply):
        if reply["kind"] != kind:
            return [(name, reply)]
        new = dict(reply)
        for key, value in values.items():
            if key not in reply:
                continue
            new[key] = value(reply[key])
        return [(name, new)]

    return change


def totals_with(part, change):
    def new(totals):
        values = totals[part]["values"].astype(np.int64) << totals[part]["shift"]
        return totals | {part: packed_integers(change(values))}

    return new


def plus(number):
    def change(values):
        out = values.copy()
        out.flat[0] += number
        return out

    return change


LIES = {
    "twice": (twice, "twice"),
    "late": (late, "too late"),
    "negative counts": (
        changed("step", totals=totals_with("counts", plus(-(10**6)))),
        "fewer than zero rows",
    ),
    "more rows": (changed("step", totals=totals_with("counts", plus(10**6))), "but announced"),
    "large sums": (
        changed("step", totals=totals_with("sums", plus(2**60))),
        "sums exceed what its announced values",
    ),
    "negative squares": (
        changed("step", totals=totals_with("square", lambda v: -np.abs(v) - 1)),
        "square is negative",
    ),
    "other width": (
        changed("step", totals=totals_with("sums", lambda v: v[..., :3].copy())),
        "shape",
    ),
    "floats": (
        changed("step", totals=lambda t: t | {"sums": {"values": np.ones((4, 1, 9)), "shift": 0}}),
        "dtype float64",
    ),
    "nothing": (changed("step", totals=lambda t: {}), "not those that were asked for"),
    "no dictionary": (changed("step", totals=lambda t: 3), "not those that were asked for"),
    "NaN range": (
        changed("ranges", values=lambda r: r | {"largest": np.nan}),
        "largest is nan",
    ),
    "negative rows": (changed("announce", n_samples=lambda n: -n), "n_samples is"),
    "no dtype": (changed("announce", dtype=lambda n: "object"), "dtype is 'object'"),
}


@pytest.mark.parametrize("lie", LIES)
def test_what_cannot_be_true_is_refused_by_name(parts, estimator, lie):
    change, reason = LIES[lie]
    model, rounds = run_with(change, parts, estimator)
    refusals = [r.refused["site-2"] for r in rounds if "site-2" in r.refused]
    assert refusals
    assert reason in refusals[0]
    assert np.isfinite(model.cluster_centers_).all()
    if lie == "twice":  # the first answer counts
        assert_same_model(model, KMeans(4, init=estimator.init).fit(np.concatenate(parts)))


def test_nan_in_a_summary_and_too_many_rows_in_it(parts):
    for change, reason in [
        (changed("summary", points=lambda p: p * np.nan), "not finite"),
        (changed("summary", counts=lambda c: packed_integers(np.full(len(c["values"]), 999))),
         "but has"),
    ]:  # fmt: skip
        _, rounds = run_with(change, parts, KMeans(4, random_state=0))
        assert any(reason in r.refused.get("site-2", "") for r in rounds)


def test_local_replies_are_checked_too(parts):
    change = changed("local", counts=lambda c: packed_integers(np.full(len(c["values"]), 999)))
    _, rounds = run_with(change, parts, KMeans(4, random_state=0), method="local")
    assert any("it announced" in r.refused.get("site-2", "") for r in rounds)


def test_a_silent_site_is_absent(parts, estimator):
    model, rounds = run_with(silent, parts, estimator)
    assert rounds[0].absent == ["site-2"]
    assert_same_model(model, simulate(estimator, parts[:2]).model)


def test_sites_check_their_rows_themselves():
    with pytest.raises(ValueError, match="NaN"):
        Site("a", np.array([[np.nan, 1.0]]))
    with pytest.raises(ValueError, match="name="):
        Site("a/b", np.ones((3, 2)))


def test_an_unknown_request_is_refused():
    reply = Site("a", np.ones((3, 2))).answer({"round": 1, "kind": "rows"})
    assert "unknown request" in reply["refused"]


@pytest.mark.parametrize("aggregator", ["sum", "product"])
def test_empty_vectors_are_filled_without_rows(aggregator):
    X = np.abs(rows_of(n=600))
    far = np.full((1, X.shape[1]), 200, dtype=np.float32)
    k = KMeans(4, init=np.concatenate([spread_out(X, 3), far]))
    sets = [np.concatenate([spread_out(X, 2), far]), np.ones((2, 9), np.float32)]
    sets[1][1] = 1.3 if aggregator == "product" else 0.5
    if aggregator == "sum":
        sets[1] -= 1
    grid = KhatriRaoKMeans((3, 2), aggregator=aggregator, init=sets)
    for estimator in (k, grid):
        run = simulate(estimator, [X[:200], X[200:]])
        assert "scatter" in run.history.kind
        used = np.unique(run.model.predict(X))
        centers = run.model.cluster_centers_
        assert np.abs(centers).max() < 100
        if estimator is k:
            assert len(used) == 4
        assert (
            run.model.inertia_
            < 1.3
            * type(estimator)(**{**estimator.get_params(), "init": "random", "random_state": 0})
            .fit(X)
            .inertia_
        )


def test_rows_that_cannot_be_used_are_refused_by_the_name_of_their_site():
    X = np.random.default_rng(0).normal(size=(30, 2))
    bad = X.copy()
    bad[3, 1] = np.nan
    with pytest.raises(ValueError, match="rows of site-1 contains NaN"):
        simulate(KMeans(2, random_state=0), [X, bad])
    with pytest.raises(ValueError, match="sites is empty"):
        simulate(KMeans(2, random_state=0), [])
