import errno
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from moet_boot.phases import Phase
from moet_boot.supervise.listener import Listener
from moet_boot.supervise.listeners import RECENT_POINTS, Several, SituationListener, StatusFile, Systemd
from moet_boot.supervise.notify import SystemdNotifier
from moet_boot.supervise.situation import Situation
from moet_boot.supervise.status import Status, process_start, read_status


class Recorded(SystemdNotifier):
    """Remembers what would go to systemd."""

    def __init__(self, watchdog_s: float | None = None) -> None:
        super().__init__({})
        self.watchdog_s = watchdog_s
        self.sent: list[str] = []

    def send(self, *lines: str) -> bool:
        self.sent += lines
        return True


def no_space(*_args: object, **_options: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.fixture
def situation() -> Situation:
    return Situation(profile="demo")


def floor_in(phase: Phase) -> int:
    return 4 if phase is Phase.SERVING else 8


def test_the_floor_is_that_of_the_phase(situation: Situation) -> None:
    listener, file = SituationListener(situation, floor_in), StatusFile(a_status(), situation)
    seen = []
    for phase in (Phase.STARTING, Phase.KV_CACHE, Phase.SERVING):
        listener.phase(phase, 1.0)
        file.phase(phase, 1.0)
        found = read_status(8123)
        assert found is not None
        seen.append((situation.floor_bytes, found.status.floor_bytes))
    listener.down()
    assert seen == [(8, 8), (8, 8), (4, 4)]
    assert situation.floor_bytes == 8


def a_status() -> Status:
    return Status(
        profile="demo",
        url="http://127.0.0.1:8123",
        port=8123,
        receipt="r",
        supervisor_pid=os.getpid(),
        supervisor_start=process_start(os.getpid()) or 0.0,
        phase="starting",
        started_at=time.time(),
        updated_at=0,
    )


def test_the_situation_follows_a_boot(situation: Situation) -> None:
    listener = SituationListener(situation, floor_in)
    listener.begin(7)
    listener.phase(Phase.KV_CACHE, 3.0)
    listener.tick(50)
    listener.tick(20)
    listener.tick(30)
    assert (situation.phase, situation.ready) == (Phase.KV_CACHE, False)
    assert (situation.available_bytes, situation.lowest_available_bytes) == (30, 20)
    listener.note("memory guard: relieve: MemFree 3 GiB")
    listener.ready(9.0)
    assert (situation.ready, situation.boot_seconds, situation.guard_actions) == (True, 9.0, 1)


def test_a_restart_is_counted_and_starts_over(situation: Situation) -> None:
    listener = SituationListener(situation, floor_in)
    listener.begin(7)
    listener.ready(9.0)
    listener.begin(8)
    assert (situation.restarts, situation.ready, situation.phase) == (1, False, Phase.STARTING)


def test_the_status_file_says_what_the_situation_is_and_goes_away(situation: Situation) -> None:
    file = StatusFile(a_status(), situation)
    listener = Several([SituationListener(situation, floor_in), file])
    listener.begin(77)
    for size in range(RECENT_POINTS + 5):
        listener.tick(size + 1)
    listener.phase(Phase.PLANES, 2.0)
    listener.note("something")
    found = read_status(8123)
    assert found is not None
    status = found.status
    assert (status.server_pid, status.phase, status.ready, status.note) == (77, "reading planes", False, "something")
    assert status.lowest_available_bytes == 1
    assert len(status.recent) == RECENT_POINTS
    listener.ready(5.0)
    again = read_status(8123)
    assert again is not None
    assert again.status.ready
    file.close()
    assert read_status(8123) is None


def test_a_status_that_cannot_be_written_is_tried_again(situation: Situation, monkeypatch: pytest.MonkeyPatch) -> None:
    file = StatusFile(a_status(), situation)
    with monkeypatch.context() as full:
        full.setattr(Path, "write_text", no_space)
        file.begin(77)
        file.tick(5)
    assert read_status(8123) is None
    file.tick(5)
    assert read_status(8123) is not None


def test_systemd_hears_of_phases_and_gets_ready_after_the_token() -> None:
    notifier = Recorded()
    listener = Systemd(notifier)
    listener.phase(Phase.LOADING_WEIGHTS, 1.0)
    assert "STATUS=loading weights" in notifier.sent
    assert "READY=1" not in notifier.sent
    listener.ready(30.0)
    assert "READY=1" in notifier.sent
    listener.note("restarting")
    assert notifier.sent[-1] == "STATUS=restarting"
    listener.note("it said:\nREADY=1\n")
    assert notifier.sent[-1] == "STATUS=it said: READY=1"


def test_systemd_is_asked_for_time_all_through_a_boot_and_no_longer() -> None:
    notifier, now = Recorded(), [0.0]
    listener = Systemd(notifier, lambda: now[0])

    def asked_in(minutes: int) -> int:
        notifier.sent.clear()
        for _ in range(minutes * 120):
            now[0] += 0.5
            listener.tick(None)
        return notifier.sent.count("EXTEND_TIMEOUT_USEC=120000000")

    assert asked_in(minutes=20) == 40, "one phase may take longer than systemd waits"
    listener.down()
    assert asked_in(minutes=5) == 10, "a restart before readiness is still the start of the unit"
    listener.ready(1500.0)
    assert asked_in(minutes=5) == 0


def test_a_doubt_ends_with_an_answer_or_with_the_server(situation: Situation) -> None:
    ears = Several([SituationListener(situation, floor_in)])
    ears.ready(2.0)
    in_service = [situation.in_service]
    for words in ("no token", "", "no token"):
        ears.doubt(words)
        in_service.append(situation.in_service)
    assert in_service == [True, False, True, False]
    ears.begin(8)
    ears.ready(9.0)
    assert situation.in_service


def test_who_is_down_is_not_ready(situation: Situation, tmp_path: Path) -> None:
    ears = Several([SituationListener(situation, floor_in), StatusFile(a_status(), situation)])
    ears.begin(7)
    ears.phase(Phase.SERVING, 2.0)
    ears.ready(2.0)
    found = read_status(8123)
    assert found is not None
    assert found.status.ready
    ears.down()
    found = read_status(8123)
    assert found is not None
    assert (found.status.ready, situation.ready, situation.phase) == (False, False, Phase.STARTING)


@pytest.mark.parametrize(("watchdog_s", "signs"), [(4.0, 5), (None, 0)], ids=["on", "off"])
def test_the_watchdog_is_fed_twice_as_often_as_it_wants(watchdog_s: float | None, signs: int) -> None:
    notifier = Recorded(watchdog_s)
    seconds = iter(float(i) / 2 for i in range(1000))
    now = [0.0]

    def clock() -> float:
        return now[0]

    listener = Systemd(notifier, clock)
    for _ in range(20):
        listener.tick(None)
        now[0] = next(seconds)
    assert notifier.sent.count("WATCHDOG=1") == signs


def test_everything_reaches_every_listener() -> None:
    heard: list[str] = []

    def ear(name: str) -> Callable[..., None]:
        return lambda *_args: heard.append(name)

    class Ear(Listener):
        begin = ear("begin")
        phase = ear("phase")
        ready = ear("ready")
        answer = ear("answer")
        note = ear("note")
        tick = ear("tick")

    several = Several([Ear(), Ear()])
    several.begin(1)
    several.phase(Phase.STARTING, 0)
    several.ready(1)
    several.answer("q", "a")
    several.note("n")
    several.tick(1)
    assert heard == [n for n in ("begin", "phase", "ready", "answer", "note", "tick") for _ in range(2)]
