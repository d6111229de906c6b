"""Two factors by selection: the kernels beside brute force, budgets, and poor input."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_digits

from polymeans import KMeans
from polymeans.core.threads import Threads
from polymeans.factorization import factorize, hierarchical_palm4msa
from polymeans.factorization.pair import Pair, refit_pair
from polymeans.factorization.pair_selection import select_supports
from polymeans.factorization.sparse_coding import SparseCoding, largest
from polymeans.factorization.two_factors import start_pair
from polymeans.kernels import atom_selection as kernels


@pytest.fixture(scope="module")
def centroids():
    """Of handwritten digits, with their masses."""
    model = KMeans(40, random_state=0).fit(load_digits().data)
    return model.cluster_centers_, np.bincount(model.labels_).astype(float)


def squared_error(target, atoms, support):
    """Of the best combination of some atoms (columns)."""
    if not len(support):
        return float(target @ target)
    x = np.linalg.lstsq(atoms[:, support], target, rcond=None)[0]
    return float(np.sum((target - atoms[:, support] @ x) ** 2))


# --- kernels -----------------------------------------------------------------------------------


def eliminated_slowly(target, atoms, allowed):
    """Drop the atom whose loss costs least, one after the other."""
    values, left, path = np.zeros(atoms.shape[1]), list(np.flatnonzero(allowed)), 0.0
    while left:
        now = squared_error(target, atoms, left)
        costs = [squared_error(target, atoms, [b for b in left if b != a]) - now for a in left]
        worst = int(np.argmin(costs))
        path = max(path, costs[worst])
        values[left.pop(worst)] = path
    return values


def pursued_slowly(target, atoms, depth):
    """Add the atom that saves most, one after the other."""
    values, chosen, path = np.zeros(atoms.shape[1]), [], np.inf
    for _ in range(depth):
        now = squared_error(target, atoms, chosen)
        saved = [
            -1.0 if a in chosen else now - squared_error(target, atoms, [*chosen, a])
            for a in range(atoms.shape[1])
        ]
        best = int(np.argmax(saved))
        path = min(path, saved[best])
        values[best] = path
        chosen.append(best)
    return values


@pytest.mark.parametrize("seed", range(5))
def test_elimination_is_what_dropping_one_by_one_gives(seed):
    rng = np.random.default_rng(seed)
    atoms, targets = rng.normal(size=(12, 7)), rng.normal(size=(9, 12))
    allowed = rng.random((9, 7)) < 0.7
    values = SparseCoding(targets, atoms, Threads(1)).elimination_values(allowed, np.inf)
    for j in range(9):
        assert_allclose(values[j], eliminated_slowly(targets[j], atoms, allowed[j]), rtol=1e-6)


def test_impatient_elimination_agrees_below_its_patience():
    rng = np.random.default_rng(0)
    atoms, targets = rng.normal(size=(30, 20)), rng.normal(size=(50, 30))
    side, allowed = SparseCoding(targets, atoms, Threads(1)), np.ones((50, 20), dtype=bool)
    whole = side.elimination_values(allowed, np.inf)
    patience = float(np.median(whole))
    hasty = side.elimination_values(allowed, patience)
    assert_array_equal(hasty <= patience, whole <= patience)
    assert_allclose(hasty[whole <= patience], whole[whole <= patience])


@pytest.mark.parametrize("seed", range(5))
def test_pursuit_is_orthogonal_least_squares(seed):
    rng = np.random.default_rng(seed)
    atoms, targets = rng.normal(size=(12, 7)), rng.normal(size=(9, 12))
    side = SparseCoding(targets, atoms, Threads(1))
    values = np.empty(side.shape)
    room = np.empty((4, 7)), np.empty(7), np.empty(7)
    kernels.pursue(side.gram, side.right, 4, 0.0, 0, 9, values, *room)
    for j in range(9):
        assert_allclose(values[j], pursued_slowly(targets[j], atoms, 4), rtol=1e-6)


def test_dependent_atoms_do_not_disturb():
    rng = np.random.default_rng(0)
    atoms = rng.normal(size=(6, 4))
    atoms = np.hstack([atoms, atoms, np.zeros((6, 1))])
    targets = rng.normal(size=(5, 6))
    side = SparseCoding(targets, atoms, Threads(1))
    values = side.elimination_values(np.ones((5, 9), dtype=bool), np.inf)
    assert np.isfinite(values).all()
    codes = side.solve(np.zeros((5, 9)), largest(values, 20))
    best = [squared_error(target, atoms, np.arange(4)) for target in targets]
    assert_allclose(((targets - codes @ atoms.T) ** 2).sum(axis=1), best, rtol=1e-6)


@given(st.integers(0, 30), st.integers(0, 2**31))
def test_largest_keeps_as_many_as_asked(n, seed):
    values = np.random.default_rng(seed).integers(0, 4, (4, 6)).astype(float)
    kept = largest(values, n)
    assert kept.sum() == min(n, np.count_nonzero(values))
    assert not kept.any() or not (values[~kept].max(initial=0) > values[kept].min())


def test_sweeps_never_raise_the_error_and_rounds_keep_the_best(centroids):
    target, rng = centroids[0], np.random.RandomState(0)
    with Threads(1, one_blas_thread=True) as threads:
        pair = start_pair(target, 10, 900, threads, rng, upright=True)
        errors = []
        pair, error = select_supports(
            pair, target, 900, threads, n_rounds=6, on_round=errors.append
        )
        assert error == min(errors) == pytest.approx(pair.error(target))
        assert pair.nnz <= 900
        support = pair.left != 0, pair.right != 0
        for _ in range(5):
            before = pair.error(target)
            refit_pair(pair, target, threads, max_sweeps=1)
            assert pair.error(target) <= before * (1 + 1e-12)
        assert_array_equal(pair.left != 0, support[0])
        assert_array_equal(pair.right != 0, support[1])


# --- factorize ---------------------------------------------------------------------------------


def test_beats_palm_at_equal_numbers_of_nonzeros(centroids):
    target, weights = centroids
    for level in (2, 3):
        palm = hierarchical_palm4msa(target, sparsity_level=level, weights=weights)
        ours = factorize(target, n_nonzeros=palm.nnz, weights=weights, random_state=0)
        assert ours.nnz <= palm.nnz
        assert ours.errors[-1] < 0.4 * palm.errors[-1]


def test_error_is_the_weighted_one_and_the_operator_the_product(centroids):
    target, weights = centroids
    found = factorize(target, n_nonzeros=800, weights=weights, random_state=0)
    residual = target - found.factors[0].toarray() @ found.factors[1].toarray()
    assert found.errors[-1] == pytest.approx(weights @ (residual**2).sum(axis=1))
    assert_allclose(found.operator.toarray(), target - residual)
    norm = np.sqrt(weights @ (target**2).sum(axis=1))
    assert found.relative_error == pytest.approx(np.sqrt(found.errors[-1]) / norm)


def test_weights_direct_the_error(centroids):
    target, _ = centroids
    weights = np.where(np.arange(len(target)) < 10, 100.0, 1.0)
    plain = factorize(target, n_nonzeros=600, random_state=0)
    heavy = factorize(target, n_nonzeros=600, weights=weights, random_state=0)

    def own(found):
        return float(((target - found.toarray())[:10] ** 2).sum())

    assert own(heavy) < 0.5 * own(plain)


def test_tall_and_wide_targets_are_alike(centroids):
    target, _ = centroids
    wide = factorize(target, n_nonzeros=800, random_state=0)
    tall = factorize(target.T, n_nonzeros=800, random_state=0)
    assert tall.errors[-1] == pytest.approx(wide.errors[-1], rel=0.3)


def test_same_bits_for_any_number_of_threads(centroids):
    found = [
        factorize(centroids[0], n_nonzeros=700, random_state=3, n_threads=n) for n in (1, 2, 3)
    ]
    for other in found[1:]:
        for a, b in zip(found[0].factors, other.factors, strict=True):
            assert_array_equal(a.toarray(), b.toarray())


@pytest.mark.parametrize("n_factors", [3, 5])
def test_chains_keep_the_budget(centroids, n_factors):
    found = factorize(centroids[0], n_nonzeros=900, n_factors=n_factors)
    assert len(found.factors) == n_factors
    assert found.nnz <= 900
    assert found.relative_error < 0.3


numbers = st.one_of(
    st.integers(-3, 3).map(float),
    st.floats(-1e6, 1e6),
    st.sampled_from([1e-12, -1e12, 1e-300]),
)
matrices = arrays(np.float64, array_shapes(min_dims=2, max_dims=2, max_side=9), elements=numbers)


@settings(deadline=None, max_examples=25)
@given(matrices, st.integers(2, 60), st.integers(0, 3))
def test_any_matrix_gives_finite_factors_within_the_budget(target, n_nonzeros, seed):
    before = target.copy()
    found = factorize(target, n_nonzeros=n_nonzeros, random_state=seed)
    assert_array_equal(target, before)
    assert found.nnz <= n_nonzeros
    assert all(np.isfinite(factor.data).all() for factor in found.factors)
    assert found.relative_error <= 1 + 1e-9
    assert target.any() or found.nnz == 0


@settings(deadline=None, max_examples=40)
@given(matrices)
def test_room_for_everything_loses_nothing(target):
    found = factorize(target, n_nonzeros=target.size + min(target.shape), random_state=0)
    assert found.relative_error < 1e-5


def test_low_rank_zero_and_thin_targets():
    rng = np.random.default_rng(0)
    low = np.outer(rng.normal(size=20), rng.normal(size=30))
    assert factorize(low, n_nonzeros=50, random_state=0).relative_error < 1e-6
    assert factorize(np.zeros((4, 5)), n_nonzeros=6).errors[-1] == 0
    for shape in ((1, 8), (8, 1), (1, 1)):
        found = factorize(np.ones(shape), n_nonzeros=9)
        assert found.relative_error < 1e-9
    weights = np.array([1.0, 0, 2, 0])
    found = factorize(rng.normal(size=(4, 6)), n_nonzeros=8, weights=weights, random_state=0)
    assert np.isfinite(found.toarray()).all()


def test_sparse_and_single_precision_targets(centroids):
    target = np.where(centroids[0] < 3, 0, centroids[0])
    dense = factorize(target, n_nonzeros=500, random_state=0)
    sparse = factorize(sp.csr_array(target), n_nonzeros=500, random_state=0)
    assert_array_equal(dense.toarray(), sparse.toarray())
    assert factorize(target.astype(np.float32), n_nonzeros=500, random_state=0).nnz <= 500


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n_nonzeros": 1}, "n_nonzeros"),
        ({"n_nonzeros": 2.5}, "n_nonzeros"),
        ({"sparsity_level": 0}, "sparsity_level"),
        ({"n_factors": 1}, "n_factors"),
        ({"n_factors": "two"}, "n_factors"),
        ({"method": "svd"}, "method"),
        ({"method": "palm4msa", "n_nonzeros": 10}, "n_nonzeros=10"),
        ({"effort": 0}, "effort"),
        ({"weights": [1.0]}, "weights"),
        ({"weights": -np.ones(6)}, "weights"),
        ({"n_threads": 0}, "n_threads"),
    ],
)
def test_errors_name_what_is_wrong(options, words):
    with pytest.raises((ValueError, TypeError), match=words):
        factorize(np.eye(6), **options)


def test_not_finite_targets_are_refused():
    with pytest.raises(ValueError, match="NaN"):
        factorize([[1.0, np.nan]])


def test_a_level_beyond_the_matrix_is_said_once():
    with pytest.warns(UserWarning, match="sparsity_level=9") as said:
        factorize(np.random.default_rng(0).normal(size=(4, 6)), sparsity_level=9)
    assert len(said) == 1


def test_pair_leaves_out_what_neither_side_needs():
    pair = Pair(np.array([[1.0, 0, 3], [0, 0, 4]]), np.array([[4.0, 1, 0], [0, 2, 0]]))
    product = pair.left @ pair.right.T
    pair.balance()
    assert pair.left.shape == (2, 1)
    assert_allclose(pair.left @ pair.right.T, product)
    assert np.linalg.norm(pair.left) == pytest.approx(np.linalg.norm(pair.right))


@pytest.mark.parametrize("shape", [(6, 4), (8, 20), (20, 8), (5, 5)])
def test_room_for_the_matrix_itself_is_exact(shape):
    target = np.random.default_rng(0).normal(size=shape)
    target[1] = 0
    found = factorize(target, n_nonzeros=10**6)
    assert_array_equal(found.toarray(), target)
