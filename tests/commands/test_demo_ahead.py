"""Another process compiles what the demo needs later."""

from polymeans.commands import demo_ahead
from polymeans.commands.demo_ahead import CompilingAhead


def test_nothing_is_done_where_kernels_are_there(monkeypatch):
    monkeypatch.setattr(demo_ahead, "has_compiled_before", lambda: True)
    with CompilingAhead(0, True) as ahead:
        ahead.wait_for("KhatriRaoKMeans")
        assert ahead._pool is None


def test_a_problem_is_solved_ahead(monkeypatch):
    monkeypatch.setattr(demo_ahead, "has_compiled_before", lambda: False)
    monkeypatch.setattr(demo_ahead.os, "cpu_count", lambda: 2)
    monkeypatch.setattr(demo_ahead, "_AHEAD", ("L1KMeans",))
    with CompilingAhead(0, True) as ahead:
        task = ahead._tasks["L1KMeans"]
        ahead.wait_for("KMeans")  # which is not among them
        while not task.running() and not task.done():
            pass
        ahead.wait_for("L1KMeans")
        assert task.done()
        assert task.exception() is None


def test_a_process_that_fails_is_no_matter(monkeypatch):
    monkeypatch.setattr(demo_ahead, "has_compiled_before", lambda: False)
    monkeypatch.setattr(demo_ahead.os, "cpu_count", lambda: 2)
    with CompilingAhead("no seed", True) as ahead:
        task = ahead._tasks["KhatriRaoKMeans"]
        while not task.running() and not task.done():
            pass
        ahead.wait_for("KhatriRaoKMeans")
        assert task.done()
        assert task.exception() is not None
