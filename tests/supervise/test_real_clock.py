import time

from moet_boot.supervise.real_clock import ImpatientClock, RealClock
from moet_boot.supervise.signals import SignalQueue


def test_the_real_clock_is_monotonic_time() -> None:
    before = time.monotonic()
    assert before <= RealClock().now() <= time.monotonic()


def test_while_somebody_waits_a_sign_is_given_now_and_then() -> None:
    signs: list[int] = []
    clock = ImpatientClock(lambda: 0, lambda: signs.append(1))
    for _ in range(20):
        clock.sleep(0.0001)
    assert len(signs) == 1
    clock._next_sign = 0.0
    clock.sleep(0)
    assert len(signs) == 2


def test_each_signal_ends_a_grace_that_has_begun_and_none_that_begins_later() -> None:
    signals = SignalQueue()
    clock = ImpatientClock(lambda: signals.arrived)
    for _ in range(2):
        signals.put(15)
        signals.put(1)
        deadline = clock.now() + 600
        assert clock.now() < deadline, "what came before"
        signals.take()
        assert clock.now() < deadline, "handled, not arrived"
        signals.put(2)
        assert clock.now() > deadline
