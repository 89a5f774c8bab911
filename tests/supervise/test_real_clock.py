import time

from moet_boot.supervise.real_clock import ImpatientClock, RealClock


def test_the_real_clock_is_monotonic_time() -> None:
    before = time.monotonic()
    assert before <= RealClock().now() <= time.monotonic()


def test_patience_is_over_once_and_for_all() -> None:
    hurried = [False]
    clock = ImpatientClock(lambda: hurried[0])
    deadline = clock.now() + 600
    assert clock.now() < deadline
    hurried[0] = True
    assert clock.now() > deadline
    hurried[0] = False
    later = clock.now() + 10
    assert deadline < clock.now() < later
