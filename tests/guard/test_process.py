"""The guard process from the inside: its loop and its ears, without a process."""

import os
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from moet_boot.guard.events import Diary, read_events
from moet_boot.guard.kill import Killer, Strike
from moet_boot.guard.messages import Line, Target, line_pair, target_words
from moet_boot.guard.pen import Pen
from moet_boot.guard.process import BEAT_S, GuardProcess
from moet_boot.guard.sample import Action, Sample
from moet_boot.guard.watch import Watch
from moet_boot.phases import Phase
from tests.guard.scenes import SPARK, look
from tests.guard.test_watch import FakeCleaner, FakeServer, Ledger
from tests.guard.unruly import PATIENCE_S, number, shell


@dataclass
class PlentyOfMemory:
    looks: int = 0

    def read(self) -> Sample:
        self.looks += 1
        return look(time.monotonic(), 60)


@dataclass
class Booth:
    """A guard process with its supervisor's end of the line in our hand."""

    guard: GuardProcess
    supervisor: Line
    diary: Path
    heard: list[str] = field(default_factory=list)

    def noted(self) -> list[str]:
        return [event.action for event in read_events(self.diary)]


@pytest.fixture
def booth(tmp_path: Path) -> Iterator[Booth]:
    ours, theirs = line_pair()
    line = Line(theirs)
    diary = Diary(tmp_path / "events.ndjson", line)
    watch = Watch(SPARK, PlentyOfMemory(), FakeCleaner(), Ledger(), diary.note, phase=Phase.STARTING)
    made = Booth(GuardProcess(watch, line, diary, Pen(), 0.0, (os.getppid(),)), Line(ours), tmp_path / "events.ndjson")
    yield made
    made.supervisor.close()
    line.close()
    diary.close()


def test_it_runs_until_it_is_told_to_stop(booth: Booth) -> None:
    booth.supervisor.say(stop=True)
    booth.guard.run()
    assert booth.guard.stopping
    assert [set(words) for words in booth.supervisor.heard()] == [{"beat"}]


def test_a_supervisor_that_vanished_ends_a_guard_without_a_target(booth: Booth) -> None:
    booth.supervisor.close()
    booth.guard.run()
    assert booth.noted() == []


def test_a_supervisor_that_vanished_ends_the_server_first(booth: Booth) -> None:
    server = FakeServer(strikes_needed=4)
    booth.guard.watch.target = server
    booth.supervisor.close()
    booth.guard.run()
    assert server.calls.count("strike") == 4
    assert booth.noted() == ["supervisor_gone", "killed"]


def test_observing_only_it_ends_alone(booth: Booth) -> None:
    server = FakeServer()
    booth.guard.watch.target, booth.guard.watch.observe_only = server, True
    booth.supervisor.close()
    booth.guard.run()
    assert "strike" not in server.calls


def test_it_hears_phase_progress_and_target(booth: Booth) -> None:
    with shell("exec sleep {n}", number()) as server:
        booth.supervisor.say(phase="graph_capture")
        booth.supervisor.say(progress=True)
        booth.supervisor.say(target=target_words(Target((server.pid,))))
        booth.guard.listen()
        watch = booth.guard.watch
        assert watch.phase is Phase.GRAPH_CAPTURE
        assert watch.progress_s == pytest.approx(booth.guard.now(), abs=1)
        assert isinstance(watch.target, Killer)
        assert set(watch.target.tree.members) == {server.pid}
        assert booth.noted() == ["target"]
        watch.target.tree.close()


def test_words_that_it_does_not_know_are_nothing(booth: Booth) -> None:
    booth.supervisor.say(weather="fine")
    booth.guard.listen()
    assert not booth.guard.stopping


def test_a_new_target_replaces_the_old_one(booth: Booth) -> None:
    with shell("exec sleep {n}", number()) as one, shell("exec sleep {n}", number()) as two:
        for server in (one, two):
            booth.guard.aim(Target((server.pid,)))
        assert isinstance(booth.guard.watch.target, Killer)
        assert set(booth.guard.watch.target.tree.members) == {two.pid}
        booth.guard.watch.target.tree.close()


def test_a_target_that_is_gone_is_none(booth: Booth) -> None:
    dead = subprocess.Popen(["true"])
    dead.wait()
    booth.guard.aim(Target((dead.pid,), cgroup="/no/such/group"))
    assert booth.guard.watch.target is None, "else it would be reported as killed"
    assert booth.noted() == ["problem", "problem", "target"]


def test_a_target_that_may_not_be_signalled_is_told(booth: Booth, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("moet_boot.guard.process.may_signal", lambda pid: False)
    with shell("exec sleep {n}", number()) as server:
        booth.guard.aim(Target((server.pid,)))
    (problem, _) = read_events(booth.diary)
    assert problem.action == "problem"
    assert f"no right to signal pids [{server.pid}]" in problem.reason


def test_who_does_not_listen_does_not_hold_the_guard_up(booth: Booth) -> None:
    for _ in range(5000):
        booth.guard.line.say(beat=1.0)
    booth.guard.line.say(beat=2.0)
    assert booth.guard.line.open
    assert BEAT_S < 1, "a guard that is alive is heard several times before it counts as gone"


def test_a_full_disk_is_told_and_ends_nothing(booth: Booth) -> None:
    full = os.open("/dev/full", os.O_WRONLY)
    booth.guard.pen.write(full, b"a sample")
    assert booth.guard.pen.flush(PATIENCE_S)
    booth.guard.complain()
    booth.guard.complain()
    told = [words["event"] for words in booth.supervisor.heard() if "event" in words]
    assert [event["action"] for event in told] == ["problem"], "once"
    assert "No space left on device" in told[0]["reason"]
    os.close(full)


def test_a_strike_counts_who_is_left() -> None:
    assert Strike(3, (1, 2)).left == (1, 2)
    assert Action.KILL.ends_server
    assert Action.STOP.ends_server
    assert not Action.RELIEVE.ends_server
