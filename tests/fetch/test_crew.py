import threading
import time
from functools import partial

import pytest

from moet_boot.fetch import crew as module
from moet_boot.fetch.crew import results_of


def test_every_result_comes() -> None:
    jobs = [partial(pow, number, 2) for number in range(100)]
    assert sorted(results_of(jobs, 4, threading.Event())) == [number**2 for number in range(100)]


def test_no_jobs() -> None:
    assert list(results_of([], 4, threading.Event())) == []


def test_so_many_at_once_and_no_more() -> None:
    together, lock = [0, 0], threading.Lock()

    def job() -> None:
        with lock:
            together[0] += 1
            together[1] = max(together)
        time.sleep(0.002)
        with lock:
            together[0] -= 1

    list(results_of([job] * 30, 3, threading.Event()))
    assert together == [0, 3]


def fail() -> int:
    raise ValueError("it went wrong")


def test_the_first_failure_is_raised_and_stops_the_rest() -> None:
    stop = threading.Event()
    begun: list[int] = []

    def patient(number: int) -> int:
        begun.append(number)
        stop.wait(30)
        return number

    with pytest.raises(ValueError, match="it went wrong"):
        list(results_of([partial(fail), *[partial(patient, number) for number in range(20)]], 2, stop))
    assert stop.is_set()
    assert len(begun) <= 3


def test_who_stops_listening_stops_the_rest() -> None:
    stop = threading.Event()
    results = results_of([lambda: 1, lambda: stop.wait(30) and 2], 2, stop)
    assert next(results) == 1
    results.close()  # type: ignore[attr-defined]
    assert stop.is_set()


def test_a_job_that_hangs_is_left_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "GRACE_S", 0.02)
    hung, returned = threading.Event(), threading.Event()

    def hang() -> int:
        hung.wait(50)
        returned.set()
        return 1

    with pytest.raises(ValueError, match="it went wrong"):
        list(results_of([hang, fail], 2, threading.Event()))
    assert not returned.is_set()
    hung.set()
