import os
import threading
import time
from collections.abc import Callable

import pytest

from moet_boot.planes.workers import default_threads, run_in_threads


def doubling() -> Callable[[int], int]:
    return lambda number: 2 * number


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_every_job_gives_its_result_once(threads: int) -> None:
    assert sorted(run_in_threads(range(100), doubling, threads)) == list(range(0, 200, 2))


def test_no_jobs_give_no_results() -> None:
    assert list(run_in_threads([], doubling, 3)) == []


def test_none_is_a_result_like_any_other() -> None:
    assert list(run_in_threads(range(20), lambda: lambda _: None, 2)) == [None] * 20


def test_each_thread_makes_its_own_tools() -> None:
    made: list[str] = []

    def make_work() -> Callable[[int], str]:
        made.append(threading.current_thread().name)
        return lambda _: threading.current_thread().name

    ran = set(run_in_threads(range(50), make_work, 4))
    assert len(made) == len(set(made)) == 4
    assert ran <= set(made)


def test_a_failure_stops_the_rest_and_is_raised() -> None:
    started: list[int] = []

    def work(job: int) -> int:
        started.append(job)
        if job == 3:
            raise ValueError("three")
        time.sleep(0.0001)  # a machine that is busy elsewhere must not let one thread run through them all
        return job

    with pytest.raises(ValueError, match="three"):
        list(run_in_threads(range(100_000), lambda: work, 2))
    assert len(started) < 100_000


def test_a_failure_to_make_the_tools_is_raised() -> None:
    def make_work() -> Callable[[int], int]:
        raise MemoryError

    with pytest.raises(MemoryError):
        list(run_in_threads(range(3), make_work, 2))


def test_no_thread_outlives_a_caller_that_stops_early() -> None:
    results = run_in_threads(range(10_000), doubling, 3)
    next(results)
    results.close()  # type: ignore[attr-defined]
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("planes-")]


def test_threads_by_default_grow_with_the_cpus_within_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    assert default_threads() == 12
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(192)))
    assert default_threads() == 24
