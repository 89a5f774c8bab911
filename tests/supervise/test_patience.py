from moet_boot.supervise.patience import Patience
from moet_boot.supervise.real_clock import ImpatientClock
from moet_boot.supervise.signals import SignalQueue
from tests.supervise.fakes import FakeGuard


def test_a_guard_that_dies_ends_the_grace_of_a_stop() -> None:
    patience = Patience(SignalQueue())
    clock = ImpatientClock(patience.lost)
    patience.guard = guard = FakeGuard()
    patience.signals.put(15)
    deadline = clock.now() + 600
    assert clock.now() < deadline
    guard.alive = False
    assert clock.now() > deadline
    assert clock.now() < clock.now() + 600, "the kill that follows has its time"


def test_signals_count_and_no_guard_is_no_reason() -> None:
    patience = Patience(SignalQueue())
    assert patience.lost() == 0
    patience.signals.put(15)
    patience.signals.take()
    assert patience.lost() == 1
