from collections import deque

import pytest

from moet_boot.supervise.settle import wait_for_memory
from moet_boot.units import GIB
from tests.supervise.fakes import FakeClock, FakeMemory


def settle(
    memory: FakeMemory, clock: FakeClock, needed_gib: int = 100, cancelled: bool = False
) -> tuple[bool, float, str]:
    found = wait_for_memory(memory, clock, needed_bytes=needed_gib * GIB, timeout_s=300, cancelled=lambda: cancelled)
    return found.enough, found.seconds, found.words


def test_memory_that_is_there_is_still_watched_until_it_is_steady() -> None:
    clock = FakeClock()
    enough, seconds, _ = settle(FakeMemory(110 * GIB), clock)
    assert enough
    assert 2.9 < seconds < 4


def test_a_slow_release_is_waited_for() -> None:
    rising = deque([8 * GIB + i * GIB for i in range(110)])
    enough, seconds, words = settle(FakeMemory(script=rising), FakeClock())
    assert enough
    assert seconds > 100
    assert "available again" in words


def test_memory_that_stays_away_is_reported_with_both_figures() -> None:
    enough, seconds, words = settle(FakeMemory(30 * GIB), FakeClock())
    assert not enough
    assert seconds >= 300
    assert "30.00 GiB available" in words
    assert "100.00 GiB needed" in words


def test_enough_memory_that_keeps_rising_at_the_end_counts_as_enough() -> None:
    rising = deque([100 * GIB + i * GIB for i in range(400)])
    enough, seconds, _ = settle(FakeMemory(script=rising), FakeClock())
    assert enough
    assert seconds >= 300


def test_a_machine_that_does_not_tell_is_not_enough() -> None:
    assert settle(FakeMemory(None), FakeClock())[0] is False


@pytest.mark.parametrize("available", [30, 200])
def test_a_signal_ends_the_wait(available: int) -> None:
    _, seconds, _ = settle(FakeMemory(available * GIB), FakeClock(), cancelled=True)
    assert seconds == 0
