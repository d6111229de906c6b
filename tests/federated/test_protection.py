"""What leaves a site: counts that are large enough, masks, noise."""

import numpy as np
import pytest

from polymeans import KhatriRaoKMeans, KMeans
from polymeans.codebooks.dense import DenseCodebook
from polymeans.federated import Privacy, Rules, Site, simulate
from polymeans.federated import masks as masking
from polymeans.federated.codebooks import codebook_message
from polymeans.federated.frames import frame_message
from polymeans.federated.messages import unpacked_integers
from polymeans.federated.noisy import _frame
from tests.federated.test_exact import assert_same_model, rows_of, spread_out


def secrets_of(names):
    private = {name: masking.new_private_key() for name in names}
    public = {name: masking.public_key(key) for name, key in private.items()}
    return {
        a: {b: masking.shared_secret(private[a], public[b]) for b in names if b != a} for a in names
    }


@pytest.mark.parametrize("n_sites", [2, 3, 7])
def test_masks_cancel_exactly(n_sites):
    names = [f"site-{i}" for i in range(n_sites)]
    secrets = secrets_of(names)
    rng = np.random.default_rng(0)
    limits = np.iinfo(np.int64)
    values = {name: rng.integers(limits.min, limits.max, 100) for name in names}
    masked = [
        masking.masked(values[a], a, [b for b in names if b != a], secrets[a], "7|step")
        for a in names
    ]
    with np.errstate(over="ignore"):
        expected = sum(values.values())
    np.testing.assert_array_equal(masking.unmasked_sum(masked), expected)
    for name, part in zip(names, masked):
        assert not (part.view(np.int64) == values[name]).any()


def test_masks_are_new_in_each_round_and_look_random():
    secrets = secrets_of(["a", "b"])
    zeros = np.zeros(4096, np.int64)
    one = masking.masked(zeros, "a", ["b"], secrets["a"], "1|step")
    other = masking.masked(zeros, "a", ["b"], secrets["a"], "2|step")
    assert not (one == other).any()
    bits = np.unpackbits(one.view(np.uint8))
    assert abs(bits.mean() - 0.5) < 5 * 0.5 / np.sqrt(len(bits))


def test_guessable_public_keys_are_refused():
    with pytest.raises(ValueError, match="out of range"):
        masking.shared_secret(masking.new_private_key(), "1")


def test_a_secure_site_never_answers_alone_and_no_mask_is_used_twice():
    site = Site("a", np.ones((9, 2)), rules=Rules(secure=True))
    totals = {"x": np.arange(3)}
    reply = site.answer({"round": 1, "kind": "keys"})
    other = masking.public_key(masking.new_private_key())
    keys = {"a": reply["public_key"], "b": other}
    site.answer({"round": 2, "kind": "keys", "public_keys": keys})
    from polymeans.federated.site import RefusedError

    with pytest.raises(RefusedError, match="only 1 sites"):
        site.protected({"round": 3, "kind": "step", "participants": ["a"]}, totals)
    request = {"round": 3, "kind": "step", "participants": ["a", "b"]}
    assert site.protected(request, totals)["masked"].dtype == np.uint64
    with pytest.raises(RefusedError, match="have been used"):
        site.protected(request, totals)


def test_sums_of_few_rows_are_suppressed_and_counted():
    X = rows_of()
    start = spread_out(X, 6)
    sites = [X[:200], X[200:]]
    plain = simulate(KMeans(6, init=start), sites)
    run = simulate(KMeans(6, init=start), sites, min_count=60)
    assert plain.history.n_suppressed.sum() == 0
    steps = [r for r in run.rounds if r.kind == "step"]
    assert sum(r.n_suppressed for r in steps) > 0
    assert all(r.n_left_out < 60 * 6 * 2 for r in steps)
    assert np.isfinite(run.model.cluster_centers_).all()


@pytest.mark.parametrize("sizes", [(6,), (3, 3), (2, 2, 2)])
def test_no_released_count_is_below_min_count(sizes):
    X, least = rows_of(n=90), 20
    site = Site("a", X, rules=Rules(min_count=least))
    start = spread_out(X, sum(sizes))
    sets = np.split(start, np.cumsum(sizes)[:-1])
    seen = []
    answer = site.answer

    def listen(request):
        reply = answer(request)
        if reply["kind"] == "step":
            totals = reply["totals"]
            sums = unpacked_integers(totals["sums"], totals["sums"]["values"].shape)
            seen.append((totals, sums))
        return reply

    site.answer = listen
    estimator = KhatriRaoKMeans(sizes, init=sets) if len(sizes) > 1 else KMeans(6, init=start)
    simulate(estimator, [site], rounds=3)
    assert seen
    for totals, sums in seen:
        if "counts" in totals:
            cells = (totals["counts"]["values"].astype(int) << totals["counts"]["shift"]).reshape(
                sizes
            )
            axes = range(len(sizes))
            members = np.concatenate(
                [cells.sum(axis=tuple(a for a in axes if a != q)) for q in axes]
            )
            assert ((members == 0) | (members >= least)).all()
            assert (sums[members == 0] == 0).all()


