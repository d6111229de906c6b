"""Kernels of the demo's later problems, compiled by another process while the first are solved."""

import os
from concurrent.futures import Future, ProcessPoolExecutor
from multiprocessing import get_context
from typing import Self

#: Problems that compile most, in their order; the others are compiled here meanwhile.
_AHEAD = ("KhatriRaoKMeans", "NonRedundantKMeans")


class CompilingAhead:
    """Solves problems of the demo in another process, so that their kernels are on the disk.

    Nothing is done where kernels of an earlier demo are on the disk, or where there is one core.

    Parameters
    ----------
    seed : int
        As for the demo itself.
    quick : bool
        The same.
    """

    def __init__(self, seed: int, quick: bool) -> None:
        self._how = seed, quick
        self._pool: ProcessPoolExecutor | None = None
        self._tasks: dict[str, Future[None]] = {}

    def __enter__(self) -> Self:
        if has_compiled_before() or (os.cpu_count() or 1) < 2:
            return self
        self._pool = ProcessPoolExecutor(1, get_context("spawn"))
        for name in _AHEAD:
            self._tasks[name] = self._pool.submit(solve_one, name, *self._how)
        return self

    def __exit__(self, *error: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=error[0] is None, cancel_futures=True)

    def wait_for(self, name: str) -> None:
        """Wait if a problem is being solved ahead; if it is not begun yet, it will not be."""
        task = self._tasks.get(name)
        if task is not None and not task.cancel():
            task.exception()  # what fails there is compiled, and told of, here


def has_compiled_before() -> bool:
    """Whether a kernel of Khatri-Rao grids is on the disk."""
    from polymeans.kernels.cache import kernel_files

    return any("grid_trials" in path.name for path in kernel_files())


def solve_one(name: str, seed: int, quick: bool) -> None:
    """Solve the problem of this name, for its kernels."""
    from polymeans.commands.compiling import Compiling
    from polymeans.commands.demo_problems import problems, solve

    with Compiling() as compiling:
        for problem in problems(seed, quick):
            if problem.name == name:
                solve(problem, compiling)
