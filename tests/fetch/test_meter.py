import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from moet_boot.fetch.meter import Meter, StoppedError


class Heard:
    """What was reported."""

    def __init__(self) -> None:
        self.last = (0, 0)
        self.count = 0

    def __call__(self, done: int, total: int) -> None:
        self.last = (done, total)
        self.count += 1


def test_threads_count_together() -> None:
    heard = Heard()
    meter = Meter(4000, heard, threading.Event())
    with ThreadPoolExecutor(4) as pool:
        for _ in range(4000):
            pool.submit(meter.tick, 1)
    assert heard.last == (4000, 4000)
    assert heard.count == 4000


def test_more_can_turn_up() -> None:
    heard = Heard()
    meter = Meter(10, heard, threading.Event())
    meter.expect(5)
    meter.tick(3)
    assert heard.last == (3, 15)


def test_running_totals_are_relayed_as_bytes() -> None:
    heard = Heard()
    meter = Meter(100, heard, threading.Event())
    one, other = meter.relay(), meter.relay()
    one(10, 50)
    other(7, 50)
    one(25, 50)
    assert heard.last == (32, 100)


def test_a_stop_reaches_everybody() -> None:
    stop = threading.Event()
    meter = Meter(10, Heard(), stop)
    relay = meter.relay()
    stop.set()
    with pytest.raises(StoppedError):
        meter.tick(1)
    with pytest.raises(StoppedError):
        relay(1, 10)
