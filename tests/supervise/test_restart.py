import pytest
from hypothesis import given
from hypothesis import strategies as st

from moet_boot.profile.model import Restart
from moet_boot.supervise.restart import Again, GiveUp, decide

POLICY = Restart(why="w", source="s", budget=3, window_s=600, backoff_s=5, backoff_max_s=12)


@pytest.mark.parametrize(("count", "wait"), [(1, 5.0), (2, 10.0), (3, 12.0)], ids=["first", "doubled", "capped"])
def test_the_backoff_doubles_up_to_its_cap(count: int, wait: float) -> None:
    choice = decide(
        restartable=True, kind="hang", was_ready=True, failures_at=[100.0] * count, now=100.0, policy=POLICY
    )
    assert choice == Again(after_s=wait, attempt=count)


def test_failures_outside_the_window_are_forgotten() -> None:
    old = [0.0, 1.0, 2.0, 3.0]
    choice = decide(
        restartable=True, kind="hang", was_ready=True, failures_at=[*old, 1000.0], now=1000.0, policy=POLICY
    )
    assert choice == Again(after_s=5.0, attempt=1)


def test_what_does_not_pass_is_given_up_whatever_the_budget() -> None:
    choice = decide(restartable=False, kind="usage", was_ready=False, failures_at=[1.0], now=1.0, policy=POLICY)
    assert isinstance(choice, GiveUp)
    assert "usage" in choice.reason
    assert "before it was ready" in choice.reason


@given(st.lists(st.floats(0, 10_000), min_size=1, max_size=30), st.floats(0, 1000))
def test_more_failures_never_bring_a_restart_back(times: list[float], later: float) -> None:
    now = max(times) + later
    first = decide(restartable=True, kind="hang", was_ready=True, failures_at=times, now=now, policy=POLICY)
    more = decide(restartable=True, kind="hang", was_ready=True, failures_at=[*times, now], now=now, policy=POLICY)
    if isinstance(first, GiveUp):
        assert isinstance(more, GiveUp)
    if isinstance(first, Again) and isinstance(more, Again):
        assert more.after_s >= first.after_s
