"""Threads that wait between calls."""

import multiprocessing
import threading
import time

import pytest

from polymeans.core.threads import Threads, running_threads
from polymeans.core.workers import share


def test_results_are_in_the_order_of_the_tasks():
    assert share(lambda x: x * x, list(range(100)), 4) == [x * x for x in range(100)]


def test_several_threads_take_part():
    meeting = threading.Barrier(3, timeout=30)

    def task(number):
        meeting.wait()
        return threading.get_ident()

    assert len(set(share(task, [0, 1, 2], 3))) == 3


def test_no_more_threads_than_asked_for():
    at_work, most, lock = [], [], threading.Lock()

    def task(number):
        with lock:
            at_work.append(number)
            most.append(len(at_work))
        time.sleep(0.001)
        with lock:
            at_work.remove(number)

    share(task, list(range(30)), 5)  # so that enough threads are there
    most.clear()
    share(task, list(range(30)), 2)
    assert max(most) <= 2


def test_an_error_reaches_the_caller_and_ends_the_work():
    done = []

    def task(number):
        if number == 3:
            raise ValueError("number 3")
        done.append(number)

    with pytest.raises(ValueError, match="number 3"):
        share(task, list(range(1000)), 2)
    assert len(done) < 1000
    assert share(lambda x: x, [1, 2], 2) == [1, 2]


def test_calls_from_several_threads_do_not_wait_for_each_other():
    results = {}

    def call(number):
        results[number] = [sum(share(lambda x: x + number, list(range(50)), 3)) for _ in range(50)]

    callers = [threading.Thread(target=call, args=(number,)) for number in range(6)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join(timeout=60)
        assert not caller.is_alive()
    for number, found in results.items():
        assert found == [sum(range(50)) + 50 * number] * 50


def test_within_a_task_there_is_one_thread():
    with Threads(3) as threads:
        inside = threads.map(lambda _: running_threads().n_threads, range(6))
        assert inside == [1] * 6
        assert running_threads() is threads


def _in_child(queue):
    queue.put(share(lambda x: 2 * x, list(range(20)), 3))


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_has_threads_of_its_own():
    share(lambda x: x, list(range(20)), 3)
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_in_child, args=(queue,))
    child.start()
    assert queue.get(timeout=60) == [2 * x for x in range(20)]
    child.join(timeout=60)
    assert child.exitcode == 0