def test_a_site_with_too_few_rows_has_no_part(caplog):
    X = rows_of()
    start = spread_out(X, 4)
    run = simulate(KMeans(4, init=start), [X[:3], X[3:]], min_count=5)
    assert "fewer rows than min_count=5" in run.rounds[0].refused["site-0"]
    same = simulate(KMeans(4, init=start), [X[3:]], min_count=5)
    assert_same_model(run.model, same.model)


# --- differential privacy --------------------------------------------------------------------


def test_noise_has_the_stated_scale():
    privacy = Privacy(radius=2.0, rho=0.7, rounds=400)
    X = np.zeros((50, 30))
    site = Site("a", X, rules=Rules(privacy=privacy), seed=0)
    frame = _frame(privacy, 50, 30, np.dtype(np.float64))
    codebook = codebook_message(DenseCodebook(np.zeros((2, 30))))
    counts, sums = [], []
    for number in range(400):
        request = {"round": number, "kind": "step", "frame_id": 1, "codebook": codebook}
        reply = site.answer(request | {"measured": False, "frame": frame_message(frame)})
        counts.append(unpacked_integers(reply["totals"]["counts"], (2,)) - [50, 0])
        sums.append(unpacked_integers(reply["totals"]["sums"], (2, 1, 30)) * privacy.grid)
    # A standard deviation of n draws is known to within 1 / sqrt(2 n).
    for draws, scale in [(counts, privacy.count_scale), (sums, privacy.sum_scale())]:
        draws = np.array(draws, dtype=float).ravel()
        assert abs(draws.mean()) < 5 * scale / np.sqrt(len(draws))
        assert abs(draws.std() / scale - 1) < 5 / np.sqrt(2 * len(draws))
    # The budget of all rounds: sums of sensitivity 2, counts of sensitivity 1.
    spent = 400 * (2.0**2 / (2 * privacy.sum_scale() ** 2) + 1 / (2 * privacy.count_scale**2))
    assert spent == pytest.approx(0.7)
    reply = site.answer(request | {"measured": False, "round": 401})
    assert "used up" in reply["refused"]


def test_rows_are_clipped_to_the_radius():
    privacy = Privacy(radius=3.0, rho=1.0)
    X = np.random.default_rng(0).normal(size=(100, 5)) * np.geomspace(1e-3, 1e300, 100)[:, None]
    lengths = np.linalg.norm(privacy.clipped(X), axis=1)
    assert lengths.max() <= 3.0
    np.testing.assert_allclose(privacy.clipped(X[:2]), X[:2], atol=privacy.grid)


@pytest.mark.parametrize("kind", ["survey", "ranges", "measure", "summary", "candidates", "local"])
def test_with_privacy_nothing_else_leaves(kind):
    site = Site("a", np.ones((9, 2)), rules=Rules(privacy=Privacy(1.0, 1.0)))
    assert "refused" in site.answer({"round": 1, "kind": kind})


@pytest.mark.parametrize("secure", [False, True])
@pytest.mark.parametrize("aggregator", [None, "sum", "product"])
def test_private_fits_come_near_with_a_large_budget(aggregator, secure):
    rng = np.random.default_rng(0)
    centers = rng.normal(size=(4, 3)) * 3
    X = np.clip(centers[rng.integers(4, size=4000)] + 0.1 * rng.normal(size=(4000, 3)), -8, 8)
    privacy = Privacy(radius=16.0, rho=1e4, rounds=8)
    estimator = KMeans(4, init=centers + 0.3)
    if aggregator is not None:
        sets = [centers[:2], np.zeros((2, 3)) if aggregator == "sum" else np.ones((2, 3))]
        sets[1][1] += 0.2
        estimator = KhatriRaoKMeans((2, 2), aggregator=aggregator, init=sets)
    run = simulate(estimator, [X[:1500], X[1500:]], privacy=privacy, secure=secure, random_state=0)
    assert np.isnan(run.model.inertia_)
    assert (run.history.kind == "step").sum() == 8
    central = -estimator.fit(X).score(X)
    assert -run.model.score(X) < 1.05 * central + 1


def test_more_privacy_is_less_exact():
    X = rows_of(np.float64, n=3000)
    estimator = KMeans(5, random_state=0)
    inertias = [
        -simulate(estimator, [X], privacy=Privacy(30.0, rho), random_state=0).model.score(X)
        for rho in (1e-4, 1e2)
    ]
    assert inertias[0] > inertias[1]


def test_epsilon_of_a_budget():
    assert Privacy(1.0, 0.5).epsilon(1e-6) == pytest.approx(0.5 + 2 * np.sqrt(0.5 * np.log(1e6)))


def test_privacy_and_masks_are_for_the_exact_method():
    with pytest.raises(ValueError, match='method="exact"'):
        simulate(KMeans(2), [rows_of()], method="local", secure=True)
