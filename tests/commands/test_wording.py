"""Errors of the library name options, not parameters."""

import pytest

from polymeans.commands.wording import in_options
from tests.commands.running import check_error, polymeans_here


@pytest.mark.parametrize(
    ("message", "command", "expected"),
    [
        ("n_init must be an integer, got -1.", "fit", "--n-init must be an integer, got -1."),
        ("image_shape=(3, 5) makes 15", "report", "--image-shape (3, 5) makes 15"),
        ("n_samples=4 should be >= n_clusters=9.", "compare", "n_samples=4 should be >= -k 9."),
        ("Each of n_clusters must be", "choose", "Each of -k must be"),
        ("budget must be positive", "compare", "--budget must be positive"),
        ("budget must be positive", "fit", "budget must be positive"),  # it has no such option
        ("model.n_init must be", "fit", "model.n_init must be"),
        ("the criterion was", "choose", "the criterion was"),
        ("anything", "", "anything"),
    ],
)
def test_parameters_become_options(message, command, expected):
    assert in_options(message, command) == expected


def test_the_hint_names_the_command(tmp_path):
    (tmp_path / "x.csv").write_text("a,b\n1,2\n3,4\n5,6\n")
    done = polymeans_here("choose", "x.csv", "-k", "1,2", folder=tmp_path)
    check_error(done, "-k [1, 2] has no number", "(hint: polymeans choose --help)")
    done = polymeans_here("compare", "x.csv", "-k", 9, folder=tmp_path)
    check_error(done, "should be >= -k 9", "(hint: polymeans compare --help)")
    done = polymeans_here("compare", "x.csv", "-k", 2, "--budget", "-1", folder=tmp_path)
    check_error(done, "--budget must be", "(hint: polymeans compare --help)")
