"""Soft assignments, both losses and their gradients against slow formulas in float64."""

import numpy as np
import pytest
import torch

from polymeans.deep.dkm_loss import DKMLoss, dkm_loss, taught_dkm_loss
from polymeans.deep.idec_loss import (
    IDECLoss,
    idec_loss,
    student_t_assignment,
    target_distribution,
)


@pytest.fixture
def distances():
    return np.random.default_rng(0).uniform(0.01, 3.0, size=(7, 5))


def slow_softmax(values):
    powers = np.exp(values - max(values))
    return powers / powers.sum()


@pytest.mark.parametrize("alpha", [0.5, 1.0, 1000.0])
def test_dkm(distances, alpha):
    expected = np.mean([np.sum(row * slow_softmax(-alpha * row)) for row in distances])
    found = dkm_loss(torch.from_numpy(distances), alpha)
    np.testing.assert_allclose(float(found), expected, rtol=1e-12)


def test_taught_dkm(distances):
    targets = np.random.default_rng(1).dirichlet(np.ones(5), size=7)
    expected = np.mean(
        [
            sum(p * (d - np.log(q)) for p, d, q in zip(target, row, slow_softmax(-row)))
            for target, row in zip(targets, distances)
        ]
    )
    found = taught_dkm_loss(torch.from_numpy(distances), torch.from_numpy(targets))
    np.testing.assert_allclose(float(found), expected, rtol=1e-12)


@pytest.mark.parametrize("alpha", [0.5, 1.0, 4.0])
def test_idec(distances, alpha):
    q = np.array([[(1 + d / alpha) ** (-(alpha + 1) / 2) for d in row] for row in distances])
    q /= q.sum(axis=1, keepdims=True)
    p = np.array([[q[i, c] ** 2 / q[:, c].sum() for c in range(5)] for i in range(7)])
    p /= p.sum(axis=1, keepdims=True)
    soft = student_t_assignment(torch.from_numpy(distances), alpha)
    np.testing.assert_allclose(soft.numpy(), q, rtol=1e-12)
    np.testing.assert_allclose(target_distribution(soft).numpy(), p, rtol=1e-12)
    expected = np.mean(np.sum(p * np.log(p / q), axis=1))
    found = idec_loss(torch.from_numpy(distances), torch.from_numpy(p), alpha)
    np.testing.assert_allclose(float(found), expected, rtol=1e-10)


def test_divergence_from_hard_targets_is_finite(distances):
    found = idec_loss(
        torch.from_numpy(distances), torch.eye(5, dtype=torch.float64)[:, :5][[0] * 7], 1.0
    )
    assert np.isfinite(float(found))


@pytest.mark.parametrize("loss", [DKMLoss(), DKMLoss(2.0), IDECLoss(), IDECLoss(3.0)], ids=str)
def test_gradients(loss, distances):
    given = torch.from_numpy(distances).requires_grad_()
    targets = loss.sharpened(loss.assignments(given.detach()))
    assert torch.allclose(targets.sum(dim=1), torch.ones(7, dtype=torch.float64))
    assert torch.autograd.gradcheck(lambda d: loss.taught(d, targets), (given,))
    # At alpha = 1000 the softmax is a step, whose slope no small difference measures.
    if loss.alpha < 100:
        assert torch.autograd.gradcheck(lambda d: loss.published(d, targets), (given,))


def test_far_rows_give_finite_losses_and_gradients():
    far = torch.full((3, 4), 1e30, dtype=torch.float32, requires_grad=True)
    for loss in (DKMLoss(), IDECLoss()):
        targets = torch.full((3, 4), 0.25)
        total = loss.taught(far, targets)
        total.backward()
        assert torch.isfinite(total)
        assert torch.isfinite(far.grad).all()
